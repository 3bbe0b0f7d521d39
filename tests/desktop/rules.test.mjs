// From a card to a rule that decides, and back, in the real window.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const call = (invoice) => JSON.stringify({ name: "delete_invoice", args: { invoice }, risk: "low", thread_id: "T1", timeout: 50 });
const rows = async (desk) => (await desk.command("rules", "list", "--json")).out.trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

/** Clicks a button of a part of the page once it can be clicked. */
const click = async (page, part, text) => {
  const script = "return [...document.querySelectorAll(arguments[0] + ' button')].find((b) => b.textContent.startsWith(arguments[1]) && !b.disabled)";
  await until(`the button ${text}`, () => page.run(`${script} !== undefined`, part, text));
  await page.run(`${script.replace("return ", "")}.click(); return 1`, part, text);
};

/** Writes over the rule in the editor, key by key. */
const rewrite = async (page, text) => {
  await page.press(KEYS.control, "a");
  for (const key of text) await page.press(key === "\n" ? KEYS.enter : key);
};

onDesk("a card becomes the narrowest rule, which then decides automatically until somebody regrets it", async (desk, page) => {
  const first = await desk.agent("asks.py", call("INV-1"));
  await desk.armed("delete_invoice");
  await page.reads("No rules here yet, so every call needs a person", '[data-testid="card"]');
  await page.press("p");
  await page.sees('[data-testid="grant"][data-reach="thread"]');
  await page.reads('thread_id = ["T1"]', '[data-testid="grant"] .cm-content');
  await page.reads("INV-1", '[data-testid="grant"] .cm-content');
  await page.sees('[data-testid="preview-words"]');
  assert.match(await page.text('[data-testid="preview-words"]'), /Would approve 1 call that is still waiting/);
  await page.reads("delete_invoice", '[data-testid="samples"]');
  await click(page, '[data-testid="grant"]', "Enable");
  await page.reads("INV-1", '[data-testid="waiting-calls"]');
  assert.deepEqual(await rows(desk), [], "nothing is saved before the waiting call was accepted");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("delete-invoice", '[data-testid="grant-done"]');
  // What waited is judged again, and let run by the rule.
  assert.equal(JSON.parse((await first.done).out.trim()).verdict, "approve");
  await page.press(KEYS.escape);
  const [rule] = await rows(desk);
  assert.equal(rule.id, "delete-invoice");
  assert.deepEqual(rule.args, { "/invoice": { eq: "INV-1" } });

  // The same call runs at once; another argument asks.
  const again = await desk.agent("asks.py", call("INV-1"));
  assert.equal(JSON.parse((await again.done).out.trim()).verdict, "approve");
  await desk.agent("asks.py", call("INV-2"));
  await page.reads("1 waiting", '[data-testid="waiting"]');
  // The card that was decided stays until the operator moves on.
  await page.press("n");
  await page.reads("INV-2", '[data-testid="card"]');
  await page.press("w");
  await page.reads("Rule delete-invoice would allow it", '[data-testid="why"]');
  await page.reads("invoice is different", '[data-testid="why"]');
  await page.press(KEYS.escape);

  // Its page shows the uses; the history tells which rule decided, and takes the regret.
  await page.press("g");
  await page.press("r");
  await page.reads("Used 2 times", '[data-testid="rule-record"]');
  await page.press("g");
  await page.press("h");
  await page.reads("delete_invoice", 'main[aria-label="History"]');
  await page.press("j");
  await page.press("o");
  await page.sees('[data-testid="regret"]');
  await page.press("w");
  await page.reads("The rule delete-invoice, version 1", '[data-testid="why"]');
  await page.reads('"/invoice"', '[data-testid="why"] pre');
  await page.press(KEYS.escape);
  await click(page, '[data-testid="regret"]', "This was wrong");
  await page.type('[data-testid="confirm"] input', "that invoice was paid");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("is off", '[data-testid="regret"]');
  await page.gone('[data-testid="confirm"]');
  await page.press("g");
  await page.press("r");
  await page.sees('[data-testid="rule"][data-state="off"]');
  await page.reads("that invoice was paid", '[data-testid="rule-regrets"]');
  await desk.agent("asks.py", call("INV-1"));
  await page.press("g");
  await page.press("q");
  await page.reads("2 waiting", '[data-testid="waiting"]');
}, { fresh: true });

onDesk("a rule that would approve what a person denied is reported so, asked twice, and can run in the shadow instead", async (desk, page) => {
  const asked = await desk.agent("asks.py", call("INV-7"));
  await desk.armed("delete_invoice");
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.type('[aria-label="Reason for the agent"]', "this is production");
  await page.press(KEYS.enter);
  await asked.done;
  await page.gone('[aria-label="Reason for the agent"]');
  await page.press("g");
  await page.press("r");
  await page.sees('[data-testid="rules-empty"]');
  await page.press("c");
  await page.sees('[data-testid="rule-desk"] .cm-content');
  await rewrite(page, 'id = "invoices"\neffect = "aprove"\ntool = "delete_invoice"\nexpires_at = "2099-01-01T00:00:00Z"\n');
  await page.reads("must be deny, ask or approve", '[data-testid="rule-problems"]');
  await page.sees('[data-testid="rule-desk"] .cm-lintRange-error');
  await rewrite(page, 'id = "invoices"\neffect = "approve"\ntool = "delete_invoice"\nexpires_at = "2099-01-01T00:00:00Z"\n');
  await page.reads("1 approved that a person had denied", '[data-testid="preview-words"]');
  await page.reads("this is production", '[data-testid="flips"]');
  await click(page, '[data-testid="rule-acts"]', "Enable anyway");
  await page.reads("1 call", '[data-testid="enable"]');
  await page.click('[data-testid="enable-next"]');
  await page.sees('[data-testid="enable"][data-step="2"]');
  await page.press(KEYS.escape);
  assert.deepEqual(await rows(desk), []);
  await click(page, '[data-testid="rule-acts"]', "Run in shadow");
  await page.sees('[data-testid="rule"][data-id="invoices"][data-state="shadow"]');
  // Somebody else changes it: told, nothing lost.
  await desk.command("rules", "disable", "invoices");
  await page.sees('[data-testid="rule"][data-id="invoices"][data-state="off"]');
  await page.press("m");
  await page.sees('[data-testid="matrix"], [data-testid="matrix-empty"]');
  await page.press(KEYS.escape);
  await page.sees('[data-testid="rule"]');
}, { fresh: true });

onDesk("what people approved five times is suggested with its evidence, opens in the shadow, and says who changed it since", async (desk, page) => {
  const pay = JSON.stringify({ name: "pay", args: { to: "ada", amount: 5 }, risk: "low", timeout: 60 });
  const agent = await desk.agent("asks.py", ...Array.from({ length: 5 }, () => pay));
  await page.reads("5 waiting", '[data-testid="waiting"]');
  const waiting = (await desk.command("inbox", "--json")).out.trim().split("\n").map((line) => JSON.parse(line));
  const approved = await Promise.all(waiting.map((row) => desk.command("approve", row.request_id)));
  assert.deepEqual(approved.map(({ code }) => code), [0, 0, 0, 0, 0], approved[0].err);
  await agent.done;
  await page.press("g");
  await page.press("r");
  await page.reads("5 approvals by maria, none denied", '[data-testid="suggestion"]');
  await page.reads('amount: 5, to: "ada"', '[data-testid="suggestion"]');
  await page.press("u");
  await page.reads('enabled = "shadow"', '[data-testid="suggested-rule"] .cm-content');
  await page.reads("5 approved, as by people", '[data-testid="preview-words"]');
  assert.deepEqual(await rows(desk), [], "a suggestion is nowhere");
  await click(page, '[data-testid="rule-acts"]', "Run in shadow");
  await page.sees('[data-testid="rule"][data-state="shadow"]');
  await page.reads("version 1: created, in shadow", '[data-testid="rule-changes"]');
  await page.sees('[data-testid="suggestions-empty"]');
  const [rule] = await rows(desk);
  await desk.command("rules", "disable", rule.id);
  await page.reads("version 2: turned off", '[data-testid="rule-changes"]');
  await page.reads("maria", '[data-testid="rule-changes"]');
}, { fresh: true });

const OVER = 'schema = 1\n[[rule]]\nid = "go"\neffect = "approve"\ntool = "delete_invoice"\nexpires_at = "2099-01-01T00:00:00Z"\n[[rule]]\nid = "never"\neffect = "deny"\ntool = "delete_invoice"\n';

onDesk("a rule that keeps what a person denied from running is turned off only after the calls were named", async (desk, page) => {
  const asked = await desk.agent("asks.py", call("INV-7"));
  await desk.armed("delete_invoice");
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.type('[aria-label="Reason for the agent"]', "not this one");
  await page.press(KEYS.enter);
  await asked.done;
  const file = join(desk.data, "over.toml");
  await writeFile(file, OVER);
  const applied = await desk.command("rules", "apply", file);
  assert.equal(applied.code, 0, applied.err);
  await page.press("g");
  await page.press("r");
  await page.sees('[data-testid="rule"][data-id="never"][data-state="on"]');
  await click(page, '[data-testid="rule-acts"]', "Turn off");
  await page.reads("not this one", '[data-testid="denied-calls"]');
  await page.press(KEYS.escape);
  await page.gone('[data-testid="denied-calls"]');
  assert.equal((await rows(desk)).find(({ id }) => id === "never").enabled, true);
  await click(page, '[data-testid="rule-acts"]', "Turn off");
  await page.sees('[data-testid="denied-calls"]');
  await page.click('[data-testid="confirm-yes"]');
  await page.sees('[data-testid="rule"][data-id="never"][data-state="off"]');
}, { fresh: true });
