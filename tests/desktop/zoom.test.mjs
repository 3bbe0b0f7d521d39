// Every zoom step: no value is approved without room for it, and no button is lost.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const SIZES = [[1_440, 900], [1_024, 700]];
const STEPS = [80, 90, 100, 110, 125, 150, 175, 200, 250, 300];
const ARGS = { to: "DE02 1203 0000 0000 2020 51", amount: 1_180.5, reason_of_the_transfer: "Invoice 2024-117, second reminder", urgent: true, batch: ["a", "b"] };

/** Sets the size of the window and the zoom by keys, as a person does. */
const look = async (page, [width, height], percent) => {
  await page.press(KEYS.control, "0");
  await page.resize(width, height);
  const steps = STEPS.indexOf(percent) - STEPS.indexOf(100);
  for (let step = 0; step < Math.abs(steps); step += 1) await (steps > 0 ? page.press(KEYS.control, KEYS.shift, "+") : page.press(KEYS.control, "-"));
  await until(`${percent} %`, () => page.run("return Math.abs(innerWidth - arguments[0]) <= 2", (width * 100) / percent));
};

/** Of each value of the card its width, and whether its beginning and its end can be seen once it is scrolled to. */
const VALUES = `
  return [...document.querySelectorAll("[data-testid=card-body] dl[aria-label=Arguments] dd")].map((value) => {
    const seen = (block, last) => {
      value.scrollIntoView({ block });
      const range = document.createRange();
      range.selectNodeContents(value);
      const lines = [...range.getClientRects()].filter(({ width }) => width > 0), line = lines[last ? lines.length - 1 : 0];
      return line !== undefined && line.left >= 0 && line.right <= innerWidth + 1 && value.contains(document.elementFromPoint((line.left + line.right) / 2, (line.top + line.bottom) / 2));
    };
    return { text: value.textContent, width: value.getBoundingClientRect().width, begins: seen("start", false), ends: seen("end", true) };
  });`;

/** The buttons of the card that are not whole in the window. */
const LOST = `
  return [...document.querySelectorAll("[role=toolbar][aria-label=Decide] button")].filter((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    return left < 0 || top < 0 || right > innerWidth + 1 || bottom > innerHeight + 1 || !one.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  }).map((one) => one.textContent);`;

onDesk("at every zoom step and in a small window each value of a card is seen before the card arms", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: ARGS, risk: "medium", timeout: 600, reason: "It is due." }));
  await desk.armed("pay");
  for (const size of SIZES)
    for (const percent of STEPS) {
      await look(page, size, percent);
      await until(`it is armed at ${percent} % of ${size}`, async () => (await page.text('[data-testid="card"][data-armed="true"]')) !== null);
      const values = await page.run(VALUES);
      assert.equal(values.length, Object.keys(ARGS).length);
      assert.deepEqual(values.filter(({ width, begins, ends }) => width < 120 || !begins || !ends), [], `${percent} % at ${size}`);
      assert.deepEqual(await page.run(LOST), [], `${percent} % at ${size}`);
    }
  await page.press(KEYS.control, "0");
  // Whatever makes it narrow, it is not armed.
  await page.run("document.querySelector('[data-testid=card-body] dl').style.width = '120px'; return 1");
  await page.sees('[data-testid="too-small"]');
  await page.press("a");
  await page.sees('[data-testid="card"][data-armed="false"]');
  await page.run("document.querySelector('[data-testid=card-body] dl').removeAttribute('style'); return 1");
  await desk.armed("pay");
  await page.press("a");
  assert.equal(JSON.parse((await agent.done).out.trim().split("\n")[0]).verdict, "approve");
});

/** Buttons, fields and words of the screen that reach out of the window or over its edge, however it is scrolled. */
const OUTSIDE = `
  const clipped = (element) => {
    for (let one = element; one !== null && one !== document.body; one = one.parentElement) {
      const { overflowX, textOverflow, position } = getComputedStyle(one);
      if (textOverflow === "ellipsis" || position === "fixed" || one.matches(".sr-only, .cm-editor, [aria-hidden=true]")) return true;
      if (overflowX === "auto" || overflowX === "scroll") return one.scrollWidth > one.clientWidth && one.clientWidth > 200 && one.matches("[role=region], details > div, pre, ol");
    }
    return false;
  };
  return [...document.querySelectorAll("main button, main a, main input, main select, main h1, main h2, main p, section[aria-label] header *")].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width > 1 && (left < -1 || right > innerWidth + 1) && !clipped(one);
  }).map((one) => one.outerHTML.slice(0, 120));`;

onDesk("at 250 % and 300 % every screen is one column, and nothing of it is outside of the window", async (desk, page) => {
  const ended = await desk.agentNamed("default/night-bot", "asks.py", JSON.stringify({ name: "pay", args: ARGS, risk: "low", timeout: 2 }));
  await ended.done;
  for (const size of SIZES)
    for (const percent of [250, 300]) {
      await look(page, size, percent);
      for (const key of "htarspoj,") {
        await page.press("g");
        await page.press(key);
        await until("the screen", () => page.run("return document.querySelector('main') !== null && !document.body.textContent.includes('Reading')"));
        assert.deepEqual(await page.run(OUTSIDE), [], `G ${key} at ${percent} % of ${size}`);
      }
      await page.press("g");
      await page.press("q");
    }
});
