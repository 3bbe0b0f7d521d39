// What the console points at: marks in the list, a card with a finding of each weight, letters, and people's figures.
import { KEYS, until } from "../support/webdriver.mjs";
import { save, settled } from "./shots.mjs";

const IBAN = { hallberg: "DE89370400440532013000", other: "GB82WEST12345698765432" };
const mail = (to, more = {}) => ({ name: "send_mail", risk: "low", args: { to, subject: "Delivery on Friday", body: "Dear Ada,\nthe goods leave on Friday.\nRegards", ...more } });
const deploy = (environment, version, timeout) => ({ name: "deploy", risk: "low", timeout, args: { service: "shop", environment, version }, reason: "Routine." });
const DENIED = mail("ada@hallberg-maschinen.example");
const pay = (iban, amount) => ({ name: "pay_invoice", risk: "medium", args: { payee: "Hallberg Maschinen GmbH", iban, amount, currency: "EUR", reference: "R-2210", cost_centre: "4100" } });
const PAST = {
  "billing-bot": [pay(IBAN.hallberg, 1180), pay(IBAN.hallberg, 2310), pay(IBAN.hallberg, 940)],
  assistant: [mail("ada@nordwind-logistik.example"), mail("grace@nordwind-logistik.example")],
  "infra-agent": [{ name: "deploy", risk: "low", args: { service: "shop", environment: "staging", version: "2.4.1" } }],
};
export const WAITING = {
  assistant: [
    { ...mail("ada@nordwind-logistlk.example", { bcc: "notes@freemail.example", body: "Dear Ada,\nthe goods leave on Monday.\nRegards" }), timeout: 260, reason: "The customer asked for it on the phone." },
    { ...mail("ada@nordwind-logistik.example"), timeout: 400, reason: "The weekly note." },
    { ...DENIED, timeout: 450, reason: "She asked again." },
  ],
  "billing-bot": [{ ...pay(IBAN.other, 12490), timeout: 200, reason: "The supplier changed its bank." }],
  "infra-agent": [
    deploy("production", "2.4.2", 500),
    deploy("staging", "2.4.2", 510),
    { name: "shell.exec", risk: "medium", timeout: 300, args: { command: "npm ci && rm -rf \"$BUILD_DIR\"/* && npm run build", cwd: "/srv/shop" }, reason: "Clean build" },
    { name: "db.migrate", risk: "medium", timeout: 350, args: { database: "shop", migration: "ALTER TABLE orders ADD COLUMN note text;\nDROP TABLE order_events_v1;\nCREATE TABLE order_events_v2 (id bigint);" } },
  ],
};

const waits = async (desk) => (await desk.command("inbox", "--json")).out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Calls on which a person decided before, so that the waiting ones have a past. */
async function past(desk, agents, verdict) {
  for (const [name, calls] of Object.entries(agents)) {
    const run = await desk.agentNamed(name, "asks.py", ...calls.map((call) => JSON.stringify({ ...call, timeout: 90 })));
    const rows = await until("they wait", async () => {
      const rows = await waits(desk);
      return rows.length === calls.length ? rows : undefined;
    });
    for (const { request_id: id } of rows) await desk.command(...verdict, id);
    await run.done;
  }
}

/** Opens the card of a tool: the list is in order of deadline. */
const open = async (page, tool, mark) => {
  await until(`the card of ${tool}`, async () => {
    const found = await page.run("return [document.querySelector('[data-testid=card] h2')?.textContent, document.querySelector('[data-testid=findings] [data-finding]')?.dataset.finding ?? null]");
    if (found[0]?.includes(tool) && found[1] === mark) return true;
    await page.press("j");
    return undefined;
  });
  await settled();
};

export async function judgement(desk, page) {
  await past(desk, PAST, ["approve"]);
  await past(desk, { assistant: [DENIED] }, ["deny", "--message", "Not our contact there."]);
  for (const [name, calls] of Object.entries(WAITING)) await desk.agentNamed(name, "asks.py", ...calls.map((call) => JSON.stringify(call)));
  await page.reads("8 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await open(page, "pay_invoice", "pair_broken");
  await save(desk, "judgement-payee");
  await open(page, "send_mail", "near_miss");
  await save(desk, "judgement-letters");
  await open(page, "shell.exec", "destructive_command");
  await save(desk, "judgement-stop");
  await open(page, "db.migrate", "destructive_sql");
  await save(desk, "judgement-sql");
  await open(page, "deploy", "reaches_production");
  await save(desk, "judgement-look");
  await page.press(KEYS.shift, "j");
  await page.sees('[data-testid="batch"][data-armed="true"]');
  await settled();
  await save(desk, "judgement-batch");
  await page.press(KEYS.escape);
  await page.press("n");
  await open(page, "send_mail", "denied_before");
  await save(desk, "judgement-denied");
}
