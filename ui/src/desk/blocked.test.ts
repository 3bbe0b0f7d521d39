import { describe, expect, it } from "vitest";
import { blockedBy, type ConsoleState } from "./blocked";

const standing = (connected: boolean, caughtUp: boolean, readOnly: string | null = null): ConsoleState => ({
  bus: { connected },
  caughtUp,
  readOnly,
});

describe("an approval", () => {
  it("waits while the console reads what happened on its bus, and goes to the outbox without one", () => {
    expect(blockedBy(standing(true, true), null)).toBeNull();
    expect(blockedBy(standing(true, false), null)).toMatch(/catching up/);
    expect(blockedBy(standing(false, false), null)).toBeNull();
  });

  it("cannot be sent by a console that is read-only, silent or gone", () => {
    expect(blockedBy(standing(false, false, "the streams are missing"), null)).toBe("the streams are missing");
    expect(blockedBy(null, null)).toMatch(/not answered/);
    expect(blockedBy(standing(true, true), { message: "gone" })).toBe("gone");
  });
});
