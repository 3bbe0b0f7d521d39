import { describe, expect, it } from "vitest";
import {
  arm,
  armedFor,
  armedFrom,
  disarmed,
  letGoAt,
  mayApprove,
  pressOf,
  type Arming,
  type ArmingEvent,
  type PointerPress,
} from "./arming";

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

  it("was in front from when it was armed on, and not while it is not", () => {
    const state = run(focused(0), shown(100), painted(110));
    expect([509, 510, 1_010].map((at) => armedFor(state, at))).toEqual([0, 0, 500]);
    expect(armedFor(arm(state, { type: "lost" }), 9_000)).toBe(0);
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

  it("does not take the paint of what was there before for its own", () => {
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

describe("a click", () => {
  const down: PointerPress = { identity: "card/0", at: 100, upAt: null };
  it.each<[string, PointerPress | null, { identity: string; at: number }]>([
    ["no pointer went down for is a press of its own", null, { identity: "card/1", at: 2_000 }],
    ["of a pointer that is still down is that pointer's", down, { identity: "card/0", at: 100 }],
    ["right after its pointer was let go is that pointer's", letGoAt(down, 1_990), { identity: "card/0", at: 100 }],
    ["a moment after, as by touch, too", letGoAt(down, 1_601), { identity: "card/0", at: 100 }],
    [
      "long after a pointer was let go elsewhere is a press of its own",
      letGoAt(down, 1_600),
      { identity: "card/1", at: 2_000 },
    ],
    [
      "is not made a pointer's by another one that is let go later",
      letGoAt(letGoAt(down, 1_000), 1_999),
      { identity: "card/1", at: 2_000 },
    ],
  ])("%s", (_, pointer, pressed) => {
    expect(pressOf(pointer, "card/1", 2_000)).toEqual({ ...pressed, repeat: false });
  });
});
