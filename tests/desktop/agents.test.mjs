// Who is there, and what holds them back, in the real window.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Desk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const onDesk = (name, work) =>
  test(name, { timeout: 90_000 }, async () => {
    const desk = await Desk.open();
    try {
      await work(desk, desk.browser);
    } finally {
      await desk.close();
    }
  });

const button = async (page, text) => {
  await until(`the button ${text}`, () => page.run("return [...document.querySelectorAll('[data-testid=brake-bar] button')].some((b) => b.textContent.startsWith(arguments[0]) && !b.disabled)", text));
  await page.run("[...document.querySelectorAll('[data-testid=brake-bar] button')].find((b) => b.textContent.startsWith(arguments[0])).click(); return 1", text);
  await page.sees('[data-testid="confirm"]');
};

onDesk("an agent that asks is live; a pause is told everywhere, and a stop ends what waits", async (desk, page) => {
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
  assert.equal(await page.text('[data-testid="brake"]'), null);
  await button(page, "Pause");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("paused by maria", '[data-testid="brake"]');
  await page.reads("Paused by maria", '[data-testid="brake-bar"]');
  await button(page, "Stop");
  await page.click('[data-testid="confirm-yes"]');
  await page.reads("stopped by maria", '[data-testid="brake"]');
  const { out } = await agent.done;
  assert.match(JSON.parse(out.trim()).verdict, /terminate|deny/);
  await button(page, "Resume");
  await page.click('[data-testid="confirm-yes"]');
  await until("the brake is gone", async () => (await page.text('[data-testid="brake"]')) === null);
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
