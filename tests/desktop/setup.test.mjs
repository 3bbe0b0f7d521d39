// Setup keys in the real window: what spares a question, and what happens when two people change them.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { until } from "./support/webdriver.mjs";

const row = (key) => `[data-testid="setup-key"][data-key="${key}"]`;

/** Clicks the button or the choice of a text within an element. */
const press = (page, within, text) =>
  until(`${text} in ${within}`, () =>
    page.run(
      "const found = [...(document.querySelector(arguments[0])?.querySelectorAll('button, label') ?? [])].find((e) => e.textContent.trim().startsWith(arguments[1]) && !e.disabled);" +
        "found?.click(); return found !== undefined",
      within, text,
    ));

const HIRE = { name: "hire", args: { who: "ada" }, risk: "medium", timeout: 60, confirm: { setup_key: "confirm_hire_or_fire", command: "hire(ada)", explanation: "She signed" } };

onDesk("a key that a person binds and sets lets a waiting call pass, recorded with origin setup_key", async (desk, page) => {
  const agent = await desk.agent("declares.py", JSON.stringify(HIRE));
  await desk.armed("hire");
  await page.press("g");
  await page.press("s");
  await page.reads("Using the default: true", row("confirm_hire_or_fire"));
  const groups = await page.run("return [...document.querySelectorAll('[data-testid=setup] h3')].map((e) => e.textContent)");
  assert.deepEqual(groups, ["Safety", "Words", "Money", "Access"]);
  await press(page, row("confirm_hire_or_fire"), "Skip asking when");
  await press(page, `${row("confirm_hire_or_fire")} [data-testid="bind-form"]`, "false");
  await press(page, `${row("confirm_hire_or_fire")} [data-testid="bind-form"]`, "Bind…");
  await page.reads("Its value now is true", '[data-testid="confirm"]');
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("It has another value: calls ask.", row("confirm_hire_or_fire"));
  assert.equal(agent.output.out, "", "bound to another value it asks");
  await page.run("document.querySelector(arguments[0] + ' [role=radiogroup] input[value=false]').click(); return 1", row("confirm_hire_or_fire"));
  await page.click('[data-testid="setup-save"]');
  await page.reads("It has this value: calls pass.", row("confirm_hire_or_fire"));
  await page.reads("Set by maria", row("confirm_hire_or_fire"));
  await until("the call passes", () => agent.output.out.includes('"verdict": "approve"'));
  const { out } = await desk.command("history", "--json");
  assert.match(out, /"origin":\s*"setup_key"/);
});

onDesk("what is wrong is reported at its field, and what others change meanwhile is reported and takes nothing away", async (desk, page) => {
  await desk.agent("declares.py");
  await page.press("g");
  await page.press("s");
  await page.sees(row("retries"));
  await page.type(`${row("retries")} input`, "many");
  await page.click('[data-testid="setup-save"]');
  await page.reads("retries", `${row("retries")} [data-testid="setup-problem"]`);
  await press(page, row("retries"), "Discard");
  await page.type(`${row("greeting")} input`, "Servus");
  const set = await desk.command("setup", "set", "default/local", "greeting", "Salve");
  assert.equal(set.code, 0, set.err);
  await page.reads("you both changed greeting", '[data-testid="setup-conflict"]');
  await page.reads("“Salve” by maria", row("greeting"));
  assert.equal(await page.run("return document.querySelector(arguments[0]).value", `${row("greeting")} input`), "Servus");
  await page.click('[data-testid="setup-keep"]');
  await page.click('[data-testid="setup-save"]');
  await until("it is saved", async () => (await page.text('[data-testid="setup-save"]')) === null);
  const { out } = await desk.command("setup", "list", "--json");
  assert.equal(out.trim().split("\n").map((line) => JSON.parse(line)).find((line) => line.key === "greeting").value, "Servus");
});
