// A practice card in the real window: it looks and moves like any other, and nobody but the window knows it.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const ARGS = { payee: "Hallberg", iban: "DE89370400440532013000", amount: 1250, to: "ana@nordwind.example" };
const call = JSON.stringify({ name: "pay", risk: "low", timeout: 900, args: ARGS });
const lines = ({ out }) => out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
const KEYS_OF_ROWS = "return [...document.querySelectorAll('[data-testid=row]')].map((row) => row.dataset.key)";

onDesk("a practice card is answered at once, and is in no list, history, export, status or log", async (desk, page) => {
  const known = async () => lines(await desk.command("inbox", "--json")).map(({ request_id: id }) => id);
  const waits = () => until("a call waits", async () => (await known())[0]);
  const first = await desk.agent("asks.py", call);
  assert.equal((await desk.command("approve", await waits())).code, 0);
  assert.match((await first.done).out, /"ran"/);
  assert.equal((await desk.command("practice", "on", "--one-in", "2")).code, 0);

  await desk.agent("asks.py", call);
  const real = await waits();
  const keys = await until("a practice card beside the real one", async () => {
    const rows = await page.run(KEYS_OF_ROWS);
    return rows.length === 2 && rows;
  });
  const key = keys.find((one) => !one.endsWith(`/${real}`));
  assert.equal(keys.indexOf(key), 1, "the real one comes first");
  await page.reads("2 waiting", '[data-testid="waiting"]');
  assert.deepEqual(await known(), [real]);
  assert.equal(JSON.parse((await desk.command("status", "--json")).out).waiting, 1);

  await page.click(`[data-testid="row"][data-key="${key}"]`);
  // Denied unarmed: a hidden character would have to be revealed before an approval.
  await page.sees(`[data-testid="card"][data-key="${key}"]`);
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.press(KEYS.enter);
  await page.reads("Practice:", '[data-testid="practice-answer"]');
  await page.reads("1 waiting", '[data-testid="waiting"]');

  const id = key.split("/").at(-1);
  const heard = [["inbox", "--json"], ["history", "--json"], ["export", "--format", "jsonl"], ["status", "--json"], ["alarms", "--json"], ["audit", "export"]];
  for (const words of heard) {
    const { code, out, err } = await desk.command(...words);
    assert.equal(code, 0, err);
    assert.ok(!out.includes(id), `${words.join(" ")}: ${out}`);
  }
  assert.equal((await desk.command("show", key, "--json")).code, 3);
  assert.equal((await desk.command("approve", key)).code, 3);
  const { operators } = JSON.parse((await desk.command("practice", "report", "--json")).out);
  assert.deepEqual(operators.map(({ name, shown }) => [name, shown]), [["maria", 1]]);
  assert.deepEqual(await known(), [real]);
}, { fresh: true });
