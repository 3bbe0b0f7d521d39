// What the desktop is reported, on a session bus of its own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { Desk } from "./support/desk.mjs";
import { SessionBus } from "./support/session-bus.mjs";
import { until } from "./support/webdriver.mjs";

/** Gives the keyboard to the root window, as another program in front does. */
const unfocus = async () => {
  const { stdout } = await promisify(execFile)("xdotool", ["search", "--maxdepth", "0", ""]);
  await promisify(execFile)("xdotool", ["windowfocus", stdout.trim().split("\n")[0]]);
};

test("a notification names the tool and the risk, and never the arguments or an agent's words", { timeout: 90_000 }, async () => {
  const bus = await SessionBus.open();
  const desk = await Desk.open({ DBUS_SESSION_BUS_ADDRESS: bus.address });
  try {
    // Another window in front: the desk shows nothing of what its operator is looking at.
    await unfocus();
    await desk.agent("asks.py", JSON.stringify({
      name: "wire_money", args: { to: "DE02-SECRET-IBAN" }, risk: "high", reason: "<b>trust me</b>",
    }));
    const reported = await until("a notification", () => bus.calls.find((call) => call.includes("wire_money")) ?? null);
    assert.match(reported, /Waiting for you: wire_money/);
    assert.match(reported, /high risk, asked by local in default/);
    assert.doesNotMatch(reported, /SECRET-IBAN|trust me/);
    await desk.browser.run("localStorage.setItem('countersign.notifications', 'off'); location.reload(); return true;");
    await desk.browser.reads("Connected to NATS", '[data-testid="connection"]');
    const before = bus.calls.length;
    await desk.agent("asks.py", JSON.stringify({ name: "quiet", args: {}, risk: "critical" }));
    await desk.browser.reads("2 waiting", '[data-testid="waiting"]');
    // Longer than the console gathers what it says.
    await new Promise((done) => setTimeout(done, 2_000));
    assert.equal(bus.calls.length, before);
  } finally {
    await desk.close();
    await bus.close();
  }
});
