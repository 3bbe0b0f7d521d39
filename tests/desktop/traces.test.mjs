// What agents report their work, in the real window.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const line = (name) => `[...document.querySelectorAll('[data-testid=line]')].find((line) => line.textContent.includes(${JSON.stringify(name)}))`;

onDesk("T leads from a card to its trace and Esc back, and the wait for a person is distinguished", async (desk, page) => {
  const agent = await desk.agent("works.py", "medium");
  await desk.armed("delete_customer_data");
  await page.reads("billing.export", '[data-testid="led-here"]');
  await page.press("t");
  await page.sees('[data-testid="tree"]');
  await until("the request's line", async () => (await page.run(`return ${line("delete_customer_data")}?.getAttribute("aria-selected")`)) === "true");
  assert.equal(await page.run(`return ${line("delete_customer_data")}.dataset.look`), "waiting");
  assert.match(await page.text('[data-testid="trace-sum"]'), /waiting for a decision/);
  const looks = await page.run("return Object.fromEntries([...document.querySelectorAll('[data-testid=line]')].map((line) => [line.querySelector('.shown').textContent, line.dataset.look]))");
  assert.equal(looks["crm.lookup"], "ok");
  assert.equal(looks["billing.export"], "error");
  assert.equal(looks["send_email"], "denied");
  assert.equal(looks["search.index"], "timeout");
  await page.press(KEYS.escape);
  await desk.armed("delete_customer_data");
  await page.press("a");
  const { code, err } = await agent.done;
  assert.equal(code, 0, err);
  await page.press("g");
  await page.press("t");
  await page.sees('[data-testid="trace-row"]');
  await page.reads("close account acme", '[data-testid="trace-row"]');
  await page.press("o");
  await page.sees('[data-testid="tree"]');
  await until("the run has ended", async () => (await page.run(`return ${line("close account")}?.dataset.look`)) === "ok");
});

onDesk("a span shows its error, its parts and its picture, and fetches nothing", async (desk, page) => {
  const sent = await desk.agent("works.py", "--crash");
  assert.equal((await sent.done).code, 0, sent.output.err);
  await page.run("window.asked = []; new PerformanceObserver((list) => window.asked.push(...list.getEntries().map((e) => e.name))).observe({ type: 'resource' }); return 1");
  await page.press("g");
  await page.press("t");
  await page.reads("close account acme", '[data-testid="trace-row"]');
  await page.press("o");
  await page.sees('[data-testid="tree"]');
  const choose = async (name) => {
    await page.run(`${line(name)}.click(); return 1`);
    await page.reads(name, '[data-testid="span-detail"] h2');
  };
  await choose("crm.lookup");
  await page.sees('[data-part="image"] canvas');
  await until("the picture is drawn", () => page.run("const c = document.querySelector('[data-part=image] canvas'); const p = c.getContext('2d').getImageData(c.width - 2, c.height - 2, 1, 1).data; return p[1] > 150"));
  assert.match(await page.text('[data-testid="shortened"]'), /from 48,211 characters/);
  assert.match(await page.text('[data-testid="artifact"]'), /report\.csv, 41 KB/);
  assert.doesNotMatch(await page.text('[data-testid="span-detail"]'), /sk-aaaabbbbccccdddd/);
  await choose("stripe.refunds");
  await page.reads("STRIPE_SECRET_KEY", '[data-testid="fault"]');
  await choose("weather");
  await page.reads("Did you mean 'location'?", '[data-testid="fault"]');
  await choose("code chain");
  await page.reads("send_email", '[data-testid="chain"]');
  await choose("close account acme");
  await page.reads("1,204", '[data-testid="usage"]');
  const asked = await page.run("return window.asked.filter((name) => !name.startsWith('ipc:') && !name.includes('ipc.localhost') && !name.includes('/assets/'))");
  assert.deepEqual(asked, []);
}, { fresh: true });

/** What the tree shows: name, word of the kind, look, depth. */
const drawn = (page) => page.run(`return [...document.querySelectorAll('[data-testid=line]')].map((line) => {
  const name = line.querySelector(".shown");
  return [name.textContent, name.parentElement.previousElementSibling.textContent, line.dataset.look, Number(line.getAttribute("aria-level"))];
})`);

const openTrace = async (page, name) => {
  await page.press("g");
  await page.press("t");
  await page.reads(name, '[data-testid="trace-row"]');
  await page.press("o");
  await page.sees('[data-testid="tree"]');
};

onDesk("a local call that sends no span is in the trace, and a loop that used up its rounds is incomplete, not ok", async (desk, page) => {
  const agent = await desk.agent("loops.py", "loop");
  await desk.armed("read_notes");
  await page.press("a");
  const { code, err } = await agent.done;
  assert.equal(code, 0, err);
  await openTrace(page, "tool_loop");
  await until("the loop has ended", async () => (await page.run(`return ${line("tool_loop")}?.dataset.look`)) === "incomplete");
  assert.deepEqual(await drawn(page), [
    ["tool_loop", "agent", "incomplete", 1], ["round 1", "llm", "ok", 2], ["market.summarise", "tool", "ok", 2], ["round 2", "llm", "ok", 2],
    ["read_notes", "request", "ok", 2],
  ]);
  await page.run(`${line("tool_loop")}.click(); return 1`);
  await page.reads("was stopped before its end", '[data-testid="line-state"]');
  await page.run(`${line("read_notes")}.click(); return 1`);
  await page.reads("for a decision", '[data-testid="line-state"]');
  assert.match(await page.text('[data-testid="line-state"]'), /^request of default\/local, succeeded, waited .+ for a decision by maria$/);
  await page.reads("acme", '[data-testid="gate"]');
  await page.run(`${line("market.summarise")}.click(); return 1`);
  await page.reads("37", '[data-testid="usage"]');
  assert.match(await page.text('[data-testid="usage"]'), /1\.2 s|1,250/);
});

onDesk("a call with subchats shows as waiting for them, each under it and named so, until they have ended", async (desk, page) => {
  const sent = await desk.agent("loops.py", "subchats");
  assert.equal((await sent.done).code, 0, sent.output.err);
  await openTrace(page, "quarterly report");
  const seven = [
    ["quarterly report", "agent", "running", 1], ["hand_out", "tool", "waiting", 2], ["ask the north", "subchat", "ok", 3], ["sales.list", "tool", "ok", 4],
    ["ask the south", "subchat", "running", 3], ["sales.sum", "tool", "running", 4], ["proof-read", "agent", "ok", 2],
  ];
  await until("all of the spans", async () => (await drawn(page)).length === seven.length);
  assert.deepEqual(await drawn(page), seven);
  await page.run(`${line("hand_out")}.click(); return 1`);
  await page.reads("tool of default/local, waits for 1 subchat", '[data-testid="line-state"]');
  await page.reads("WAIT_SUBCHATS", '[data-testid="span-detail"]');
  await page.run(`${line("ask the south")}.click(); return 1`);
  await page.reads("subchat of default/local, running", '[data-testid="line-state"]');
  await page.reads("ft_south", '[data-testid="span-detail"]');
  const done = await desk.agent("loops.py", "subchats", "done");
  assert.equal((await done.done).code, 0, done.output.err);
  await until("the call has ended", async () => (await page.run(`return ${line("hand_out")}?.dataset.look`)) === "ok");
  assert.equal(await page.run(`return ${line("ask the south")}.dataset.look`), "ok");
});

onDesk("each error of a market place has its state and says what is missing; what is kept elsewhere and what crashed are reported", async (desk, page) => {
  const sent = await desk.agent("loops.py", "shapes");
  assert.equal((await sent.done).code, 0, sent.output.err);
  await openTrace(page, "all shapes");
  await until("all of the spans", async () => (await drawn(page)).length === 8);
  const outcome = (name) => page.run(`return ${line(name)}.lastElementChild.firstChild.textContent`);
  const choose = async (name) => {
    await page.run(`${line(name)}.click(); return 1`);
    await page.reads(name, '[data-testid="span-detail"] h2');
  };
  for (const [name, look, said, kind, more] of [
    ["market.buy", "error", "402", "balance", "12 tokens are missing"],
    ["market.refund", "error", "428", "credential", "Missing: STRIPE_KEYSTRIPE_ACCOUNT"],
    ["market.export", "error", "502", "tool", "Bad Gateway"],
    ["market.index", "timeout", "timed out", "tool_timeout", "504"],
    ["weather", "error", "failed", "validation", "weather, argument loction: Unexpected parameterDid you mean 'location'?"],
  ]) {
    assert.equal(await page.run(`return ${line(name)}.dataset.look`), look, name);
    assert.equal(await outcome(name), said, name);
    await choose(name);
    await page.sees(`[data-testid="fault"][data-kind="${kind}"]`);
    await page.reads(more, '[data-testid="fault"]');
  }
  await choose("report");
  await page.reads("truncated by the framework; compression failed, from 9,000 characters", '[data-testid="shortened"]');
  await page.reads("art_77", '[data-part="reference"]');
  await page.reads("not drawn", '[data-part="wrong"]');
  await choose("crashed chain");
  await page.reads("never ended", '[data-testid="line-state"]');
  // The parts of a span come after its name.
  await page.reads("sales.wait", '[data-testid="chain"]');
  const calls = await page.run("return [...document.querySelectorAll('[data-testid=chain] tr')].map((row) => [...row.cells].map((cell) => cell.textContent))");
  assert.deepEqual(calls, [["1", "sales.list", "ok", "40 ms"], ["2", "sales.sum", "error", "1.5 s"], ["3", "sales.drop", "denied", "0 ms"], ["4", "sales.wait", "timeout", "1 min 0 s"]]);
});
