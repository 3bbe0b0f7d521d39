// What the console points at, in the real window: in the list, above the arguments, beside the value; and what a stop opens.
import assert from "node:assert/strict";
import { violations } from "./support/axe.mjs";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const mail = (to) => JSON.stringify({ name: "send_mail", risk: "low", timeout: 120, reason: "As agreed.", args: { to, subject: "Delivery", body: "Dear Ada,\nthe goods leave on Friday." } });
const KNOWN = "ada@nordwind-logistik.example";
const NEAR = "ada@nordwind-logistek.example";
const SAYS = "Stop: nordwind-logistek.example is one letter from nordwind-logistik.example";
const lines = ({ out }) => out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Where it is marked, from above, and the letters that are. */
const MARKED = `
  const top = (selector) => document.querySelector("[data-testid=card] " + selector)?.getBoundingClientRect().top ?? NaN;
  return {
    order: [top("[data-testid=findings]"), top("[data-mark=near_miss]"), top("[data-testid=words]")],
    beside: document.querySelector("[data-mark=near_miss]")?.closest("tr, li, [role=row], dd, div")?.textContent ?? "",
    letters: [...document.querySelectorAll("[data-letters]")].map((one) => one.textContent),
  };`;

onDesk("a stop is marked in the list, above the arguments and beside its value, and only the high way approves it", async (desk, page) => {
  const waiting = async () => lines(await desk.command("inbox", "--json"));
  const known = await desk.agent("asks.py", mail(KNOWN));
  const [{ request_id: id }] = await until("it waits", async () => { const rows = await waiting(); return rows.length > 0 && rows; });
  assert.equal((await desk.command("approve", id)).code, 0);
  await known.done;

  const good = await desk.agent("asks.py", mail(KNOWN));
  await page.reads("1 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await desk.armed("send_mail");
  assert.equal(await page.run("return document.querySelector('[data-finding], [data-mark], [data-row-mark]') === null"), true);
  const near = await desk.agent("asks.py", mail(NEAR));
  const marks = await until("its row is marked", () => page.run("const all = [...document.querySelectorAll('[data-testid=row] [data-row-mark]')]; return all.length > 0 && all.map((one) => [one.dataset.rowMark, one.dataset.weight, one.title, one.querySelector('.sr-only').textContent])"));
  assert.equal(marks.length, 1, "the other row has none");
  const [[code, weight, title, heard]] = marks;
  assert.deepEqual([code, weight, heard], ["near_miss", "stop", title]);
  assert.ok(title.startsWith(SAYS), title);

  await page.press("a");
  assert.equal(JSON.parse((await good.done).out.trim().split("\n")[0]).verdict, "approve");
  await page.sees('[data-testid="card"] [data-finding="near_miss"]');
  await desk.armed("send_mail");
  assert.ok((await page.text('[data-testid="findings"]')).startsWith(SAYS));
  const { order, beside, letters } = await page.run(MARKED);
  assert.deepEqual(order, order.toSorted((a, b) => a - b));
  assert.ok(order.every(Number.isFinite), `${order}`);
  assert.ok(beside.includes(NEAR), beside);
  assert.ok(letters.length > 0 && letters.every((one) => one.length <= 2), `${letters}`);
  assert.deepEqual(await violations(page), []);

  await page.press("a");
  await page.press(KEYS.enter);
  assert.equal(await page.run("return document.querySelector('[data-testid=card]').dataset.state"), "pending");
  assert.deepEqual((await waiting()).map(({ state }) => state), ["pending"]);
  await page.press(KEYS.control, KEYS.shift, "a");
  assert.equal(JSON.parse((await near.done).out.trim().split("\n")[0]).verdict, "approve");
});
