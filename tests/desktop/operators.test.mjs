// Who may decide, in the real window: told when somebody joins, and listed.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { until } from "./support/webdriver.mjs";

onDesk("who joins is an alarm until it was read, and is on the page of operators", async (desk, page) => {
  const lena = await desk.operator("lena");
  // A command that decides asks to be let in, and the console of the founder does so.
  const { code, err } = await lena("operators", "acceptance", "off");
  assert.equal(code, 0, err);
  await page.reads("1 alarm", '[data-testid="alarms"]', 30_000);
  await page.click('[data-testid="alarms"]');
  await page.reads("lena joined on", '[data-testid="alarm"]');
  await page.reads("may decide here", '[data-testid="alarm"]');
  await page.click('[data-testid="alarm"] button');
  await page.reads("No alarms", '[data-testid="alarms"]');
  await page.click('[data-testid="alarm"] a');
  await until("the page of operators", () => page.run("return location.hash === '#/operators'"));
  await page.reads("2 active", '[data-testid="operators-count"]');
  const key = await page.run("return [...document.querySelectorAll('[data-testid=operator-row]')].find((row) => row.textContent.startsWith('lena') && row.textContent.includes('a person')).dataset.key");
  await page.click(`[data-testid="operator-row"][data-key="${key}"]`);
  await page.reads("without a person", '[data-testid="operator"]');
  assert.equal((await desk.command("operators", "retire", key)).code, 0);
  await page.sees(`[data-testid="operator-row"][data-key="${key}"][data-state="ended"]`);
  await page.reads("never comes in again", '[data-testid="operator"]');
});
