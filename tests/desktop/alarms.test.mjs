// Alarms in the real window: told, led to their request, and seen.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

onDesk("a call that ran although it was denied is an alarm with a way out, until a person has seen it", async (desk, page) => {
  const agent = await desk.agent("disobeys.py", JSON.stringify({ name: "pay", args: { to: "ada" }, risk: "medium" }));
  await page.reads("pay", '[data-testid="card"] h2');
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.press(KEYS.enter);
  const { out, err } = await agent.done;
  assert.match(out, /deny/, err);
  await page.reads("1 alarm", '[data-testid="alarms"]');
  await page.click('[data-testid="alarms"]');
  await page.reads("although the decision did not allow it", '[data-testid="alarm"]');
  assert.match(await page.text('[data-testid="alarm"]'), /countersign --data-dir .* stop [a-z0-9-]+\/local\b/);
  await page.click('[data-testid="alarm"] button');
  await page.reads("by maria", '[data-testid="alarm"]');
  await page.reads("No alarms", '[data-testid="alarms"]');
  const listed = await desk.command("alarms", "--json");
  assert.match(listed.out, /"acknowledged_by":\s*"U/);
  await page.click('[data-testid="alarm"] a');
  await until("the request's story", () => page.run("return location.hash.startsWith('#/history/request')"));
});
