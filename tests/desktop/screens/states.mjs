// What no picture shows: the states of a card, and what opens over the desk.
import { KEYS, until } from "../support/webdriver.mjs";
import { check } from "./shots.mjs";

const call = (name, more = {}) => JSON.stringify({ name, args: { to: "ada", note: "for the quarter" }, risk: "low", timeout: 300, reason: "Ada asked for it", ...more });
const card = '[data-testid="card"]';

/** Opens a card by its tool. */
const open = async (page, tool) => {
  await until(`the row of ${tool}`, () => page.run("const found = [...document.querySelectorAll('[data-testid=row]')].find((row) => row.textContent.startsWith(arguments[0])); found?.click(); return found !== undefined", tool));
  await page.reads(tool, `${card} h2`);
};

export async function cards(desk, page) {
  await desk.agent("asks.py", ...["safe", "low", "medium", "high", "critical"].map((risk, place) => call(`pay_${risk}`, { risk, timeout: 300 + place })));
  await page.reads("5 waiting", '[data-testid="waiting"]');
  for (const risk of ["safe", "medium", "high", "critical"]) {
    await open(page, `pay_${risk}`);
    await check(desk, `a card of ${risk} risk`);
  }
  await open(page, "pay_low");
  await desk.armed("pay_low");
  await page.press("a");
  await page.sees(`${card}, [data-testid="sent"] [data-state="holding"]`);
  await open(page, "pay_low");
  await check(desk, "a held card");
  await page.sees(`${card}[data-state="decided"]`);
  await check(desk, "a decided card");
  const soon = desk.ask("pay_soon", { to: "ada" }, { timeout: 4 });
  await open(page, "pay_soon");
  // It stays only because something is typed on it.
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.press("w");
  await page.sees(`${card}[data-state="expired"]`);
  await check(desk, "an expired card");
  await page.press(KEYS.escape);
  await soon.done;
  const agent = await desk.agent("asks.py", call("pay_nobody"));
  await open(page, "pay_nobody");
  agent.child.kill("SIGINT");
  await page.sees(`${card}[data-state="withdrawn"]`);
  await check(desk, "a withdrawn card");
}

export async function asked(desk, page) {
  await desk.agent("asks.py", JSON.stringify({
    kind: "question", text: "Which one?", context: "Two of them fit.", timeout: 300,
    options: [{ key: "a", label: "The first", description: "It is older" }, { key: "b", label: "The second" }],
  }));
  await page.reads("Which one?", card);
  await check(desk, "a question");
  await page.press("r");
  await page.sees('form[aria-label="Answer"]');
  await check(desk, "a question and its answer");
}

export async function over(desk, page) {
  await desk.agent("asks.py", call("pay", { history: Array.from({ length: 4 }, () => ({ role: "user", content: "Please." })), args: { to: "ada", password: "hunter2hunter2" } }), call("later", { timeout: 600 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await open(page, "pay");
  const opens = [
    ["more", '[role="menu"]', () => page.click('[aria-label="More"]')],
    ["bytes as received", '[data-testid="raw-bytes"]', () => page.press("i")],
    ["deny and stop", '[aria-label="Reason for the agent"]', () => page.press(KEYS.shift, "d")],
    ["commands", "[cmdk-input]", () => page.press(KEYS.control, "k")],
    ["no alarm", '[data-testid="alarms-empty"]', () => page.click('[data-testid="alarms"]')],
  ];
  for (const [name, selector, go] of opens) {
    await go();
    await page.sees(selector);
    await check(desk, name);
    await page.press(KEYS.escape);
    await page.gone(selector);
  }
  await page.press(KEYS.control, "k");
  await page.type("[cmdk-input]", "local");
  await page.reads("Waiting calls", '[role="dialog"]');
  await check(desk, "what the palette finds");
  await page.press(KEYS.escape);
  await page.gone('[role="dialog"]');
  await page.press("s");
  await page.sees('[data-testid="snooze-panel"]');
  await page.press(KEYS.enter);
  await page.click('[data-testid="snoozed"]');
  await page.sees("[data-radix-popper-content-wrapper]");
  await check(desk, "what is snoozed");
  await page.press(KEYS.escape);
  await page.press(KEYS.control, KEYS.shift, ".");
  await page.reads("Panic is on", '[data-testid="panic-dialog"]');
  await check(desk, "panic");
  await page.press(KEYS.escape);
  await page.gone('[role="dialog"]');
  await page.press(KEYS.control, KEYS.shift, ".");
  await page.sees('[data-testid="confirm"]');
  await check(desk, "panic off");
  await page.press(KEYS.escape);
  await page.press("g");
  await page.press("h");
  await until("the searches", () => page.run("const found = [...document.querySelectorAll('[data-testid=filters] button, main button')].find((b) => b.textContent.includes('earches')); found?.click(); return found !== undefined"));
  await page.sees('[data-testid="searches"]');
  await check(desk, "saved searches");
}
