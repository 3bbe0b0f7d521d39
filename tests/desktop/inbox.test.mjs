// Several calls at once, cards that are put off, and the settings of the window, at the real window.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const push = (branch, timeout) => JSON.stringify({ name: "git.push", args: { branch }, risk: "medium", timeout });
const pending = async (desk) => (await desk.command("inbox", "--json")).out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));

onDesk("one key answers the calls that were selected with X, Shift+J and Shift+K, and no other", async (desk, page) => {
  const agent = await desk.agent("asks.py", push("one", 60), JSON.stringify({ name: "pay", args: {}, risk: "medium", timeout: 65 }), push("two", 70), push("three", 75));
  await page.reads("4 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await page.reads("one", '[data-testid="card"]');
  await page.press("x");
  await page.sees('[data-testid="batch"][data-count="1"]');
  await page.press(KEYS.shift, "j");
  await page.sees('[data-testid="batch"][data-count="2"]');
  await page.press(KEYS.shift, "j");
  await page.sees('[data-testid="batch"][data-count="3"]');
  assert.doesNotMatch(await page.text('[data-testid="batch"]'), /pay/, "a call of another tool is passed over");
  // Back to the second, and out with it.
  await page.press(KEYS.shift, "k");
  await page.press("x");
  await page.sees('[data-testid="batch"][data-count="2"]');
  await page.sees('[data-testid="batch"][data-armed="true"]');
  await page.press("a");
  await until("two have run", () => agent.output.out.trim().split("\n").length === 2);
  const ran = agent.output.out.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(ran.map((line) => [line.verdict, line.ran.branch]).toSorted(), [["approve", "one"], ["approve", "three"]]);
  assert.deepEqual((await pending(desk)).map((row) => row.tool).toSorted(), ["git.push", "pay"]);
});

onDesk("a snoozed card is hidden here alone, also after the window was loaded again, until it is called back", async (desk, page) => {
  const agent = await desk.agent("asks.py", push("soon", 600), push("later", 900));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await page.reads("soon", '[data-testid="card"]');
  await page.press("s");
  await page.reads("5 minutes", '[data-testid="snooze-panel"] button');
  await page.press(KEYS.enter);
  await page.reads("1 snoozed", '[data-testid="snoozed"]');
  await page.reads("1 waiting", '[data-testid="waiting"]');
  await page.run("location.reload(); return 1");
  await page.reads("1 snoozed", '[data-testid="snoozed"]');
  await page.reads("later", '[data-testid="card"]');
  assert.deepEqual([(await pending(desk)).length, agent.output.out], [2, ""], "nothing is decided, and others see it as ever");
  await page.click('[data-testid="snoozed"]');
  await until("it can be called back", () => page.run("const found = [...document.querySelectorAll('button')].find((b) => b.textContent === 'Back now'); found?.click(); return found !== undefined"));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  assert.equal(await page.text('[data-testid="snoozed"]'), null);
});

onDesk("settings of the window act at once and are kept: without single keys no letter approves", async (desk, page) => {
  await desk.agent("asks.py", push("main", 60));
  await desk.armed("git.push");
  await page.press("g");
  await page.press(",");
  await page.reads("The console’s own, on this machine", 'main[aria-label="Settings"]');
  await page.click('[data-testid="setting-theme"] label:nth-child(3)');
  const theme = () => page.run("return document.documentElement.dataset.theme");
  await until("the light theme", async () => (await theme()) === "light");
  await page.click('[data-testid="setting-singleKeys"] label:nth-child(2)');
  await page.reads("Single keys are off", "footer");
  await page.run("location.hash = '#/'; location.reload(); return 1");
  await desk.armed("git.push");
  assert.equal(await theme(), "light");
  await page.press("a");
  // What has Ctrl still acts: the letter before it was heard, too.
  await page.press(KEYS.control, "k");
  await page.sees('[role="dialog"]');
  await page.press(KEYS.escape);
  assert.equal(await page.text('[data-testid="sent"]'), null);
  assert.equal((await pending(desk))[0].state, "pending");
});

onDesk("a call outside the active skill's tools is flagged on its card with both names", async (desk, page) => {
  const digest = `sha256:${createHash("sha256").update("{}").digest("hex")}`;
  const request = {
    v: 1, kind: "tool_call", request_id: "outside", workspace: "default", agent: { name: "local" }, tool: { name: "send_mail" }, args: {}, args_digest: digest,
    risk: "medium", allowed_verdicts: ["approve", "deny"], skill: { name: "invoicing", allowed_tools: ["read_mail"] },
    requested_at: "2026-11-21T12:00:00.000Z", expires_at: "2026-11-21T12:01:00.000Z",
  };
  const sent = await desk.agent("sends.py", "outside", JSON.stringify(request));
  assert.equal((await sent.done).code, 0, sent.output.err);
  await desk.armed("send_mail");
  await page.reads("The active skill does not list send_mail among the tools that it may call: invoicing", '[data-warning="outside_skill"]');
});

onDesk("in a narrow window the approval stays at its end of the bar and never stands under the denial", async (desk, page) => {
  // Asked by the command line: it may also be answered, which takes one button more.
  desk.ask("pay", { to: "ada" });
  await page.reads("pay", '[data-testid="card"] h2');
  await page.sees('[role="toolbar"][aria-label="Decide"] [data-testid="approve"]');
  for (const width of [1_440, 1_000, 900]) {
    const [deny, approve, bar] = await page.run(`
      document.getElementById("root").style.width = arguments[0] + "px";
      const bar = document.querySelector('[role="toolbar"][aria-label="Decide"]'), place = (element) => { const { left, right } = element.getBoundingClientRect(); return { left, right }; };
      return [bar.querySelector("button"), bar.querySelector('[data-testid="approve"]'), bar].map(place);`, width);
    assert.ok(approve.left > deny.right, `${width}: the approval begins at ${approve.left}, the denial ends at ${deny.right}`);
    assert.ok(bar.right - approve.right < 40, `${width}: the approval ends at ${approve.right}, the bar at ${bar.right}`);
  }
});
