// How quickly the real window draws what is long. Runs alone: it judges the time that a frame takes.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { until } from "./support/webdriver.mjs";

onDesk("a trace of 10,000 spans opens at once and scrolls without a long frame", async (desk, page) => {
  const sent = await desk.agent("many.py", "10000");
  assert.equal((await sent.done).code, 0, sent.output.err);
  await until("the console has read them", async () => JSON.parse((await desk.command("trace", "many", "--json")).out).spans === 10_000, 30_000);
  await page.press("g");
  await page.press("t");
  await page.reads("agent number 0", '[data-testid="trace-row"]');
  const opened = await page.run("window.began = performance.now(); return 1").then(async () => {
    await page.press("o");
    await page.reads("10,000 lines", '[data-testid="trace-sum"]');
    return page.run("return performance.now() - window.began");
  });
  // The driver looks every 25 ms: an upper bound.
  assert.ok(opened < 2_000, `opened within ${Math.round(opened)} ms`);
  // Work is what the page does in a frame: rows and layout. Frames also hold painting, which has no graphics card here, and whatever else
  // the machine does: they are reported, not judged.
  const measured = await page.run(`return new Promise((done) => {
    const tree = document.querySelector("[data-testid=tree]"), work = [], frames = [];
    let last = performance.now();
    const end = last + 2000;
    const go = (now) => {
      frames.push(now - last);
      last = now;
      const before = performance.now();
      tree.scrollTop += 600;
      tree.dispatchEvent(new Event("scroll"));
      tree.offsetHeight;
      work.push(performance.now() - before);
      if (now < end) requestAnimationFrame(go); else done({ work: work.sort((a, b) => a - b), frames: frames.sort((a, b) => a - b) });
    };
    requestAnimationFrame(go);
  })`);
  const last = await page.run("return Math.max(...[...document.querySelectorAll('[data-testid=line]')].map((line) => Number(line.dataset.place)))");
  assert.ok(last > 300, `scrolled to line ${last}`);
  const at = (list, part) => Math.round(list[Math.min(Math.floor(list.length * part), list.length - 1)]);
  const reported = `${measured.frames.length} frames; work p50 ${at(measured.work, 0.5)}, p95 ${at(measured.work, 0.95)} ms; frame p50 ${at(measured.frames, 0.5)}, p95 ${at(measured.frames, 0.95)}, longest ${at(measured.frames, 1)} ms`;
  process.stdout.write(`# opened in ${Math.round(opened)} ms; scrolling 600 px a frame: ${reported}\n`);
  assert.ok(at(measured.work, 0.95) < 50, reported);
}, { timeout: 180_000 });
