// The answer to a practice card. Pictures alone: the tests look at the card in practice.test.mjs.
import { KEYS, until } from "../support/webdriver.mjs";
import { save, settled } from "./shots.mjs";

const ARGS = { payee: "Hallberg Maschinen", iban: "DE89370400440532013000", amount: 1250, to: "ana@nordwind.example" };
const call = JSON.stringify({ name: "pay", risk: "low", timeout: 900, args: ARGS, reason: "The invoice of October is due." });

/** Answers practice cards until one of them was changed: one in four is not. */
export async function practice(desk, page) {
  const rows = () => page.run("return [...document.querySelectorAll('[data-testid=row]')].map((row) => row.dataset.key)");
  const waits = () => until("a call waits", async () => {
    const { out } = await desk.command("inbox", "--json");
    return out.trim() === "" ? undefined : JSON.parse(out.trim().split("\n")[0]).request_id;
  });
  const first = await desk.agent("asks.py", call);
  await desk.armed("pay");
  await page.press("a");
  await first.done;
  await desk.command("practice", "on", "--one-in", "2");
  for (let changed = false; !changed; ) {
    await desk.agent("asks.py", call);
    const real = await waits();
    const keys = await until("practice", async () => { const keys = await rows(); return keys.length > 1 && keys; });
    const key = keys.find((one) => !one.endsWith(`/${real}`));
    await page.click(`[data-testid="row"][data-key="${key}"]`);
    await page.sees(`[data-testid="card"][data-key="${key}"]`);
    await page.press("d");
    await page.sees('[aria-label="Reason for the agent"]');
    await page.press(KEYS.enter);
    const words = await until("its answer", () => page.text('[data-testid="practice-answer"]'));
    changed = !words.includes("Nothing");
    if (!changed) await desk.command("approve", real);
  }
  await settled();
  await save(desk, "practice-answer");
  await page.press("g");
  await page.press("o");
  await page.sees('[data-testid="people"]');
  await page.run("document.querySelector('[data-testid=practice]').scrollIntoView({ block: 'end' }); return 1");
  await settled();
  await save(desk, "overview-people");
}
