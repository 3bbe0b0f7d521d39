// An export from the real window, into a file that a person chose in the system's dialog.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { onDesk } from "./support/desk.mjs";
import { answerDialog } from "./support/keys.mjs";

const KEY = { name: "pay", args: { to: "ada", amount: 12 }, risk: "low", timeout: 5 };

onDesk("what is filtered goes into the chosen file, as the command line writes it", async (desk, page) => {
  const calls = [KEY, { ...KEY, name: "delete_invoice" }].map((call) => JSON.stringify(call));
  await (await desk.agent("asks.py", ...calls)).done;
  await page.press("g");
  await page.press("h");
  await page.reads("amount 12", '[data-testid="history-row"]');
  await page.run("const tool = document.querySelector('[data-testid=filters] label:nth-child(3) select'); tool.value = 'pay'; tool.dispatchEvent(new Event('change', { bubbles: true })); return 1");
  await page.reads("1 request", '[data-testid="history-count"]');
  const file = path.join(desk.data, "history of today.jsonl");
  await page.run("[...document.querySelectorAll('button')].find((one) => one.textContent.trim() === 'Export').click(); return 1");
  await page.sees('[data-testid="export-menu"]');
  await page.run("[...document.querySelectorAll('[data-testid=export-menu] button')].at(-1).click(); return 1");
  await answerDialog("Export the history", file);
  await page.reads("Exported history of today.jsonl: 1 request", '[data-testid="export"]');
  const { out } = await desk.command("export", "--format", "jsonl", "--tool", "pay");
  assert.equal(await readFile(file, "utf8"), out);
});
