// What the desktop's tray is offered, asked for as a tray does, on a session bus of its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Desk } from "./support/desk.mjs";
import { SessionBus } from "./support/session-bus.mjs";
import { until } from "./support/webdriver.mjs";

/** The entries of the icon's menu by their number. */
const menuOf = async (bus, tray) => {
  const layout = await bus.call(tray, "/MenuBar", "com.canonical.dbusmenu.GetLayout", "int32:0", "int32:-1", "array:string:");
  const entries = [...layout.matchAll(/int32 (\d+)\s+array \[((?:(?!int32 \d+\s+array)[\s\S])*?)string "label"\s+variant\s+string "([^"]*)"/g)];
  return entries.map(([, id, , label]) => ({ id, label }));
};
const entry = (bus, tray, start) => until(`the entry ${start}`, async () => (await menuOf(bus, tray)).find(({ label }) => label.startsWith(start)));
const click = async (bus, tray, start) => {
  const { id } = await entry(bus, tray, start);
  await bus.call(tray, "/MenuBar", "com.canonical.dbusmenu.Event", `int32:${id}`, "string:clicked", "variant:int32:0", "uint32:0");
};
const tooltip = (bus, tray) =>
  bus.call(tray, "/StatusNotifierItem", "org.freedesktop.DBus.Properties.Get", "string:org.kde.StatusNotifierItem", "string:ToolTip");

test("the tray says what waits and which controls are on, turns panic on at once, and off only in the window", { timeout: 120_000 }, async () => {
  const bus = await SessionBus.open();
  const desk = await Desk.open({ DBUS_SESSION_BUS_ADDRESS: bus.address });
  const page = desk.browser;
  try {
    const tray = await until("the icon", async () => (await bus.names("org.kde.StatusNotifierItem-"))[0]);
    await entry(bus, tray, "Nothing is waiting");
    await desk.agent("asks.py", JSON.stringify({ name: "wire_money", args: { to: "DE02-SECRET-IBAN" }, risk: "high", reason: "trust me" }));
    await entry(bus, tray, "1 waiting");
    assert.match(await tooltip(bus, tray), /Countersign: 1 waiting/);
    const paused = await desk.command("pause", "default/local");
    assert.equal(paused.code, 0, paused.err);
    await entry(bus, tray, "default/local paused by maria");
    await click(bus, tray, "Panic: every automatic approval off");
    await page.reads("Panic, by maria", '[data-testid="panic"]');
    await entry(bus, tray, "Panic, by maria");
    await click(bus, tray, "Turn panic off");
    await page.reads("Turn panic off?", '[role="dialog"]');
    assert.notEqual(await page.text('[data-testid="panic"]'), null, "it is on until the question is answered");
    await page.click('[data-testid="confirm-yes"]');
    await entry(bus, tray, "Panic: every automatic approval off");
    const told = `${JSON.stringify(await menuOf(bus, tray))}${await tooltip(bus, tray)}`;
    assert.doesNotMatch(told, /wire_money|SECRET|trust me/, "no word of an agent");
    await click(bus, tray, "Quit");
    await until("the program has ended", async () => (await bus.names("org.kde.StatusNotifierItem-")).length === 0);
  } finally {
    await desk.close();
    await bus.close();
  }
});
