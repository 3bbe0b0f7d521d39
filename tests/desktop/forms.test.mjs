// Forms and options, answered by the keyboard alone.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const lines = (output) => output.out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
const EVIL = '<script>window.pwned=1</script><img src=x onerror="window.pwned=2">\u202eevil\u200b **b** [x](javascript:alert(1))';

const SCHEMA = {
  type: "object",
  title: "Refund",
  required: ["way", "mail", "amount", "sure"],
  properties: {
    way: { title: "How", enum: ["card", "bank"] },
    mail: { type: "string", format: "email", description: "where the receipt goes" },
    amount: { type: "integer", minimum: 1 },
    sure: { type: "boolean", default: true },
    tags: { type: "array", items: { type: "string" } },
    note: { type: "string", default: "as agreed" },
  },
};

/** What breaks the content policy, and what the page complains of, from here on. */
const watched = (page) => page.run(
  "window.broken = []; document.addEventListener('securitypolicyviolation', (e) => window.broken.push(e.violatedDirective + ' ' + e.blockedURI));" +
    "window.addEventListener('error', (e) => window.broken.push(e.message)); const { error } = console; console.error = (...words) => { window.broken.push(words.join(' ')); error(...words); }; return 1",
);
const focused = (page) => page.run(
  "const e = document.activeElement; return document.querySelector(`label[for=\"${e.id}\"]`)?.textContent ?? e.closest('[role=radiogroup], [role=group]')?.parentElement.textContent ?? e.textContent",
);
const reaches = (page, text) => until(`the keyboard is at ${text}`, async () => (await focused(page)).includes(text));
const reported = (page, text) => page.run("return document.body.textContent.split(arguments[0]).length - 1", text);

onDesk("a form is answered by the keyboard alone, nothing of it unasked, and nothing breaks the content policy", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ kind: "form", title: "Refund", response_schema: SCHEMA }));
  await page.reads("Refund", '[data-testid="card"]');
  await watched(page);
  await page.press("r");
  await reaches(page, "How");
  await page.press(KEYS.control, KEYS.enter);
  await until("every required field is asked for", async () => (await reported(page, "Required.")) === 4);
  await page.press(" ");
  await page.press(KEYS.tab);
  await reaches(page, "mail");
  for (const letter of "ana at example") await page.press(letter);
  await page.press(KEYS.tab);
  await reaches(page, "amount");
  await page.press("7");
  await page.press(KEYS.tab);
  await reaches(page, "sure");
  await page.press(" ");
  await until("what was filled in is no longer asked for", async () => (await reported(page, "Required.")) === 0);
  await page.press(KEYS.control, KEYS.enter);
  await reaches(page, "mail");
  await until("the error is reported once", async () => (await reported(page, "email")) >= 1);
  const wrong = await page.run("const e = document.activeElement; return document.getElementById(e.getAttribute('aria-describedby').split(' ')[1])?.textContent");
  assert.match(wrong, /email/);
  assert.equal(await reported(page, wrong), 1, "once, beside its field");
  await page.press(KEYS.control, "a");
  for (const letter of "ana@example.com") await page.press(letter);
  await until("the error goes when it is corrected", async () => (await reported(page, wrong)) === 0);
  assert.equal(agent.output.out, "", "nothing was sent so far");
  await page.press(KEYS.control, KEYS.enter);
  const { code, out, err } = await agent.done;
  assert.equal(code, 0, err);
  const { verdict, response } = lines({ out })[0];
  

  assert.deepEqual([verdict, response.content], ["respond", { way: "card", mail: "ana@example.com", amount: 7, sure: true, note: "as agreed" }]);
  assert.deepEqual(await page.run("return window.broken"), []);
});

onDesk("what an agent writes into a form stays text, and what fields cannot show is answered as JSON", async (desk, page) => {
  const field = { title: EVIL, description: EVIL, default: EVIL };
  const schema = {
    type: "object", title: EVIL, description: EVIL,
    properties: {
      [EVIL]: { ...field, type: "string", pattern: EVIL }, pick: { ...field, oneOf: [{ const: EVIL, title: "fine" }, { const: 2, title: EVIL }] },
      many: { ...field, enum: [EVIL, ...Array.from({ length: 9 }, (_, at) => `${at} ${EVIL}`)] }, list: { ...field, type: "array", items: { ...field, type: "string" } },
    },
  };
  await desk.agent("asks.py", JSON.stringify({ kind: "form", title: EVIL, response_schema: schema }));
  await page.reads("What the form asks for", '[data-testid="card"]');
  await watched(page);
  await page.press("r");
  await page.sees('section[aria-label="Answer"] select');
  const text = await page.run("return document.body.textContent + [...document.querySelectorAll('input, [title], [aria-label], [placeholder]')].map((e) => e.value + e.title + e.ariaLabel + e.placeholder).join()");
  assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u200b]/, "no character hides or reorders text");
  assert.deepEqual(await page.run("return [...document.querySelectorAll(':is([aria-label=Answer], [data-testid=card-body]) :is(script, img, a[href^=javascript], em, strong)')].map((e) => e.outerHTML)"), []);
  assert.equal(await page.run("return window.pwned ?? null"), null);
  assert.deepEqual(await page.run("return window.broken"), []);
  await page.press(KEYS.escape);
  await desk.agent("asks.py", JSON.stringify({ kind: "form", title: "odd", response_schema: { type: "object", required: ["a"], not: { required: ["b"] } }, timeout: 40 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await page.reads("odd", '[data-testid="card"]');
  await page.press("r");
  await page.reads("This form is answered as JSON: it uses `not`.", 'section[aria-label="Answer"]');
  await page.press(KEYS.control, KEYS.enter);
  await page.reads("required", '[data-testid="answer-problems"]');
});

onDesk("a digit chooses an option of a question and sends nothing", async (desk, page) => {
  const options = [{ key: "a", label: "The first" }, { key: "b", label: "The second" }];
  const agent = await desk.agent("asks.py", JSON.stringify({ kind: "question", text: "Which one?", options }));
  await page.reads("Which one?", '[data-testid="card"]');
  await page.press("1");
  await page.sees('[role="radiogroup"]');
  await page.press("2");
  await until("the second is chosen", () => page.run("return document.activeElement.checked && document.activeElement.closest('label').textContent.startsWith('The second')"));
  assert.equal(agent.output.out, "");
  await page.press(KEYS.enter);
  assert.deepEqual(lines(await agent.done)[0].response, { content: "The second", selected_key: "b" });
});
