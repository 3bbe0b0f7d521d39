// The inbox and its cards.
import { KEYS, until } from "../support/webdriver.mjs";
import { ASKERS, CHANGE, COMMAND, EARLIER, LONG, TYPICAL } from "./calls.mjs";
import { save, settled } from "./shots.mjs";

export async function inbox(desk, page) {
  await settled();
  await save(desk, "inbox-empty");
  // An earlier call of the same tool, so that the card has something to compare with.
  const earlier = await desk.agentNamed("billing-bot", "asks.py", JSON.stringify(EARLIER));
  await desk.armed("delete_customer_data");
  await page.press("a");
  await earlier.done;
  for (const [name, calls] of Object.entries(ASKERS)) await desk.agentNamed(name, "asks.py", ...calls.map((call) => JSON.stringify(TYPICAL[call])));
  await page.reads("7 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await page.reads("irreversible", '[data-testid="card"]').catch(() => {});
  await settled();
  await save(desk, "inbox");
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await save(desk, "inbox-deny");
  await page.press(KEYS.escape);
  await page.press("?");
  await settled();
  await save(desk, "keys");
}

export async function long(desk, page) {
  await desk.agent("asks.py", JSON.stringify(LONG));
  await desk.browser.reads("write_file", '[data-testid="card"] h2');
  await settled();
  await save(desk, "inbox-long");
  await page.press("e");
  await page.sees(".cm-content");
  await settled();
  await save(desk, "inbox-edit");
}

export async function looks(desk, page) {
  for (const verdict of ["approve", "approve", "deny"]) {
    const earlier = await desk.agent("asks.py", JSON.stringify({ ...COMMAND, risk: "low", args: { command: "systemctl status shop" } }));
    const waiting = async () => (await desk.command("inbox", "--json")).out.trim();
    const row = await until("the call waits", async () => { const text = await waiting(); return text === "" ? undefined : JSON.parse(text); });
    await desk.command(verdict, row.request_id, "--message", "looked at it");
    await earlier.done;
  }
  await desk.agent("asks.py", JSON.stringify(COMMAND), JSON.stringify(CHANGE));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("n");
  await page.sees('[data-testid="command-parts"]');
  await page.sees('[data-testid="tool-record"]');
  await settled();
  await save(desk, "inbox-command");
  await page.press("j");
  await page.sees('[data-testid="diff"]');
  await settled();
  await save(desk, "inbox-change");
}

export async function operators(desk, page) {
  await desk.agent("asks.py", JSON.stringify({ ...TYPICAL[1], approvals_required: 2, timeout: 300 }), JSON.stringify({ ...TYPICAL[3], timeout: 500 }));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  const grace = await desk.operator("grace");
  const row = JSON.parse((await desk.command("inbox", "--json")).out.trim().split("\n")[0]);
  const voted = await grace("approve", row.request_id, "--message", "fine with me");
  if (voted.code !== 0) throw new Error(voted.err);
  await page.reads("1 of 2", '[data-testid="votes"]');
  await desk.command("pause", "acme-prod/local");
  await desk.command("panic", "on");
  await page.sees('[data-testid="panic"]');
  await settled();
  await save(desk, "inbox-votes");
  await page.press("g");
  await page.press("p");
  await page.reads("2 active", '[data-testid="operators-count"]');
  await page.click('[data-testid="operator-row"]');
  await page.sees('[data-testid="operator"]');
  await settled();
  await save(desk, "operators");
}

export async function batch(desk, page) {
  const push = (branch) => JSON.stringify({ ...TYPICAL[4], timeout: 500, args: { ...TYPICAL[4].args, branch } });
  await desk.agent("asks.py", push("main"), push("docs"), push("release/2.4"), JSON.stringify({ ...TYPICAL[3], timeout: 900 }));
  await page.reads("4 waiting", '[data-testid="waiting"]');
  await page.press("j");
  await page.press("j");
  await page.press("j");
  await page.reads("http.post", '[data-testid="card"] h2');
  await page.press("s");
  await page.sees('[data-testid="snooze-panel"]');
  await settled();
  await save(desk, "inbox-snooze");
  await page.run("document.querySelector('[data-testid=snooze-panel] button').click(); return 1");
  await page.sees('[data-testid="snoozed"]');
  await page.press("n");
  for (const _ of [1, 2]) await page.press(KEYS.shift, "j");
  await page.sees('[data-testid="batch"][data-armed="true"]');
  await settled();
  await save(desk, "inbox-batch");
}
