// What frames the card stays where it is, and everything is read by keyboard alone.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const LONG = JSON.stringify({
  name: "write_file", risk: "high", timeout: 120, reason: "Every line of it matters. ".repeat(60),
  args: { text: Array.from({ length: 120 }, (_, line) => `service_${line}: value`).join("\n") },
});
/** How far the page itself is scrolled, and how much longer than the window it is. */
const FRAME = "const page = document.scrollingElement; return [page.scrollTop, page.scrollHeight - page.clientHeight]";
const FOCUSED = "return document.activeElement?.dataset.testid ?? null";

const tabTo = (page, name) =>
  until(`${name} by Tab`, async () => {
    await page.press(KEYS.tab);
    return (await page.run(FOCUSED)) === name;
  });

onDesk("however long a card is, its head stays in the window: nothing but what is made to scroll scrolls", async (desk, page) => {
  // The smallest that it can be made: most of a card is below its edge.
  await page.resize(900, 560);
  await desk.agent("asks.py", LONG);
  await page.reads("write_file", '[data-testid="card"] h2');
  assert.deepEqual(await page.run(FRAME), [0, 0]);
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.press(KEYS.escape);
  // A dialog takes the focus, and the focus brings what has it into view.
  await page.press("?");
  await page.sees('[role="dialog"]');
  await page.press(KEYS.escape);
  await page.gone('[role="dialog"]');
  assert.deepEqual(await page.run(FRAME), [0, 0]);
  for (const screen of "htarsoj,") {
    await page.press("g");
    await page.press(screen);
    await until("the screen", () => page.run("return location.hash !== '' && location.hash !== '#/'"));
    assert.deepEqual(await page.run(FRAME), [0, 0], screen);
  }
});

onDesk("long words and long arguments are read to their end by keyboard alone", async (desk, page) => {
  await desk.agent("asks.py", LONG);
  await page.reads("write_file", '[data-testid="card"] h2');
  assert.equal(await page.run("return document.querySelector('[data-step=read]').dataset.done"), "false");
  await tabTo(page, "card-body");
  await page.press(KEYS.end);
  await page.sees('[data-step="read"][data-done="true"]');
  await tabTo(page, "words");
  await page.press(KEYS.end);
  await until("its end", () => page.run("const words = document.querySelector('[data-testid=words]'); return words.scrollTop > 0 && words.scrollTop + words.clientHeight >= words.scrollHeight - 2"));
});
