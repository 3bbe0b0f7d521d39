// No rule takes over a critical or irreversible call before a person has taken the steps of one.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { until } from "./support/webdriver.mjs";

const call = (more = {}) => JSON.stringify({ name: "drop_table", args: { table: "invoices", password: "hunter2hunter2" }, risk: "critical", timeout: 300, thread_id: "T1", ...more });
const states = async (desk) => (await desk.command("rules", "list", "--json")).out.trim().split("\n").filter(Boolean).map((line) => [JSON.parse(line).id, JSON.parse(line).enabled]);

/** What the console answers to a page that leaves the dialogs out. */
const ask = async (page, name, args) => {
  await page.run(
    "window.answered = null; window.__TAURI_INTERNALS__.invoke('call', { name: arguments[0], args: arguments[1] }).then((ok) => { window.answered = { ok }; }, (failed) => { window.answered = { failed }; }); return 1",
    name, args,
  );
  return until("an answer", () => page.run("return window.answered"));
};
const click = (page, part, text) =>
  until(`the button ${text}`, () => page.run(
    "const button = [...document.querySelectorAll(arguments[0] + ' button, ' + arguments[0] + ' a')].find((one) => one.textContent.startsWith(arguments[1]) && !one.disabled); button?.click(); return button !== undefined", part, text,
  ));
const isOff = (page) => page.run("return document.querySelector('[data-testid=steps-yes]').disabled");

for (const [kind, more] of [["critical", {}], ["irreversible", { risk: "low", effects: "irreversible" }]])
  onDesk(`a rule from a ${kind} card starts in shadow, and is enabled after the same steps only`, async (desk, page) => {
    const agent = await desk.agent("asks.py", call(more));
    await page.reads("invoices", '[data-testid="card"]');
    const other = await desk.agent("asks.py", call({ ...more, thread_id: "T2", timeout: 400, args: { table: "customers" } }));
    await page.reads("2 waiting", '[data-testid="waiting"]');
    await page.press("p");
    await page.reads('enabled = "shadow"', '[data-testid="grant"] .cm-content');
    await page.sees('[data-testid="preview-words"]');
    assert.equal(await page.text('[data-testid="rule-enable"]'), null);
    await click(page, '[data-testid="grant"]', "Run in shadow");
    await page.reads("runs in shadow", '[data-testid="grant-done"]');
    assert.deepEqual(await states(desk), [["drop-table", "shadow"]]);
    await click(page, '[data-testid="grant"]', "See the rule");
    await page.sees('[data-testid="rule"][data-id="drop-table"]');

    // The page is not believed: without the steps, or with a wrong word, nothing is enabled.
    const { ok } = await ask(page, "rule_text", { workspace: "default", id: "drop-table" });
    const whole = { workspace: "default", text: ok.text, state: "on", seenVersion: 1, sure: true, acceptLimits: true, acceptDenied: true, acceptWaiting: [] };
    const { ok: refused } = await ask(page, "save_rule", whole);
    assert.deepEqual([refused.version, typeof refused.steps], [null, "string"]);
    const { ok: known } = await ask(page, "card", { key: refused.steps });
    const steps = { key: refused.steps, seenRequestDigest: known.origin.requestDigest, typed: "drop_table", revealed: [0] };
    for (const wrong of [{ typed: "drop_tabl" }, { typed: null }, { revealed: [] }, { seenRequestDigest: "sha256:0" }, { key: "default/local/another" }]) {
      const answer = await ask(page, "save_rule", { ...whole, steps: { ...steps, ...wrong } });
      assert.ok(answer.failed !== undefined || answer.ok.version === null, JSON.stringify([wrong, answer]));
    }
    // A wide rule would take over another waiting call, which nobody has looked at.
    const wide = 'id = "wide"\nenabled = true\neffect = "approve"\nexpires_at = "2099-01-01T00:00:00Z"\ntool = ["drop_table"]\nrisk = ["low", "critical"]\n';
    const newest = { ...whole, text: wide, seenVersion: null };
    const first = (await ask(page, "save_rule", newest)).ok.steps;
    const { ok: shown } = await ask(page, "card", { key: first });
    const done = { key: first, seenRequestDigest: shown.origin.requestDigest, typed: "drop_table", revealed: shown.reveals.map(({ reveal }) => reveal) };
    const listed = (await ask(page, "save_rule", { ...newest, steps: done })).ok.waiting.keys;
    assert.equal(listed.length, 2);
    const { failed } = await ask(page, "save_rule", { ...newest, steps: done, acceptWaiting: listed });
    assert.match(failed.message, /decide it first/);
    assert.deepEqual(await states(desk), [["drop-table", "shadow"]]);

    // Before its simulation has ended it would ask about that first.
    await until("the simulation", async () => (await page.text('[data-testid="rule-enable"]')) === "Enable");
    await click(page, '[data-testid="rule"]', "Enable");
    await page.sees('[data-testid="steps"] [data-step="read"][data-done="true"]');
    assert.equal(await isOff(page), true);
    await click(page, '[data-testid="steps"]', "Reveal what is hidden");
    await page.reads("is exactly", '[data-testid="steps"]');
    await page.type('[data-testid="steps"] input', "drop_tabl");
    assert.equal(await isOff(page), true);
    await page.type('[data-testid="steps"] input', "e");
    await until("all steps", async () => !(await isOff(page)));
    await click(page, '[data-testid="steps"]', "Enable");
    await page.reads("invoices", '[data-testid="waiting-calls"]');
    await page.click('[data-testid="confirm-yes"]');
    assert.equal(JSON.parse((await agent.done).out.trim()).verdict, "approve");
    assert.deepEqual(await states(desk), [["drop-table", true]]);
    assert.equal(other.output.out, "");
  }, { fresh: true });
