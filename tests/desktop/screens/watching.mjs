// What happened, and who is there.
import { KEYS } from "../support/webdriver.mjs";
import { EARLIER, REJECTED, TYPICAL } from "./calls.mjs";
import { save, settled } from "./shots.mjs";

export async function rejected(desk, page) {
  await desk.agentJson();
  await (await desk.agent("sends.py", ...REJECTED)).done;
  await page.press("g");
  await page.press("j");
  await page.sees('[data-testid="rejected-row"]');
  await settled();
  await save(desk, "rejected");
}

export async function traces(desk, page) {
  const run = await desk.agent("works.py", "high");
  await page.reads("delete_customer_data", '[data-testid="card"] h2');
  await page.reads("round 3", '[data-testid="led-here"]');
  await settled();
  await save(desk, "inbox-led-here");
  await page.press("t");
  await page.sees('[data-testid="tree"]');
  await settled();
  await save(desk, "trace-waiting");
  await page.press(KEYS.escape);
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.type('[aria-label="Reason for the agent"]', "Not while the audit runs");
  await page.press(KEYS.enter);
  await run.done;
  await desk.agent("many.py", "1200").then(({ done }) => done);
  await page.press("g");
  await page.press("t");
  await page.reads("number 0", '[data-testid="trace-row"]');
  await settled();
  await save(desk, "traces");
  await page.press("j");
  await page.press("o");
  await page.sees('[data-testid="tree"]');
  await page.press("j");
  await page.press("j");
  await page.sees('[data-part="image"] canvas');
  await settled();
  await save(desk, "trace");
}

export async function agents(desk, page) {
  await desk.agent("asks.py", JSON.stringify({ ...TYPICAL[3], timeout: 300 }));
  await page.reads("1 waiting", '[data-testid="waiting"]');
  await desk.agent("tells.py", "60");
  await desk.command("enroll", "acme-prod/infra-agent");
  await page.press("g");
  await page.press("a");
  await page.reads("acme-prod/infra-agent", '[data-testid="agent-row"]');
  await page.press("j");
  await page.reads("web_search", '[data-testid="agent"]');
  await settled();
  await save(desk, "agents");
  await page.run("[...document.querySelectorAll('[data-testid=control-bar] button')].find((b) => b.textContent.startsWith('Stop')).click(); return 1");
  await page.sees('[data-testid="confirm"]');
  await save(desk, "agents-stop");
}

export async function history(desk, page) {
  const calls = [EARLIER, TYPICAL[4], TYPICAL[5]].map((call) => ({ ...call, risk: "low", timeout: 30 }));
  for (const call of calls) {
    const run = await desk.agent("asks.py", JSON.stringify(call));
    await page.reads("1 waiting", '[data-testid="waiting"]');
    // The card that was decided stays until the operator moves on.
    await page.press("n");
    await desk.armed(call.name);
    await page.press(call.name === "git.push" ? "d" : "a");
    if (call.name === "git.push") {
      await page.sees('[aria-label="Reason for the agent"]');
      await page.type('[aria-label="Reason for the agent"]', "Not on a Sunday");
      await page.press(KEYS.enter);
    }
    await run.done;
  }
  await desk.agent("asks.py", JSON.stringify(TYPICAL[2]), JSON.stringify(TYPICAL[3]));
  await page.reads("2 waiting", '[data-testid="waiting"]');
  await page.press("g");
  await page.press("h");
  await page.reads("Not on a Sunday", 'main[aria-label="History"]');
  await settled();
  await save(desk, "history");
  for (const key of ["j", "j", "j", "o"]) await page.press(key);
  await page.sees('[data-testid="signature"]');
  await settled();
  await save(desk, "story");
  await page.press("g");
  await page.press("o");
  await page.sees('[data-testid="chart"] canvas');
  await settled();
  await save(desk, "overview");
  await page.click('a[aria-label^="Decided by people"]');
  await page.reads("3 requests", '[data-testid="history-count"]');
  await settled();
  await save(desk, "history-counted");
}

export async function alarms(desk, page) {
  const run = await desk.agent("disobeys.py", JSON.stringify({ name: "pay", args: { to: "ada" }, risk: "medium" }));
  await page.reads("pay", '[data-testid="card"] h2');
  await page.press("d");
  await page.sees('[aria-label="Reason for the agent"]');
  await page.press(KEYS.enter);
  await run.done;
  await page.reads("1 alarm", '[data-testid="alarms"]');
  await page.click('[data-testid="alarms"]');
  await page.sees('[data-testid="alarm"]');
  await settled();
  await save(desk, "alarms");
}
