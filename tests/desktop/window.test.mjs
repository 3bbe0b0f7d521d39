// The window itself: its zoom, how much it shows, what lies over what, and what is copied out of it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const call = (name, more = {}) => JSON.stringify({ name, args: { to: "ada" }, risk: "medium", timeout: 300, ...more });

/** How many lines of the arguments are whole in the window without scrolling, and which buttons of the card are not. */
const SHOWN = `
  const body = document.querySelector("[data-testid=card-body]").getBoundingClientRect(), tops = new Set();
  const texts = document.createTreeWalker(document.querySelector("[data-testid=card-body] dl dd"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    for (const line of range.getClientRects()) if (line.width > 0 && line.top >= body.top && line.bottom <= body.bottom) tops.add(Math.round(line.top));
  }
  const whole = (element) => {
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  };
  const needed = document.querySelectorAll('[role=toolbar][aria-label=Decide] button, [data-testid=way] input, [data-testid=way] li');
  return { lines: tops.size, buttons: needed.length, hidden: [...needed].filter((one) => !whole(one)).map((one) => one.textContent) };`;

onDesk("the zoom goes up, down and back by key, is kept over a restart, and leaves a critical card its arguments and buttons", async (desk, page) => {
  const width = (wanted) => until(`a page ${wanted} px wide`, () => desk.browser.run("return innerWidth === arguments[0]", wanted));
  await page.press(KEYS.control, "-");
  await width(1_600);
  await page.press(KEYS.control, "0");
  await width(1_440);
  for (let step = 0; step < 5; step += 1) await page.press(KEYS.control, KEYS.shift, "+");
  await width(720);
  // WebKit writes what a page keeps half a second after the last change.
  await new Promise((done) => setTimeout(done, 1_000));
  await desk.reopen();
  await width(720);
  await desk.agent("asks.py", call("delete_customer_data", {
    risk: "critical", effects: "irreversible", thread_id: "8f21", reason: "It was asked for by the customer. ".repeat(6), history: [{ role: "user", content: "Remove it." }],
    args: { notes: Array.from({ length: 30 }, (_, line) => `row ${line}`).join("\n"), api_key: "9f3ac01e9f3ac01e9f3ac01e9f3ac01e" },
  }));
  await desk.browser.sees('[data-step="type"]');
  const { lines, buttons, hidden } = await desk.browser.run(SHOWN);
  assert.ok(lines >= 8, `${lines} lines of arguments`);
  assert.ok(buttons >= 8, `${buttons} buttons, fields and steps`);
  assert.deepEqual(hidden, []);
  await desk.browser.reads("asked for by the customer", '[data-testid="words"]');
});

onDesk("a window of 900 px lists at least 20 waiting calls", async (desk, page) => {
  await desk.agent("asks.py", ...Array.from({ length: 24 }, (_, at) => call(`pay_${at}`, { timeout: 300 + at })));
  await page.reads("24 waiting", '[data-testid="waiting"]');
  const whole = await page.run(`
    const list = document.querySelector("[role=listbox]").getBoundingClientRect();
    return [...document.querySelectorAll("[data-testid=row]")].filter((row) => row.getBoundingClientRect().bottom <= list.bottom).length`);
  assert.ok(whole >= 20, `${whole} calls`);
}, { fresh: true });

/** The pixels of a part of the display. */
const pixels = async (page, { left, top, width, height }) => {
  const picture = await page.picture();
  const cut = promisify(execFile)("convert", ["png:-", "-crop", `${width}x${height}+${left}+${top}`, "rgb:-"], { encoding: "buffer", maxBuffer: 1 << 24 });
  cut.child.stdin.end(picture);
  return (await cut).stdout;
};

onDesk("no scroll bar is painted over a dialog", async (desk, page) => {
  await desk.agent("asks.py", ...Array.from({ length: 40 }, (_, at) => call(`pay_${at}`, { timeout: 300 + at })));
  await page.reads("40 waiting", '[data-testid="waiting"]');
  await page.press("?");
  const dialog = await until("the dialog over the list's edge", () => page.run(`
    const box = document.querySelector("[role=dialog]")?.getBoundingClientRect(), list = document.querySelector("[role=listbox]").getBoundingClientRect();
    if (box === undefined || box.left > list.right - 12 || box.right < list.right) return null;
    return { left: Math.ceil(list.right - 16), top: Math.ceil(box.top + 2), width: 24, height: Math.floor(box.height - 4) };`));
  const scroll = (to) => page.run("document.querySelector('[role=listbox]').scrollTop = arguments[0]; return 1", to);
  await scroll(0);
  const before = await pixels(page, dialog);
  await scroll(1e9);
  assert.ok((await pixels(page, dialog)).equals(before), "what the list does is seen on the dialog");
}, { fresh: true });

onDesk("names stand below the icons from 1,200 px on, and always where that is set", async (_, page) => {
  const named = () => page.run("return [...document.querySelectorAll('nav[aria-label=Screens] a > span')].filter((name) => name.textContent.length > 2 && name.getBoundingClientRect().width > 2).map((name) => name.textContent)");
  const names = ["Inbox", "History", "Traces", "Agents", "Operators", "Rules", "Setup", "Overview", "Rejected", "Settings"];
  assert.deepEqual(await named(), names);
  await page.resize(1_199, 800);
  assert.deepEqual(await named(), []);
  await page.press("g");
  await page.press(",");
  await page.click('[data-testid="setting-screenNames"] label:nth-child(2)');
  await until("the names", async () => (await named()).length === names.length);
});

onDesk("the empty inbox's commands are copied, and its lines of Python are a whole agent", async (desk, page) => {
  const json = await desk.agentJson();
  await page.run("document.querySelector('[data-testid=empty] details').open = true; return 1");
  const texts = await page.run("return [...document.querySelectorAll('[data-testid=empty] pre')].map((pre) => pre.textContent)");
  for (const place of texts.keys()) {
    await page.run("document.querySelectorAll('[data-testid=copy]')[arguments[0]].scrollIntoView({ block: 'center' }); return 1", place);
    await page.click(`[data-testid="empty"] div:nth-of-type(${place + 1}) > div > [data-testid="copy"]`);
    await page.reads("Copied", `[data-testid="empty"] div:nth-of-type(${place + 1}) > div > [data-testid="copy"]`);
    await page.press("/");
    await page.press(KEYS.control, "a");
    await page.press(KEYS.control, "v");
    const pasted = await until("it is pasted", () => page.run("return document.querySelector('input[placeholder^=Filter]').value || null"));
    // A field of one line takes no line ends.
    assert.equal(pasted, texts[place].replaceAll("\n", " "));
    await page.press(KEYS.escape);
  }
  const code = texts.find((text) => text.includes("import"));
  assert.ok(code.includes(json) && code.split("\n").length === 8, code);
  const python = promisify(execFile)(process.env.COUNTERSIGN_PYTHON ?? ".venv/bin/python", ["-c", code], { env: { ...process.env, PYTHONPATH: path.resolve("sdk/python/src") } });
  await desk.armed("send_email");
  await page.press("a");
  assert.match((await python).stdout, /sending to maria@acme\.example/);
});
