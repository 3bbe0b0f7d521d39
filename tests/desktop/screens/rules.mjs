// What need not ask.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { KEYS, until } from "../support/webdriver.mjs";
import { TYPICAL } from "./calls.mjs";
import { save, settled } from "./shots.mjs";

export async function rules(desk, page) {
  const RULES = [
    'id = "no-new-accounts"\nname = "No payments to new accounts"\neffect = "deny"\ntool = "transfer.*"\nmessage = "Not to an account that nobody has paid before."',
    'id = "production-deletes"\nname = "Two people for production deletes"\neffect = "ask"\napprovals = 2\ntool = "delete_customer_*"',
    'id = "test-invoices"\nname = "Test invoices may go"\neffect = "approve"\nexpires_at = "2027-06-01T00:00:00Z"\nenabled = false\nagent = "*"\ntool = "delete_invoice"\nrisk = ["low", "medium"]\nargs."/invoice_id" = { glob = "INV-TEST-*" }\nonly_args = true\nlimit = { count = 20, per = "1h" }',
    'id = "read-only-crm"\nname = "Read-only CRM"\neffect = "approve"\nexpires_at = "2027-02-14T00:00:00Z"\ntool = ["crm.lookup", "crm.list"]',
    'id = "small-refunds"\nname = "Small refunds"\nenabled = "shadow"\neffect = "approve"\nexpires_at = "2027-02-14T00:00:00Z"\ntool = "refund"\nargs."/amount" = { lt = 50 }',
  ];
  const file = path.join(desk.data, "rules.toml");
  await writeFile(file, `schema = 1\n\n${RULES.map((rule) => `[[rule]]\n${rule}\n`).join("\n")}`);
  await page.press("g");
  await page.press("r");
  await page.sees('[data-testid="rules-empty"]');
  await settled();
  await save(desk, "rules-empty");
  await page.press("g");
  await page.press("q");
  const refusals = { "INV-TEST-0": "Not while the audit runs", "INV-TEST-PROD-7": "This is production" };
  for (const invoice of ["INV-TEST-1", "INV-TEST-0", "INV-TEST-2", "INV-TEST-PROD-7", "INV-9"]) {
    const run = await desk.agent("asks.py", JSON.stringify({ name: "delete_invoice", risk: "low", timeout: 40, thread_id: "8f21", args: { invoice_id: invoice } }));
    await page.reads("1 waiting", '[data-testid="waiting"]');
    await page.press("n");
    await page.reads(invoice, '[data-testid="card"]');
    await desk.armed("delete_invoice");
    await page.press(refusals[invoice] === undefined ? "a" : "d");
    if (refusals[invoice] !== undefined) {
      await page.sees('[aria-label="Reason for the agent"]');
      await page.type('[aria-label="Reason for the agent"]', refusals[invoice]);
      await page.press(KEYS.enter);
    }
    await run.done;
  }
  const applied = await desk.command("rules", "apply", file);
  if (applied.code !== 0) throw new Error(applied.err);
  await (await desk.agent("asks.py", JSON.stringify({ name: "crm.lookup", risk: "low", args: { id: 8812 }, timeout: 30 }))).done;
  const shadowed = await desk.agent("asks.py", JSON.stringify({ name: "refund", risk: "medium", args: { amount: 12 }, timeout: 300 }), JSON.stringify({ name: "delete_invoice", risk: "low", timeout: 300, thread_id: "8f21", args: { invoice_id: "INV-TEST-3", dry_run: false } }));
  void shadowed;
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await page.reads("INV-TEST-3", '[data-testid="card"]').catch(() => page.press("j"));
  await page.reads("INV-TEST-3", '[data-testid="card"]');
  await settled();
  await save(desk, "inbox-why");
  await page.press("w");
  await page.sees('[data-testid="why"] [data-testid="reasons"]');
  await settled();
  await save(desk, "why");
  await page.press(KEYS.escape);
  await page.press("p");
  await page.sees('[data-testid="grant"] [data-testid="preview-words"]');
  await settled();
  await save(desk, "rule-from-card");
  await page.press(KEYS.escape);
  await page.press("g");
  await page.press("r");
  await page.sees('[data-testid="rule-row"]');
  await page.click('[data-testid="rule-row"][data-id="test-invoices"]');
  await page.sees('[data-testid="rule"][data-id="test-invoices"] [data-testid="flips"]');
  await settled();
  await save(desk, "rules");
  await page.run("[...document.querySelectorAll('[data-testid=rule-acts] button')].find((b) => b.textContent.startsWith('Enable')).click(); return 1");
  await page.sees('[data-testid="enable"]');
  await save(desk, "rules-enable");
  await page.press(KEYS.escape);
  await page.press("c");
  await page.sees('[data-testid="rule-desk"] .cm-content');
  await page.press(KEYS.control, "a");
  for (const key of 'id = "x"\neffect = "aprove"\nrisk = ["mild"]\n') await page.press(key === "\n" ? KEYS.enter : key);
  await page.reads("must be deny", '[data-testid="rule-problems"]');
  await settled();
  await save(desk, "rules-problem");
  await page.press(KEYS.escape);
  const alike = JSON.stringify({ ...TYPICAL[5], timeout: 60 });
  const asked = await desk.agent("asks.py", ...Array.from({ length: 6 }, () => alike));
  const waits = () => desk.command("inbox", "--json").then(({ out }) => out.trim().split("\n").map((line) => JSON.parse(line)).filter((row) => row.tool === TYPICAL[5].name));
  const calls = await until("six calls", async () => { const found = await waits(); return found.length === 6 ? found : null; });
  for (const call of calls) await desk.command("approve", call.request_id);
  await asked.done;
  await page.press("g");
  await page.press("q");
  await page.press("g");
  await page.press("r");
  await page.sees('[data-testid="suggestion"]', 60_000);
  await page.press("u");
  await page.sees('[data-testid="suggested-rule"] [data-testid="samples"]');
  await settled();
  await save(desk, "rules-suggested");
  await page.press(KEYS.escape);
  await desk.agent("tells.py", "60");
  await page.press("m");
  await page.sees('[data-testid="matrix"]');
  await settled();
  await save(desk, "matrix");
}

export async function setup(desk, page) {
  await desk.agent("declares.py", JSON.stringify({ name: "hire", args: { who: "ada" }, risk: "medium", timeout: 300, confirm: { setup_key: "confirm_hire_or_fire", command: "hire(ada)", explanation: "She signed" } }));
  await page.reads("1 waiting", '[data-testid="waiting"]');
  await desk.command("enroll", "acme-prod/infra-agent");
  await desk.command("setup", "set", "acme-prod/local", "max_refund", "80");
  await desk.command("setup", "set", "acme-prod/local", "api_key", "sk-live-4f9a8b7c6d5e4f3a2b1c");
  await desk.command("setup", "bind", "acme-prod/local", "allow_dangerous", "--skips-when", "true");
  await desk.command("bypass", "acme-prod/local", "--up-to", "low", "--for", "1h");
  await page.press("g");
  await page.press("s");
  await page.sees('[data-testid="setup-key"][data-key="allow_dangerous"] [data-bound="true"]');
  await page.run("document.querySelector('[data-key=confirm_hire_or_fire] [data-testid=setup-binding] button').click(); return 1");
  await page.sees('[data-testid="bind-form"]');
  await settled();
  await save(desk, "setup");
  await page.run("document.querySelector('[data-testid=bind-form] button:last-child').click(); document.querySelector('[data-key=greeting]').scrollIntoView(); return 1");
  await page.type('[data-key="greeting"] input', "Servus");
  await page.type('[data-key="retries"] input', "many");
  await page.click('[data-testid="setup-save"]');
  await page.sees('[data-testid="setup-problem"]');
  await desk.command("setup", "set", "acme-prod/local", "greeting", "Salve");
  await page.sees('[data-testid="setup-conflict"]');
  await page.run("document.querySelector('[data-key=greeting]').scrollIntoView(); return 1");
  await settled();
  await save(desk, "setup-conflict");
  await page.press("g");
  await page.press("a");
  await page.sees('[data-testid="agent-row"][data-key="acme-prod/local"]');
  await page.press("j");
  await page.sees('[data-testid="agent-bypass"]');
  await page.run("[...document.querySelectorAll('[data-testid=control-bar] button')].find((b) => b.textContent.startsWith('End')).click(); return 1");
  await page.press("g");
  await page.press(",");
  await page.reads("config.toml", 'main[aria-label="Settings"]');
  await settled();
  await save(desk, "settings");
}
