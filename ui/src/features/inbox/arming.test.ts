import { describe, expect, it } from "vitest";
import { arm, armedFrom, disarmed, mayApprove, type Arming, type ArmingEvent } from "./arming";

const run = (...events: ArmingEvent[]): Arming => events.reduce(arm, disarmed);
const shown = (at: number, identity = "card/1"): ArmingEvent => ({ type: "shown", identity, at });
const painted = (at: number, identity = "card/1"): ArmingEvent => ({ type: "painted", identity, at });
const focused = (at: number): ArmingEvent => ({ type: "focused", at });
const press = (at: number, identity = "card/1", repeat = false) => ({ at, identity, repeat });

describe("a card", () => {
  it.each([
    ["shown last", [focused(0), shown(100), painted(110)], 510],
    ["painted last", [shown(0), focused(0), painted(300)], 700],
    ["focused last", [shown(0), painted(10), focused(900)], 1_300],
  ] as [string, ArmingEvent[], number][])("is armed 400 ms after the last of the three (%s)", (_, events, from) => {
    const state = run(...events);
    expect(armedFrom(state)).toBe(from);
    expect(mayApprove(state, press(from - 1))).toBe(false);
    expect(mayApprove(state, press(from))).toBe(true);
  });

  it.each([
    ["never painted", [shown(0), focused(0)]],
    ["never focused", [shown(0), painted(0)]],
    ["never shown", [focused(0)]],
  ] as [string, ArmingEvent[]][])("is not armed while it was %s", (_, events) => {
    expect(mayApprove(run(...events), press(1e9))).toBe(false);
  });

  it("is disarmed by new content and must be painted again", () => {
    const changed = run(focused(0), shown(0), painted(0), shown(5_000, "card/2"));
    expect(mayApprove(changed, press(9_000, "card/2"))).toBe(false);
    expect(mayApprove(changed, press(9_000, "card/1"))).toBe(false);
    expect(armedFrom(arm(changed, painted(5_020, "card/2")))).toBe(5_420);
  });

  it("does not take the paint of what stood there before for its own", () => {
    expect(armedFrom(run(focused(0), shown(0), shown(10, "card/2"), painted(20)))).toBeNull();
  });

  it("is disarmed when the window loses the focus, and armed anew 400 ms after it returns", () => {
    const away = run(shown(0), painted(0), focused(0), { type: "lost" });
    expect(mayApprove(away, press(10_000))).toBe(false);
    expect(armedFrom(arm(away, focused(10_000)))).toBe(10_400);
  });

  it("takes no key that repeats and none that went down on another card", () => {
    const state = run(shown(0), painted(0), focused(0));
    expect(mayApprove(state, press(1_000, "card/1", true))).toBe(false);
    expect(mayApprove(state, press(1_000, "card/0"))).toBe(false);
  });
});
