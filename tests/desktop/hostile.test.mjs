// Agents that write what should not be believed.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS } from "./support/webdriver.mjs";

const EVIL = '<script>window.pwned=1</script><img src=x onerror="window.pwned=2">\u202eevil\u200b<b>bold</b>[x](javascript:alert(1))';

onDesk("a script, an image tag and bidi characters stay text in every field that an agent writes", async (desk, page) => {
  const call = {
    name: `tool ${EVIL}`, description: EVIL, namespace: EVIL, origin: EVIL, args: { [EVIL]: EVIL, list: [EVIL], deep: { [EVIL]: { a: EVIL } } },
    effective: { fixed: { [EVIL]: EVIL }, injected_names: [EVIL], dropped_names: [EVIL] }, native_digest: { alg: EVIL, value: EVIL },
    risk: EVIL, title: EVIL, reason: EVIL, preview: EVIL, run_id: EVIL, thread_id: EVIL, call_id: EVIL,
    history: [{ role: EVIL, content: EVIL }, { role: "user", content: [{ text: EVIL }] }], confirm: { command: EVIL, explanation: EVIL },
  };
  await desk.agent("asks.py", JSON.stringify(call));
  await page.reads("tool <script>", '[data-testid="card"] h2');
  const question = { kind: "question", text: EVIL, context: EVIL, options: [{ key: EVIL, label: EVIL, description: EVIL }], risk: "low", timeout: 30 };
  await desk.agent("asks.py", JSON.stringify(question));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  const harmless = async (where) => {
    assert.equal(await page.run("return window.pwned ?? null"), null, where);
    const tags = "return [...document.querySelectorAll('script, img, b > b, a[href^=javascript], iframe')].map((e) => e.outerHTML).filter((t) => !t.includes('/assets/'))";
    assert.deepEqual(await page.run(tags), [], where);
    const text = await page.run("return document.body.textContent + [...document.querySelectorAll('[title], [aria-label], [placeholder]')].map((e) => e.title + e.ariaLabel + e.placeholder).join()");
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u200b]/, `${where}: no character hides or reorders text`);
  };
  await harmless("card and list");
  const marks = await page.run("return document.querySelectorAll('[data-testid=card] .shown-mark').length");
  assert.ok(marks >= 30, `every field is marked in place (${marks} marks)`);
  assert.ok((await page.run("return document.querySelectorAll('[data-testid=row] .shown-mark').length")) >= 4);
  await page.press("i");
  await page.sees('[data-testid="raw-bytes"]');
  await harmless("bytes as received");
  await page.press(KEYS.escape);
  await page.press("v");
  await page.reads("\\u202e", '[data-testid="card"]');
  await harmless("revealed values");
  await page.press("e");
  await page.reads("\\u202e", ".cm-content");
  await harmless("the editor");
  await page.press(KEYS.escape);
  await page.press("n");
  await page.reads("asks", '[data-testid="card"]');
  await page.press("r");
  await page.sees('[role="radiogroup"]');
  await harmless("a question");
});

onDesk("a message that is no request is listed under Rejected with its code and cannot be approved", async (desk, page) => {
  const json = await desk.agentJson();
  assert.ok(json.endsWith("agent.json"));
  const sent = await desk.agent("sends.py", "bad-1", `{"v":1,${EVIL}`, "bad-2", '{"v":2}');
  const { code, err } = await sent.done;
  assert.equal(code, 0, err);
  await page.press("g");
  await page.press("j");
  await page.sees('[data-testid="rejected-row"][data-code="not_json"]');
  await page.sees('[data-testid="rejected-row"][data-code="bad_version"]');
  await page.press("j");
  await page.reads("not_json", '[data-testid="rejected-detail"] h2');
  await page.reads("<script>", '[data-testid="raw-bytes"]');
  assert.equal(await page.run("return window.pwned ?? null"), null);
  assert.equal(await page.text('[data-testid="approve"]'), null);
  await page.press("g");
  await page.press("q");
  await page.reads("0 waiting", '[data-testid="waiting"]');
});

onDesk("nothing on the page breaks the content policy, and no other place can be reached from it", async (desk, page) => {
  await page.run("window.broken = []; document.addEventListener('securitypolicyviolation', (e) => window.broken.push(e.violatedDirective + ' ' + e.blockedURI)); return 1");
  for (const keys of [["?"], [KEYS.escape], [KEYS.control, "k"], [KEYS.escape]]) await page.press(...keys);
  await page.sees('[data-testid="empty"]');
  await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { a: 1 }, risk: "medium" }));
  await desk.armed("pay");
  await page.press("e");
  await page.reads('"a"', ".cm-content");
  assert.deepEqual(await page.run("return window.broken"), []);
  const reached = await page.run("return fetch('https://example.com').then(() => 'reached', () => 'refused')").catch(() => "refused");
  assert.equal(reached, "refused");
  await page.run("const s = document.createElement('script'); s.textContent = 'window.inline = 1'; document.body.append(s); return 1");
  assert.equal(await page.run("return window.inline ?? null"), null);
});
