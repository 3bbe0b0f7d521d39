// Pictures of the real window for the documentation: `COUNTERSIGN_APP=… node tests/desktop/screens.mjs [STORY…]`, all stories without a name.
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { KEYS } from "./support/webdriver.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const OUT = path.join(ROOT, "docs/screens");

// The empty inbox shows where the program lies: the pictures must not tell where somebody built it.
const FOLDER = await mkdtemp(path.join(tmpdir(), "countersign-"));
const APP = path.join(FOLDER, "countersign");
if (process.env.COUNTERSIGN_APP === undefined) throw new Error("set COUNTERSIGN_APP to a binary built with the feature gui");
await copyFile(process.env.COUNTERSIGN_APP, APP);
process.env.COUNTERSIGN_APP = APP;
process.env.COUNTERSIGN_NATS_SERVER ??= path.join(ROOT, ".setup/bin/nats-server");
const { Desk } = await import("./support/desk.mjs");

const TYPICAL = [
  {
    name: "delete_customer_data", risk: "critical", effects: "irreversible", timeout: 58, thread_id: "8f21", call_id: "call_93Jd",
    args: { customer: "acme\u202e", tables: ["invoices", "contacts", "payments", "subscriptions", "refunds", "notes", "files", "consents", "sessions"], dry_run: false, api_key: "9f3ac01e9f3ac01e9f3ac01e9f3ac01e" },
    reason: "This will permanently delete all data of customer “acme”: 3,412 rows in 9 tables. It cannot be undone.",
    effective: { fixed: { tenant: "acme-prod" }, injected_names: ["connection"] },
    history: [{ role: "user", content: "Remove everything we hold about acme." }, { role: "assistant", content: "I looked the customer up and listed 3,412 rows. I will delete them now." }],
    native_digest: { alg: "sha256", value: "4be190c7a1d277a2" },
  },
  { name: "send_email", risk: "high", timeout: 75, thread_id: "8f21", args: { to: "maria@acme.example", subject: "Your invoice", body: "Please find it attached." }, reason: "She asked for it" },
  { name: "shell.exec", risk: "high", timeout: 250, run_id: "77c0", args: { command: "terraform apply -target=module.edge", cwd: "/srv/infra" } },
  { name: "http.post", risk: "medium", timeout: 362, run_id: "5d1e", args: { url: "https://erp.example/invoices", total: "1,180.00 EUR" } },
  { name: "git.push", risk: "medium", timeout: 587, run_id: "01aa", args: { remote: "origin", branch: "main", commits: 2 } },
  { name: "calendar.create", risk: "low", timeout: 860, thread_id: "2b90", args: { title: "Quarterly review", invitees: 6 } },
  { name: "crm.update_contact", risk: "low", timeout: null, thread_id: "2b90", args: { id: 8812, phone: "+34 600 123 456" } },
];
const EARLIER = { name: "delete_customer_data", risk: "low", args: { customer: "northwind-test", tables: TYPICAL[0].args.tables, dry_run: true, api_key: TYPICAL[0].args.api_key }, timeout: 30 };
const LONG = {
  name: "write_file", risk: "high", timeout: 600, reason: `${"The file is long and every line of it matters. ".repeat(12)}`,
  args: { path: "/srv/app/config/production.yaml", text: Array.from({ length: 120 }, (_, line) => `service_${line}: ${"value ".repeat((line % 7) + 1)}`).join("\n"), mode: "0644", tags: ["a", "b"], deep: { a: { b: { c: [1, 2, { d: "x" }] } } } },
};
const REJECTED = ["bad-json", '{"v":1,"kind":"tool_call",', "bad-version", '{"v":2}', "bad-risk", '{"v":1,"kind":"tool_call","request_id":"bad-risk"}', "bad-kind", '{"v":1,"kind":"wish"}'];

const save = async (desk, name) => {
  for (const theme of ["dark", "light"]) {
    await desk.browser.run("document.documentElement.dataset.theme = arguments[0]; return 1", theme);
    await writeFile(path.join(OUT, `${name}-${theme}.png`), Buffer.from(await desk.browser.picture(), "base64"));
  }
  await desk.browser.run("document.documentElement.dataset.theme = 'dark'; return 1");
  process.stdout.write(`docs/screens/${name}-{dark,light}.png\n`);
};

const settled = () => new Promise((done) => setTimeout(done, 700));

const onDesk = async (work) => {
  const desk = await Desk.open();
  try {
    await desk.browser.sees('[data-testid="empty"] pre');
    await work(desk, desk.browser);
  } finally {
    await desk.close();
  }
};

const STORIES = {
  async inbox(desk, page) {
    await settled();
    await save(desk, "inbox-empty");
    // An earlier call of the same tool, so that the card has something to compare with.
    const earlier = await desk.agent("asks.py", JSON.stringify(EARLIER));
    await desk.armed("delete_customer_data");
    await page.press("a");
    await earlier.done;
    await desk.agent("asks.py", ...TYPICAL.map((call) => JSON.stringify(call)));
    await page.reads("7 waiting", '[data-testid="waiting"]');
    await page.press("n");
    await page.reads("irreversible", '[data-testid="card"]').catch(() => {});
    await settled();
    await save(desk, "inbox");
    await page.press("d");
    await page.sees('[aria-label="Reason for the agent"]');
    await save(desk, "inbox-deny");
    await page.press(KEYS.escape);
    await page.press("?");
    await settled();
    await save(desk, "keys");
  },
  async long(desk, page) {
    await desk.agent("asks.py", JSON.stringify(LONG));
    await desk.browser.reads("write_file", '[data-testid="card"] h2');
    await settled();
    await save(desk, "inbox-long");
    await page.press("e");
    await page.sees(".cm-content");
    await settled();
    await save(desk, "inbox-edit");
  },
  async rejected(desk, page) {
    await desk.agentJson();
    await (await desk.agent("sends.py", ...REJECTED)).done;
    await page.press("g");
    await page.press("j");
    await page.sees('[data-testid="rejected-row"]');
    await settled();
    await save(desk, "rejected");
  },
  /** Two operators, an agent that is paused, and panic. */
  async operators(desk, page) {
    await desk.agent("asks.py", JSON.stringify({ ...TYPICAL[1], approvals_required: 2, timeout: 300 }), JSON.stringify({ ...TYPICAL[3], timeout: 500 }));
    await page.reads("2 waiting", '[data-testid="waiting"]');
    const grace = await desk.operator("grace");
    const row = JSON.parse((await desk.command("inbox", "--json")).out.trim().split("\n")[0]);
    const voted = await grace("approve", row.request_id, "--message", "fine with me");
    if (voted.code !== 0) throw new Error(voted.err);
    await page.reads("1 of 2", '[data-testid="votes"]');
    await desk.command("pause", "default/local");
    await desk.command("panic", "on");
    await page.sees('[data-testid="panic"]');
    await settled();
    await save(desk, "inbox-votes");
  },
  async traces(desk, page) {
    const run = await desk.agent("works.py", "high");
    await page.reads("delete_customer_data", '[data-testid="card"] h2');
    await page.reads("round 3", '[data-testid="led-here"]');
    await settled();
    await save(desk, "inbox-led-here");
    await page.press("t");
    await page.sees('[data-testid="tree"]');
    await settled();
    await save(desk, "trace-waiting");
    await page.press(KEYS.escape);
    await page.press("d");
    await page.sees('[aria-label="Reason for the agent"]');
    await page.type('[aria-label="Reason for the agent"]', "Not while the audit runs");
    await page.press(KEYS.enter);
    await run.done;
    await desk.agent("many.py", "1200").then(({ done }) => done);
    await page.press("g");
    await page.press("t");
    await page.reads("number 0", '[data-testid="trace-row"]');
    await settled();
    await save(desk, "traces");
    await page.press("j");
    await page.press("o");
    await page.sees('[data-testid="tree"]');
    await page.press("j");
    await page.press("j");
    await page.sees('[data-part="image"] canvas');
    await settled();
    await save(desk, "trace");
  },
  async agents(desk, page) {
    await desk.agent("asks.py", JSON.stringify({ ...TYPICAL[3], timeout: 300 }));
    await page.reads("1 waiting", '[data-testid="waiting"]');
    await desk.agent("tells.py", "60");
    await desk.command("enroll", "acme-prod/infra-agent");
    await page.press("g");
    await page.press("a");
    await page.reads("acme-prod/infra-agent", '[data-testid="agent-row"]');
    await page.press("j");
    await page.reads("web_search", '[data-testid="agent"]');
    await settled();
    await save(desk, "agents");
    await page.run("[...document.querySelectorAll('[data-testid=brake-bar] button')].find((b) => b.textContent.startsWith('Stop')).click(); return 1");
    await page.sees('[data-testid="confirm"]');
    await save(desk, "agents-stop");
  },
  async rules(desk, page) {
    const RULES = [
      'id = "no-new-accounts"\nname = "No payments to new accounts"\neffect = "deny"\ntool = "transfer.*"\nmessage = "Not to an account that nobody has paid before."',
      'id = "production-deletes"\nname = "Two people for production deletes"\neffect = "ask"\napprovals = 2\ntool = "delete_customer_*"',
      'id = "test-invoices"\nname = "Test invoices may go"\neffect = "approve"\nexpires_at = "2027-06-01T00:00:00Z"\nenabled = false\nagent = "*"\ntool = "delete_invoice"\nrisk = ["low", "medium"]\nargs."/invoice_id" = { glob = "INV-TEST-*" }\nonly_args = true\nlimit = { count = 20, per = "1h" }',
      'id = "read-only-crm"\nname = "Read-only CRM"\neffect = "approve"\nexpires_at = "2027-02-14T00:00:00Z"\ntool = ["crm.lookup", "crm.list"]',
      'id = "small-refunds"\nname = "Small refunds"\nenabled = "shadow"\neffect = "approve"\nexpires_at = "2027-02-14T00:00:00Z"\ntool = "refund"\nargs."/amount" = { lt = 50 }',
    ];
    const file = path.join(FOLDER, "rules.toml");
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
    await desk.agent("tells.py", "60");
    await page.press("m");
    await page.sees('[data-testid="matrix"]');
    await settled();
    await save(desk, "matrix");
  },
  async history(desk, page) {
    const calls = [EARLIER, TYPICAL[4], TYPICAL[5]].map((call) => ({ ...call, risk: "low", timeout: 30 }));
    for (const call of calls) {
      const run = await desk.agent("asks.py", JSON.stringify(call));
      await page.reads("1 waiting", '[data-testid="waiting"]');
      // The card that was decided stays until the operator moves on.
      await page.press("n");
      await desk.armed(call.name);
      await page.press(call.name === "git.push" ? "d" : "a");
      if (call.name === "git.push") {
        await page.sees('[aria-label="Reason for the agent"]');
        await page.type('[aria-label="Reason for the agent"]', "Not on a Sunday");
        await page.press(KEYS.enter);
      }
      await run.done;
    }
    await desk.agent("asks.py", JSON.stringify(TYPICAL[2]), JSON.stringify(TYPICAL[3]));
    await page.reads("2 waiting", '[data-testid="waiting"]');
    await page.press("g");
    await page.press("h");
    await page.reads("Not on a Sunday", 'main[aria-label="History"]');
    await settled();
    await save(desk, "history");
    for (const key of ["j", "j", "j", "o"]) await page.press(key);
    await page.sees('[data-testid="signature"]');
    await settled();
    await save(desk, "story");
    await page.press("g");
    await page.press("o");
    await page.sees('[data-testid="chart"] canvas');
    await settled();
    await save(desk, "overview");
  },
  async setup(desk, page) {
    await desk.agent("declares.py", JSON.stringify({ name: "hire", args: { who: "ada" }, risk: "medium", timeout: 300, confirm: { setup_key: "confirm_hire_or_fire", command: "hire(ada)", explanation: "She signed" } }));
    await page.reads("1 waiting", '[data-testid="waiting"]');
    await desk.command("enroll", "acme-prod/infra-agent");
    await desk.command("setup", "set", "default/local", "max_refund", "80");
    await desk.command("setup", "set", "default/local", "api_key", "sk-live-4f9a8b7c6d5e4f3a2b1c");
    await desk.command("setup", "bind", "default/local", "allow_dangerous", "--skips-when", "true");
    await desk.command("bypass", "default/local", "--up-to", "low", "--for", "1h");
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
    await desk.command("setup", "set", "default/local", "greeting", "Salve");
    await page.sees('[data-testid="setup-conflict"]');
    await page.run("document.querySelector('[data-key=greeting]').scrollIntoView(); return 1");
    await settled();
    await save(desk, "setup-conflict");
    await page.press("g");
    await page.press("a");
    await page.sees('[data-testid="agent-row"][data-key="default/local"]');
    await page.press("j");
    await page.sees('[data-testid="agent-bypass"]');
    await page.run("[...document.querySelectorAll('[data-testid=brake-bar] button')].find((b) => b.textContent.startsWith('End')).click(); return 1");
    await page.press("g");
    await page.press(",");
    await page.reads("config.toml", 'main[aria-label="Settings"]');
    await settled();
    await save(desk, "settings");
  },
  /** Three calls of one tool for one answer, and a fourth that is put off. */
  async batch(desk, page) {
    const push = (branch) => JSON.stringify({ ...TYPICAL[4], timeout: 500, args: { ...TYPICAL[4].args, branch } });
    await desk.agent("asks.py", push("main"), push("docs"), push("release/2.4"), JSON.stringify({ ...TYPICAL[3], timeout: 900 }));
    await page.reads("4 waiting", '[data-testid="waiting"]');
    await page.press("j");
    await page.press("j");
    await page.press("j");
    await page.reads("http.post", '[data-testid="card"] h2');
    await page.press("s");
    await page.sees('[data-testid="snooze-panel"]');
    await settled();
    await save(desk, "inbox-snooze");
    await page.run("document.querySelector('[data-testid=snooze-panel] button').click(); return 1");
    await page.sees('[data-testid="snoozed"]');
    await page.press("n");
    for (const _ of [1, 2]) await page.press(KEYS.shift, "j");
    await page.sees('[data-testid="batch"][data-armed="true"]');
    await settled();
    await save(desk, "inbox-batch");
  },
  async alarms(desk, page) {
    const run = await desk.agent("disobeys.py", JSON.stringify({ name: "pay", args: { to: "ada" }, risk: "medium" }));
    await page.reads("pay", '[data-testid="card"] h2');
    await page.press("d");
    await page.sees('[aria-label="Reason for the agent"]');
    await page.press(KEYS.enter);
    await run.done;
    await page.reads("1 alarm", '[data-testid="alarms"]');
    await page.click('[data-testid="alarms"]');
    await page.sees('[data-testid="alarm"]');
    await settled();
    await save(desk, "alarms");
  },
};

await mkdir(OUT, { recursive: true });
const wanted = process.argv.slice(2);
for (const [name, story] of Object.entries(STORIES)) {
  if (wanted.length === 0 || wanted.includes(name)) await onDesk(story);
}

await rm(FOLDER, { recursive: true, force: true });
