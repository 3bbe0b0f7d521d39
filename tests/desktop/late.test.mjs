// Answers that come late, a batch that is taken back, and lists that stay under their reader, at the real window.
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const call = (name, args, { risk = "medium", timeout = 300 } = {}) => JSON.stringify({ name, args, risk, timeout });
const shownKey = (page) => page.run("return document.querySelector('[data-testid=card] h2')?.textContent ?? null");
const REASON = '[aria-label="Reason for the agent"]';

/** The bus that the console of this desk started. */
const busOf = async (desk) => {
  const { pid } = JSON.parse(await readFile(path.join(desk.data, "runtime.json"), "utf8"));
  for (const task of await readdir(`/proc/${pid}/task`)) {
    const children = (await readFile(`/proc/${pid}/task/${task}/children`, "utf8")).trim().split(" ").filter(Boolean);
    for (const child of children) if ((await readFile(`/proc/${child}/comm`, "utf8")).trim() === "nats-server") return Number(child);
  }
  throw new Error("no bus runs below the console");
};

onDesk("an answer that the bus gives late leaves its operator at the card and the reason that are typed by then", async (desk, page) => {
  await desk.agent("asks.py", call("one", {}, { risk: "high" }), call("two", {}, { timeout: 310 }), call("three", {}, { timeout: 320 }));
  await page.reads("3 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await desk.armed("one");
  const bus = await busOf(desk);
  process.kill(bus, "SIGSTOP");
  try {
    await page.press(KEYS.control, KEYS.shift, "a");
    await page.sees('[data-testid="sent"] li[data-state="sending"]');
    await page.press("j");
    await page.press("j");
    await page.reads("three", '[data-testid="card"] h2');
    await page.press("d");
    await page.sees(REASON);
    await page.type(REASON, "because it is wro");
  } finally {
    process.kill(bus, "SIGCONT");
  }
  await page.sees('[data-testid="sent"] li[data-state="stored"]');
  assert.equal(await page.run("return document.querySelector(arguments[0])?.value", REASON), "because it is wro");
  assert.match(await shownKey(page), /three/);
});

onDesk("one Z takes a whole batch back while it is held, and the next card that waits follows it", async (desk, page) => {
  const names = Array.from({ length: 12 }, (_, place) => call("git.push", { place }, { timeout: 300 + place }));
  const agent = await desk.agent("asks.py", ...names, call("pay", { to: "ada" }, { timeout: 400 }));
  await page.reads("13 waiting", '[data-testid="waiting"]');
  await page.press("n");
  for (let more = 1; more < names.length; more += 1) await page.press(KEYS.shift, "j");
  await page.sees('[data-testid="batch"][data-count="12"]');
  await page.run("document.querySelector('[data-testid=batch] [role=region]').scrollTop = 1e9; return 1");
  await page.sees('[data-testid="batch"][data-armed="true"]');
  await page.press("a");
  await page.reads("pay", '[data-testid="card"] h2');
  await page.reads("Undo all 12", '[data-testid="sent"]');
  await page.press("z");
  await until("all of them wait again", () => page.run("return document.querySelectorAll('[data-testid=sent] li[data-state=undone]').length === 12"));
  await page.reads("13 waiting", '[data-testid="waiting"]');
  const rows = (await desk.command("inbox", "--json")).out.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([rows.length, new Set(rows.map((row) => row.state)), agent.output.out], [13, new Set(["pending"]), ""]);
});

onDesk("what arrives in the history moves nothing that is on screen", async (desk, page) => {
  await desk.agent("asks.py", ...Array.from({ length: 60 }, (_, at) => call(`tool_${at}`, { at })));
  await page.reads("60 waiting", '[data-testid="waiting"]');
  await page.press("g");
  await page.press("h");
  await page.reads("60 requests", '[data-testid="history-count"]');
  await page.press("j");
  await page.run("document.querySelector('[role=listbox]').scrollTop = 1000; return 1");
  const top = () => page.run(`
    const list = document.querySelector('[role=listbox]'), box = list.getBoundingClientRect();
    const first = [...list.querySelectorAll('[data-testid=history-row]')].map((row) => [row.getBoundingClientRect().top - box.top, row.dataset.key])
      .filter(([top]) => top >= 0).toSorted((a, b) => a[0] - b[0])[0];
    return first?.join(" ") ?? null;`);
  const before = await until("the rows are drawn there", top);
  desk.ask("newcomer", { a: 1 });
  await page.reads("61 requests", '[data-testid="history-count"]');
  await until("the same row is at the same place", async () => (await top()) === before);
  assert.equal(await page.run("return document.querySelector('[role=listbox]').scrollTop"), 1_040);
}, { fresh: true });
