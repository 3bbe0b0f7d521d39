import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { batch, card, row, status } from "../../test/build";
import { desk, FAR } from "../../test/desk";
import { screenObserver } from "../../test/setup";
import type { FakeConsole } from "../../test/fakeTransport";

const AWAY_MS = 1_200;
const KEYS = ["1", "2", "3", "4", "5", "6"].map((id) => `acme/billing-bot/r${id}`);
const pause = (ms: number): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, ms);
    });
  });
const press = (key: string): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
};
const armed = (key: string): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset).toMatchObject({ key, armed: "true" });
  });
const open = (answers: FakeConsole["answers"] = {}): Promise<FakeConsole> =>
  desk(
    KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place })),
    KEYS.map((key, place) => {
      const { origin } = card();
      return card({
        key,
        deadlineMs: FAR + place,
        readMs: 1_500,
        origin: { ...origin, argsDigest: `sha256:${place}` },
      });
    }),
    { answers: { decide: () => ({ state: "decided", verdict: "approve", releaseMs: null }), ...answers } },
  );
const decideFive = async (console: FakeConsole): Promise<void> => {
  for (const [place, key] of KEYS.slice(0, 5).entries()) {
    // One after the other, as a person does.
    // oxlint-disable-next-line no-await-in-loop
    await armed(key);
    press("a");
    // oxlint-disable-next-line no-await-in-loop
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(place + 1);
    });
  }
};

describe("after five cards that were decided in haste", () => {
  it("the next one says so, and arms only after the time that it takes to read", { timeout: 60_000 }, async () => {
    const console = await open();
    await decideFive(console);
    expect((await screen.findByTestId("slowed")).textContent).toMatch(/^You decided 5 cards in \d+ s\./);
    await pause(600);
    press("a");
    expect(console.argsOf("decide")).toHaveLength(5);
    await armed(KEYS[5] ?? "");
    expect(screen.queryByTestId("slowed")).toBeNull();
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(6);
    });
    const { frontMs = 0 } = console.argsOf("decide")[5] ?? {};
    expect(frontMs).toBeGreaterThanOrEqual(1_500);
  });

  it("nothing is slowed down where that is off", { timeout: 60_000 }, async () => {
    const console = await open({ haste_brake: () => ({ on: false }) });
    await decideFive(console);
    await armed(KEYS[5] ?? "");
    expect(screen.queryByTestId("slowed")).toBeNull();
  });
});

const hides = (is: boolean): void => {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(is ? "hidden" : "visible");
  fireEvent(document, new Event("visibilitychange"));
};
const locks = (console: FakeConsole, number: number, locked: boolean): void => {
  console.send(batch(number, [], { status: status({ locked }) }));
};

describe("the time of a card in front", () => {
  it("does not go on while what is asked is scrolled away, and says whether its end was seen", async () => {
    screenObserver.unseen = "[data-place=end]";
    const console = await open();
    await armed(KEYS[0] ?? "");
    act(() => {
      screenObserver.becomes("[data-place=asked], [data-place=end]");
    });
    await pause(700);
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(1);
    });
    const [{ frontMs = -1, toEnd } = {}] = console.argsOf("decide");
    expect([frontMs < 500, toEnd]).toEqual([true, false]);
  });

  it.each<[string, (console: FakeConsole) => void, (console: FakeConsole) => void]>([
    ["the window is hidden", () => hides(true), () => hides(false)],
    ["the session is locked", (console) => locks(console, 1, true), (console) => locks(console, 2, false)],
    ["a dialog lies over it", () => press("?"), () => press("Escape")],
  ])("does not go on while %s", async (_, goesAway, comesBack) => {
    const began = performance.now();
    const console = await open();
    await armed(KEYS[0] ?? "");
    act(() => {
      goesAway(console);
    });
    await pause(AWAY_MS);
    act(() => {
      comesBack(console);
    });
    await armed(KEYS[0] ?? "");
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(1);
    });
    const [{ frontMs = -1 } = {}] = console.argsOf("decide");
    expect(frontMs).toBeGreaterThanOrEqual(0);
    expect(frontMs).toBeLessThan(performance.now() - began - AWAY_MS);
  });
});
