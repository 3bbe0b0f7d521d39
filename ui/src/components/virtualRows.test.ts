import { describe, expect, it } from "vitest";
import { slotsFor } from "./virtualRows";

describe("elements of rows", () => {
  it("are enough for every place, and each row on screen has one of its own that it keeps", () => {
    for (const [height, rowPx, overscan] of [[0, 28, 6], [1, 28, 6], [588, 28, 6], [589, 28, 6], [900, 44, 8], [333, 40, 0]] as const) {
      // The most that can be drawn: a part of a row at both ends.
      const most = Math.ceil(height / rowPx) + 1 + 2 * overscan;
      const slots = slotsFor(height, rowPx, overscan, most);
      expect(slots).toBe(slotsFor(height, rowPx, overscan, 3));
      for (let first = 0; first < 200; first += 7) {
        const drawn = Array.from({ length: most }, (_, number) => (first + number) % slots);
        expect(new Set(drawn).size).toBe(most);
      }
    }
  });

  it("are never fewer than what is drawn", () => {
    expect(slotsFor(0, 28, 0, 40)).toBe(40);
    expect(slotsFor(0, 28, 0, 0)).toBe(1);
  });
});
