// What was ever asked, found again in the real window.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

onDesk("a denied call is found by its words, its story says who signed what, and the overview counts it", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { to: "ada", note: "quarterly invoice" }, risk: "medium", reason: "Ada asked for it" }));
  await desk.armed("pay");
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.type('[aria-label="Reason for the agent"]', "not this quarter");
  await page.press(KEYS.enter);
  assert.equal((await agent.done).code, 0);
  await page.gone('[aria-label="Reason for the agent"]');
  await page.press("g");
  await page.press("h");
  await page.reads("denied", '[data-testid="history-row"]');
  const rows = () => page.run("return document.querySelectorAll('[data-testid=history-row]').length");
  await page.type('input[placeholder^="Search"]', "nowhere");
  await until("no line passes", async () => (await rows()) === 0);
  await page.run("document.querySelector('input[placeholder^=\"Search\"]').focus(); return 1");
  await page.press(KEYS.escape);
  await until("the line is back", async () => (await rows()) === 1);
  await page.type('input[placeholder^="Search"]', "quarterly inv*");
  await until("it is found by its words", async () => (await rows()) === 1);
  await page.press(KEYS.enter);
  await page.press("o");
  await page.sees('[data-testid="story"]');
  await page.sees('[data-testid="signature"][data-ok="true"]');
  assert.match(await page.text('[data-testid="decision"]'), /denied by you[\s\S]*not this quarter/i);
  assert.match(await page.text('[data-testid="story-audit"]'), /#\d+/);
  await page.press(KEYS.escape);
  await page.sees('[data-testid="history-row"][aria-selected="true"]');
  await page.press("g");
  await page.press("o");
  await page.reads("Requests1", '[data-testid="figures"]');
  await page.sees('[data-testid="chart"] canvas');
  await page.reads("denied", '[data-testid="verdicts"]');
});
