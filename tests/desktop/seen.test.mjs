// What a person has not seen cannot be approved, whatever its agent writes and whatever lies over it.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const WORDS = "This only sends the weekly invoice as agreed with finance last week. ".repeat(12);
const SAID = { reason: WORDS, title: WORDS, preview: WORDS, description: WORDS, confirm: { explanation: WORDS, command: WORDS } };
const ARGS = { to: "ada@acme.example", subject: "s", body: "b" };
const mail = (more = {}) => JSON.stringify({ name: "send_mail", risk: "medium", timeout: 120, args: ARGS, ...more });
const chord = (page) => page.press(KEYS.control, KEYS.shift, "a");
const verdict = async (agent) => JSON.parse((await agent.done).out.trim().split("\n")[0]).verdict;
const nothingSent = async (desk, page) => {
  assert.equal(await page.text('[data-testid="sent"]'), null);
  assert.deepEqual((await desk.command("inbox", "--json")).out.trim().split("\n").map((line) => JSON.parse(line).state), ["pending"]);
};

/** How high the arguments' place is, and whether it and the action bar stand whole between the head and the status bar. */
const PLACES = `
  const place = (selector) => document.querySelector(selector).getBoundingClientRect();
  const head = place("[data-testid=card] > header"), body = place("[data-testid=card-body]"), bar = place('[role=toolbar][aria-label=Decide]'), foot = place("footer");
  const order = [0, head.top, head.bottom, body.top, body.bottom, bar.top, bar.bottom, foot.top, foot.bottom, innerHeight];
  return { height: body.height, order, inOrder: order.every((y, at) => at === 0 || y >= order[at - 1] - 1) };`;
const SIZES = [[1_440, 900], [900, 560]];

const roomy = async (page, what) => {
  for (const [width, height] of SIZES) {
    await page.resize(width, height);
    const { height: room, order, inOrder } = await page.run(PLACES);
    assert.ok(inOrder && room >= 96, `${what} at ${width}x${height}: ${room} px for the arguments, ${order.map(Math.round)}`);
  }
};

onDesk("however many words an agent says, its arguments keep their room and the action bar its place", async (desk, page) => {
  const agent = await desk.agent("asks.py", mail(SAID));
  await page.reads("send_mail", '[data-testid="card"] h2');
  await roomy(page, "six long fields");
  assert.equal(await page.run("return document.querySelectorAll('[data-testid=words] [data-testid=said]').length"), 6);
  await desk.armed("send_mail");
  await page.press("a");
  assert.equal(await verdict(agent), "approve");
});

onDesk("a critical call of an agent that fills every field keeps its arguments in the window", async (desk, page) => {
  await desk.agent("asks.py", mail({
    ...SAID, name: `send_${"x".repeat(2_500)}`, risk: `critical, ${"as I was reported ".repeat(60)}`, effects: "irreversible", thread_id: "t".repeat(120), run_id: "r".repeat(120),
    call_id: "c".repeat(120), args: { ...ARGS, password: "hunter2hunter2" }, history: Array.from({ length: 4 }, () => ({ role: "user", content: WORDS })),
  }));
  await page.sees('[data-step="read"]');
  await roomy(page, "everything");
});

onDesk("a tool's long name is seen to its end before its call is approved with one key", async (desk, page) => {
  const name = `look_up_${"x".repeat(2_500)}_and_delete`;
  const agent = await desk.agent("asks.py", mail({ name }));
  await page.sees('[data-step="name"][data-done="false"]');
  await roomy(page, "a long name");
  await page.press("a");
  await until("its end", async () => {
    await page.press(KEYS.tab);
    return page.run("return document.activeElement?.dataset.testid === 'name'");
  });
  await nothingSent(desk, page);
  await page.press(KEYS.end);
  await page.sees('[data-step="name"][data-done="true"]');
  await page.sees('[data-testid="card"][data-armed="true"]');
  await page.press("a");
  assert.equal(await verdict(agent), "approve");
});

onDesk("a card whose arguments were pushed out of the window is disarmed, whatever pushed them", async (desk, page) => {
  const agent = await desk.agent("asks.py", mail());
  for (const pushed of ["[data-testid=card] > header", "[role=toolbar][aria-label=Decide]"]) {
    await desk.armed("send_mail");
    await page.run("const one = document.querySelector(arguments[0]); one.style.flex = 'none'; one.style.maxHeight = 'none'; one.style.height = '2000px'; return 1", pushed);
    await page.sees('[data-testid="card"][data-armed="false"]');
    await page.sees('[data-testid="too-small"]');
    await page.press("a");
    await page.run("document.querySelector(arguments[0]).removeAttribute('style'); return 1", pushed);
  }
  await desk.armed("send_mail");
  await nothingSent(desk, page);
  await page.press("a");
  assert.equal(await verdict(agent), "approve");
});

/** Presses `first`, and Ctrl+Shift+A in the very moment in which `selector` fits something; tells whether the arguments counted as read then. */
const thenAtOnce = async (page, first, selector) => {
  await page.run(`
    const down = (key, chord) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code: "Key" + key.toUpperCase(), ctrlKey: chord, shiftKey: chord, bubbles: true, cancelable: true }));
    window.followed = null;
    const look = () => {
      if (document.querySelector(arguments[1]) === null) return false;
      watch.disconnect();
      const { done } = document.querySelector("[data-step=read]").dataset;
      setTimeout(() => { down("A", true); window.followed = done; }, 0);
      return true;
    };
    const watch = new MutationObserver(look);
    watch.observe(document.body, { subtree: true, attributes: true, childList: true });
    down(arguments[0], arguments[0] === "A");
    return 1;`, first, selector);
  return until("the second key", () => page.run("return window.followed"));
};

onDesk("a key that only led to the end of the arguments is followed by an approval after a while, not at once", async (desk, page) => {
  const text = Array.from({ length: 300 }, (_, line) => `service_${line}: value`).join("\n");
  const agent = await desk.agent("asks.py", mail({ name: "write_file", risk: "high", args: { text } }));
  await page.sees('[data-step="read"][data-done="false"]');
  // Only the way keeps it back, no longer that it has just come.
  await until("it stood still", () => page.run("window.since ??= performance.now(); return performance.now() - window.since > 600"));
  await thenAtOnce(page, "A", '[data-step="read"][data-done="true"]');
  await desk.armed("write_file");
  await nothingSent(desk, page);
  await chord(page);
  assert.equal(await verdict(agent), "approve");
});

onDesk("a value that was hidden disarms its card and is read to its end before it is approved", async (desk, page) => {
  const password = Array.from({ length: 150 }, (_, line) => `line ${line} of the value`).join("\n");
  const agent = await desk.agent("asks.py", mail({ name: "drop_table", risk: "critical", args: { table: "a", password } }));
  await page.sees('[data-step="read"][data-done="true"]');
  await page.type('[aria-label="Type the tool’s name"]', "drop_table");
  await page.press(KEYS.escape);
  assert.equal(await thenAtOnce(page, "v", '[data-step="reveal"][data-done="true"]'), "false", "its end is out of view");
  // The second key led to the end, and no further.
  await page.sees('[data-step="read"][data-done="true"]');
  await desk.armed("drop_table");
  await nothingSent(desk, page);
  await chord(page);
  assert.equal(await verdict(agent), "approve");
});

onDesk("an open menu, list or dialog disarms the card below it", async (desk, page) => {
  const agent = await desk.agent("asks.py", mail(), mail({ name: "later", timeout: 600 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.run("[...document.querySelectorAll('[data-testid=row]')].find((row) => row.textContent.startsWith('later')).click(); return 1");
  await page.reads("later", '[data-testid="card"] h2');
  await page.press("s");
  await page.sees('[data-testid="snooze-panel"]');
  await page.press(KEYS.enter);
  await desk.armed("send_mail");
  const opens = [
    ['[role="menu"]', () => page.click('[aria-label="More"]')],
    ["[data-radix-popper-content-wrapper]", () => page.click('[data-testid="snoozed"]')],
    ['[role="dialog"]', () => page.press("?")],
  ];
  for (const [over, open] of opens) {
    await open();
    await page.sees(over);
    assert.equal(await page.run("return document.querySelector('[data-testid=card]').dataset.armed"), "false", over);
    await page.press("a");
    await page.press(KEYS.escape);
    await page.gone(over);
    await desk.armed("send_mail");
    assert.equal(await page.text('[data-testid="sent"]'), null, over);
  }
  await page.press("a");
  await until("it has run", () => agent.output.out.includes('"send_mail"'));
});
