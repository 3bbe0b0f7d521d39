// One person at the real window, real agents on the real bus.
import assert from "node:assert/strict";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const lines = (output) => output.out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
const rung = (name) => `[data-testid="ladder"] [data-rung="${name}"]`;

onDesk("a card that is approved with the key lets the agent run its tool, and the ladder shows it", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "send_mail", args: { to: "ada@acme.example" }, risk: "medium" }));
  await desk.armed("send_mail");
  await page.press("a");
  await page.reads("held, not sent", '[data-testid="sent"]');
  assert.equal((await page.text("body")).includes("pproved"), false, "nothing says approved before the acknowledgement");
  const { code, out, err } = await agent.done;
  assert.equal(code, 0, err);
  assert.deepEqual(lines({ out }), [{ asked: "send_mail", verdict: "approve", ran: { to: "ada@acme.example" } }]);
  await page.sees(`${rung("executed")}[data-state="done"]`);
  assert.match(await page.text('[data-testid="decision"]'), /approved by you/i);
});

onDesk("a denial with its reason reaches the model, and the tool does not run", async (desk, page) => {
  const agent = await desk.agent("model.py");
  await page.reads("send_mail", '[data-testid="card"] h2');
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.type('[aria-label="Reason for the agent"]', "Ada has left; write to Grace instead");
  await page.press(KEYS.enter);
  const { code, out, err } = await agent.done;
  assert.equal(code, 0, err);
  assert.match(out, /model_reads.*Ada has left; write to Grace instead/);
  assert.doesNotMatch(out, /"ran"/);
});

onDesk("an edit is compared first and runs the edited arguments", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { to: "ada", amount: 1180, api_key: "sk-aaaabbbbccccdddd" }, risk: "medium" }));
  await desk.armed("pay");
  await page.press("e");
  await page.reads("1180", ".cm-content");
  assert.equal((await page.text("body")).includes("sk-aaaa"), false, "the editor shows no hidden value");
  await page.run(`const text = document.querySelector(".cm-content");
    const line = [...text.querySelectorAll(".cm-line")].find((line) => line.textContent.includes("1180"));
    const range = document.createRange(); const node = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let place; while ((place = node.nextNode())) { const at = place.data.indexOf("1180");
      if (at >= 0) { range.setStart(place, at); range.setEnd(place, at + 4); } }
    text.focus(); getSelection().removeAllRanges(); getSelection().addRange(range); return true;`);
  for (const digit of "18") await page.press(digit);
  await page.reads('"amount": 18', ".cm-content");
  await page.press(KEYS.control, KEYS.enter);
  await page.reads("1180", '[data-testid="diff"] [data-kind="old"]');
  await page.reads("18", '[data-testid="diff"] [data-kind="new"]');
  await page.sees('[data-testid="card"][data-armed="true"]');
  await page.press("a");
  const { code, out, err } = await agent.done;
  assert.equal(code, 0, err);
  assert.deepEqual(lines({ out }), [{ asked: "pay", verdict: "modify", ran: { to: "ada", amount: 18, api_key: "sk-aaaabbbbccccdddd" } }]);
});

onDesk("an edit that is no JSON of the protocol is refused in place", async (desk, page) => {
  await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { amount: 1 }, risk: "medium" }));
  await desk.armed("pay");
  await page.press("e");
  await page.sees(".cm-content");
  await page.press(KEYS.control, "a");
  for (const key of '{"amount": 1, "amount": 2}') await page.press(key);
  await page.press(KEYS.control, KEYS.enter);
  await page.reads("The agent would refuse this", '[data-testid="edit-problems"]');
  assert.equal(await page.text('[data-testid="diff"]'), null);
});

onDesk("typing goes on after a pause at a mistake, and what was typed outlives a look at the card", async (desk, page) => {
  await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { amount: 1 }, risk: "medium" }));
  await desk.armed("pay");
  await page.press("e");
  await page.sees(".cm-content");
  await page.press(KEYS.control, "a");
  for (const key of '{"amount":') await page.press(key);
  await page.reads("Line 1", '[data-testid="edit-problems"]');
  await page.press("9");
  await page.reads('{"amount":9', ".cm-content");
  await page.press(KEYS.escape);
  await desk.armed("pay");
  await page.press("e");
  await page.reads('{"amount":9', ".cm-content");
});

onDesk("Enter, Space and digits approve nothing, wherever the focus is", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: {}, risk: "low", timeout: 30 }));
  await desk.armed("pay");
  for (const focus of ["document.body", "document.querySelector('[data-testid=approve]')", "document.querySelector('[role=listbox]')"]) {
    await page.run(`document.activeElement?.blur(); ${focus}.focus(); return true;`);
    for (const key of [KEYS.enter, KEYS.space, "1", "9"]) await page.press(key);
  }
  const { out } = await desk.command("inbox", "--json");
  assert.equal(JSON.parse(out.trim().split("\n")[0]).state, "pending");
  assert.equal(await page.text('[data-testid="sent"]'), null);
  await page.run("document.activeElement?.blur(); return true;");
  await page.press("a");
  assert.equal((await agent.done).code, 0);
});

onDesk("G A goes to the agents and approves nothing, however the two keys fall", async (desk, page) => {
  await desk.agent("asks.py", JSON.stringify({ name: "pay", args: {}, risk: "low", timeout: 60 }));
  const waits = async () => JSON.parse((await desk.command("inbox", "--json")).out.trim().split("\n")[0]).state;
  const later = async (ms) => {
    const from = await page.run("return performance.now()");
    await until(`${ms} ms of the page`, () => page.run("return performance.now() > arguments[0]", from + ms));
  };
  const ways = [
    ["just after the window gained focus", async () => { await page.run("window.dispatchEvent(new FocusEvent('focus')); return true;"); await page.press("g"); await later(500); }],
    ["slowly", async () => { await page.press("g"); await later(2_000); }],
    ["in capitals", () => page.press(KEYS.shift, "g")],
  ];
  for (const [way, begin] of ways) {
    await desk.armed("pay");
    await begin();
    assert.equal(await page.text('[data-testid="open-sequence"]'), "G …", way);
    await page.press("a");
    await page.sees('[data-testid="agent"]');
    assert.equal(await page.text('[data-testid="open-sequence"]'), null);
    assert.equal(await waits(), "pending", way);
    for (const key of "gq") await page.press(key);
  }
  await desk.armed("pay");
  for (const key of "gxa") await page.press(key);
  await page.reads("held, not sent", '[data-testid="sent"]');
}, { fresh: true });

onDesk("a held approval is taken back with Z and is not sent", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: {}, risk: "low" }));
  await desk.armed("pay");
  await page.press("a");
  await page.sees('[data-testid="sent"] [data-state="holding"]');
  await page.press("z");
  await page.sees('[data-testid="sent"] [data-state="undone"]');
  await desk.armed("pay");
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.press(KEYS.enter);
  const { out } = await agent.done;
  assert.equal(lines({ out })[0].verdict, "deny");
});

onDesk("a high call asks to be read to its end and for the chord", async (desk, page) => {
  const text = Array.from({ length: 200 }, (_, line) => `line ${line}`).join("\n");
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "write_file", args: { path: "/etc/hosts", text }, risk: "high" }));
  await page.reads("write_file", '[data-testid="card"] h2');
  await page.sees('[data-step="read"][data-done="false"]');
  await new Promise((done) => setTimeout(done, 600));
  await page.press("a");
  assert.equal(await page.text('[data-testid="sent"]'), null);
  await page.press(KEYS.control, KEYS.shift, "a");
  await page.sees('[data-step="read"][data-done="true"]');
  assert.equal(await page.text('[data-testid="sent"]'), null, "the first chord only led to the end");
  await desk.armed("write_file");
  await page.press(KEYS.control, KEYS.shift, "a");
  assert.equal((await agent.done).code, 0);
});

onDesk("an irreversible call asks for its name, letter by letter", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "delete_invoice", args: { invoice_id: "INV-42" }, risk: "high", effects: "irreversible" }));
  await page.reads("delete_invoice", '[data-testid="card"] h2');
  await page.sees('[data-step="type"][data-done="false"]');
  await page.press(KEYS.control, KEYS.shift, "a");
  assert.equal(await page.text('[data-testid="sent"]'), null);
  await page.type('[aria-label="Type the tool’s name"]', "delete_invoice");
  await page.sees('[data-step="type"][data-done="true"]');
  await desk.armed("delete_invoice");
  await page.press(KEYS.control, KEYS.shift, "a");
  const { out } = await agent.done;
  assert.deepEqual(lines({ out })[0].ran, { invoice_id: "INV-42" });
});

onDesk("a question is answered by an option", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({
    kind: "question", text: "Which one?", options: [{ key: "a", label: "The first" }, { key: "b", label: "The second" }],
  }));
  await page.reads("Which one?", '[data-testid="card"]');
  await page.press("r");
  await page.sees('[role="radiogroup"]');
  await page.click('[role="radiogroup"] label:nth-child(2)');
  await page.press(KEYS.enter);
  const { out } = await agent.done;
  assert.deepEqual(lines({ out })[0], { asked: "Which one?", verdict: "respond", message: null, response: { content: "The second", selected_key: "b" } });
});

onDesk("arrivals never replace the card that is being read, and the list is in deadline order", async (desk, page) => {
  const late = await desk.agent("asks.py", JSON.stringify({ name: "late", args: {}, risk: "low", timeout: 90 }));
  await desk.armed("late");
  await desk.agent("asks.py", JSON.stringify({ name: "soon", args: {}, risk: "low", timeout: 40 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  assert.match(await page.text('[data-testid="card"] h2'), /late/);
  const order = await page.run("return [...document.querySelectorAll('[data-testid=row]')].map((row) => row.textContent)");
  assert.match(order[0], /^soon/);
  await page.press("n");
  await page.reads("soon", '[data-testid="card"] h2');
  late.child.kill("SIGTERM");
});

onDesk("somebody else's decision is reported with their name", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: {}, risk: "low" }));
  await desk.armed("pay");
  const row = JSON.parse((await desk.command("inbox", "--json")).out.trim().split("\n")[0]);
  const denied = await desk.command("deny", row.request_id, "--message", "from the shell");
  assert.equal(denied.code, 0, denied.err);
  await page.reads("from the shell", '[data-testid="decision"]');
  assert.equal(await page.text('[data-testid="approve"]'), null);
  assert.equal(lines(await agent.done)[0].message, "from the shell");
  await until("the list is empty", async () => (await page.text('[data-testid="waiting"]')) === "0 waiting");
});

onDesk("the second of two operators sees that one has voted, not who or what, and both are shown once all is decided", async (desk, page) => {
  const agent = await desk.agent("asks.py", JSON.stringify({ name: "pay", args: { to: "ada" }, risk: "low", approvals_required: 2 }));
  await desk.armed("pay");
  assert.match(await page.text('[data-testid="votes"]'), /0 of 2 approvals, yours is missing/);
  const grace = await desk.operator("Grace");
  const row = JSON.parse((await desk.command("inbox", "--json")).out.trim().split("\n")[0]);
  const voted = await grace("approve", row.request_id, "--message", "fine with me");
  assert.equal(voted.code, 0, voted.err);
  await page.reads("1 of 2 approvals, yours is missing", '[data-testid="votes"]');
  const body = await page.text("body");
  assert.ok(body.includes("Somebody has voted") && !body.includes("Grace") && !body.includes("fine with me"), body);
  await page.reads("1 of 2", '[data-testid="row"]');
  await desk.armed("pay");
  await page.reads("Vote to approve", '[data-testid="approve"]');
  await page.press("a");
  assert.equal(lines(await agent.done)[0].verdict, "approve");
  await page.reads("Grace", '[data-testid="card"]');
}, { fresh: true });

onDesk("letters beside the options of an answer are not commands, and after an answer the keyboard goes on in the list", async (desk, page) => {
  const asked = await desk.agent("asks.py", JSON.stringify({
    kind: "question", text: "Which one?", options: [{ key: "a", label: "name it" }, { key: "b", label: "no" }], allowed_verdicts: ["respond"], timeout: 30,
  }));
  await page.reads("Which one?", '[data-testid="card"]');
  const other = await desk.agent("asks.py", JSON.stringify({ name: "delete_draft", args: { draft: 1 }, risk: "low", timeout: 60 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("r");
  await until("an option has the focus", () => page.run("return document.activeElement.matches('input[type=radio]')"));
  for (const letter of "nnjsd") await page.press(letter);
  await page.reads("Which one?", '[data-testid="card"]');
  assert.notEqual(await page.text('form[aria-label="Answer"]'), null, "the answer is still open");
  await page.press(" ");
  await page.press(KEYS.enter);
  await asked.done;
  await desk.armed("delete_draft");
  assert.equal(await page.run("return document.activeElement.getAttribute('role')"), "listbox");
  for (const key of [KEYS.enter, " "]) await page.press(key);
  assert.equal((await desk.command("history", "--state", "pending", "--json")).out.includes("delete_draft"), true, "Enter and Space approve nothing");
  await page.press("a");
  assert.equal(lines(await other.done)[0].verdict, "approve");
});
