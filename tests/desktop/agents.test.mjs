// Who is there, and what holds them back, in the real window.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const button = async (page, text) => {
  await until(`the button ${text}`, () => page.run("return [...document.querySelectorAll('[data-testid=control-bar] button')].some((b) => b.textContent.startsWith(arguments[0]) && !b.disabled)", text));
  await page.run("[...document.querySelectorAll('[data-testid=control-bar] button')].find((b) => b.textContent.startsWith(arguments[0])).click(); return 1", text);
  await page.sees('[data-testid="confirm"]');
};

onDesk("an agent that asks is live; a pause is reported everywhere, and a stop ends what waits", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { to: "ada" }, risk: "medium" }));
  await desk.armed("pay");
  await page.press("g");
  await page.press("a");
  await page.sees('[data-testid="agent-row"][data-presence="live"]');
  await page.reads("default/local", '[data-testid="agent-row"]');
  await button(page, "Pause");
  // Enter takes the way out: the focus starts there.
  await page.press(KEYS.enter);
  await until("the question is gone", async () => (await page.text('[data-testid="confirm"]')) === null);
  assert.equal(await page.text('[data-testid="control"]'), null);
  await button(page, "Pause");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("paused by maria", '[data-testid="control"]');
  await page.reads("Paused by maria", '[data-testid="control-bar"]');
  await button(page, "Stop");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("stopped by maria", '[data-testid="control"]');
  const { out } = await agent.done;
  assert.match(JSON.parse(out.trim()).verdict, /terminate|deny/);
  await button(page, "Resume");
  await page.click('[data-testid="confirm-yes"]');
  await until("the pause is gone", async () => (await page.text('[data-testid="control"]')) === null);
});

onDesk("panic is on with one chord, shown everywhere, and off only after one more question", async (desk, page) => {
  await page.press(KEYS.control, KEYS.shift, ".");
  await page.reads("Panic is on", '[data-testid="panic-dialog"]');
  await page.press(KEYS.escape);
  await page.reads("Panic, by maria", '[data-testid="panic"]');
  const { out } = await desk.command("status", "--json");
  assert.match(out, /"panic":\s*(true|\{)/);
  await page.press(KEYS.control, KEYS.shift, ".");
  await page.sees('[data-testid="confirm"]');
  await page.click('[data-testid="confirm-yes"]');
  await until("panic is off", async () => (await page.text('[data-testid="panic"]')) === null);
});

const low = (name) => JSON.stringify({ name, args: {}, risk: "low", timeout: 60 });

onDesk("a timed bypass lets what waits up to its risk run, is reported with its end, and is over with one click", async (desk, page) => {
  const first = await desk.agent("asks.py", low("read"), JSON.stringify({ name: "pay", args: {}, risk: "medium", timeout: 60 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("g");
  await page.press("a");
  await page.sees('[data-testid="agent-row"]');
  await button(page, "Bypass");
  assert.equal(await page.run("return document.querySelector('[data-testid=bypass-risk]').value"), "low");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("1 bypass until", '[data-testid="bypass"]');
  assert.match(await page.run("return document.querySelector('[data-testid=bypass]').title"), /^Bypass: default\/local, up to low, until/);
  await page.reads("by maria", '[data-testid="agent-bypass"]');
  await until("the low call runs", () => first.output.out.includes('"asked": "read", "verdict": "approve"'));
  assert.doesNotMatch(first.output.out, /pay/, "a call beyond its risk goes on to wait");
  const { out } = await desk.command("history", "--json");
  const line = out.trim().split("\n").map((text) => JSON.parse(text)).find((row) => row.tool === "read");
  assert.match(JSON.stringify(line), /bypass/, "the call is recorded under it");
  await until("the bypass can be ended", () => page.run(
    "const found = [...document.querySelectorAll('[data-testid=control-bar] button')].find((b) => b.textContent.startsWith('End')); found?.click(); return found !== undefined",
  ));
  await until("the bypass is over", async () => (await page.text('[data-testid="bypass"]')) === null);
  await desk.agent("asks.py", low("read_again"));
  await page.press("g");
  await page.press("q");
  await page.reads("2 waiting", '[data-testid="waiting"]');
});

onDesk("a tool that breaks its strict mode is flagged with the path, one that runs elsewhere as beyond any gate, and a missing credential is reported", async (desk, page) => {
  await desk.agent("tells.py", "60");
  await page.press("g");
  await page.press("a");
  await page.reads("search_docs", '[data-testid="agent"]');
  const tool = (name) => page.run("return [...document.querySelectorAll('[data-testid=tool]')].find((tool) => tool.textContent.startsWith(arguments[0])).textContent", name);
  assert.match(await tool("search_docs"), /not strict at \/tools\/2\/args_schema: additionalProperties is not false.*not strict at \/tools\/2\/args_schema\/properties\/limit: not listed in required/);
  assert.doesNotMatch(await tool("pay_invoice"), /not strict/);
  assert.doesNotMatch(await tool("crm.lookup"), /not strict/, "it does not say that it is strict");
  assert.match(await tool("web_search"), /cannot be gated/);
  await page.reads("STRIPE_SECRET_KEY", '[data-testid="agent"]');
});
