import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, batch, shown, status, waitingCalls } from "../../test/build";
import { type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import { press } from "../../test/hands";
import { open, controls } from "../../test/agents";

describe("a bypass", () => {
  it("is started for a risk and a time after one more question", async () => {
    const console = await open([agent({ key: "acme/bot" })]);
    console.answers.bypass = () => ({ terminated: 0, waiting: null });
    fireEvent.click(within(controls()).getByText("Bypass…"));
    expect((await screen.findByTestId("confirm")).textContent).toContain("critical calls always ask");
    fireEvent.change(screen.getByTestId("bypass-risk"), { target: { value: "medium" } });
    fireEvent.change(screen.getByTestId("bypass-time"), { target: { value: "3600" } });
    expect(within(screen.getByTestId("bypass-risk")).queryByText("critical")).toBeNull();
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("bypass")).toEqual([{ agent: "acme/bot", grant: { upTo: "medium", seconds: 3_600 } }]);
    });
  });

  it("is shown with its end in the status bar while it lasts, and ended at once", async () => {
    const bypass = { agent: "acme/bot", upTo: "low" as const, untilMs: 60_000, by: shown("ann") };
    const console = await open([agent({ key: "acme/bot" })], {
      status: status({ bypasses: [bypass, { ...bypass, agent: "acme/over", untilMs: -1 }] }),
    });
    expect((await screen.findAllByTestId("bypass")).map((one) => [one.textContent, one.title])).toEqual([
      [
        expect.stringMatching(/^1 bypass until \d\d:\d\d$/u),
        expect.stringMatching(/^Bypass: acme\/bot, up to low, until [\d:]+, by ann$/u),
      ],
    ]);
    console.answers.bypass = () => {
      throw new CallError("bus_unreachable", "the bus cannot be reached");
    };
    fireEvent.click(within(controls()).getByText("End the bypass"));
    await screen.findByText("the bus cannot be reached");
    expect(console.argsOf("bypass")).toEqual([{ agent: "acme/bot", grant: null }]);
  });

  it("that could not be ended is reported also to who has left its agent by then", async () => {
    const bypass = { agent: "acme/bot", upTo: "low" as const, untilMs: 600_000, by: shown("ann") };
    const console = await open([agent({ key: "acme/bot" })], { status: status({ bypasses: [bypass] }) });
    let fails!: () => void;
    console.answers.bypass = () =>
      new Promise((_, reject) => {
        fails = () => {
          reject(new CallError("bus_unreachable", "the bus cannot be reached"));
        };
      });
    fireEvent.click(within(controls()).getByText("End the bypass"));
    for (const key of ["g", "h"]) press(key);
    await screen.findByTestId("history-count");
    act(() => {
      fails();
    });
    expect((await screen.findByTestId("late-failure")).textContent).toContain(
      "End the bypass of acme/bot? It failed: the bus cannot be reached",
    );
  });
});

describe("panic", () => {
  const chord = { ctrlKey: true, shiftKey: true, code: "Period" };

  it("is on at once", async () => {
    const console = await open([]);
    press(">", chord);
    await waitFor(() => {
      expect(console.argsOf("panic")).toEqual([{ on: true, acceptWaiting: [] }]);
    });
    await screen.findByText(/Panic is on/);
  });

  it("says that it is not on when the bus did not take it", async () => {
    const console = await open([]);
    console.answers.panic = () => {
      throw new CallError("bus_unreachable", "the bus cannot be reached");
    };
    press(">", chord);
    await screen.findByText(/Panic is not on: the bus cannot be reached/);
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByText(/Panic is not on/)).toBeNull();
    });
    expect([screen.queryByTestId("panic-dialog"), console.argsOf("panic").length]).toEqual([null, 1]);
  });

  /** Asked for, its dialog closed, and no answer yet. */
  const left = async (): Promise<{ readonly console: FakeConsole; readonly fails: (of?: number) => void }> => {
    const console = await open([]);
    const answers: (() => void)[] = [];
    console.answers.panic = () =>
      new Promise((_, reject) => {
        answers.push(() => {
          reject(new CallError("bus_unreachable", "the bus cannot be reached"));
        });
      });
    press(">", chord);
    await screen.findByText("Sending to every console…");
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("panic-dialog")).toBeNull();
    });
    return {
      console,
      fails: (of = 0) => {
        act(() => {
          answers[of]?.();
        });
      },
    };
  };

  it("says once, also after its dialog was closed, that it is not on, and takes no focus for it", async () => {
    const { console, fails } = await left();
    const filter = screen.getByLabelText(/^Filter/u);
    filter.focus();
    fails();
    expect((await screen.findByTestId("late-failure")).textContent).toContain(
      "Panic was not turned on: the bus cannot be reached",
    );
    await act(async () => {
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect(document.activeElement).toBe(filter);
    expect([screen.queryByRole("dialog"), console.argsOf("panic")]).toEqual([null, [{ on: true, acceptWaiting: [] }]]);
    fireEvent.click(screen.getByText("Dismiss"));
    await waitFor(() => {
      expect(screen.queryByTestId("late-failure")).toBeNull();
    });
  });

  it("asked for once more says nothing of what was asked before", async () => {
    const { fails } = await left();
    press(">", chord);
    await screen.findByText("Sending to every console…");
    fails(0);
    await act(async () => {
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect([screen.queryByTestId("late-failure"), screen.getByTestId("panic-dialog").textContent]).toEqual([
      null,
      "Sending to every console…",
    ]);
    fails(1);
    await screen.findByText(/Panic is not on: the bus cannot be reached/);
    expect(screen.queryByTestId("late-failure")).toBeNull();
  });

  it("is turned off only after one more question", async () => {
    const console = await open([], { status: status({ panic: shown("maria") }) });
    await screen.findByTestId("panic");
    press(">", chord);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("panic")).toEqual([{ on: false, acceptWaiting: [] }]);
    });
  });

  it("is turned off with calls that wait only after they were named", async () => {
    const held = waitingCalls(["acme/bot/r7"]);
    const console = await open([], { status: status({ panic: shown("maria") }) });
    console.answers.panic = ({ acceptWaiting }) => ({
      terminated: 0,
      waiting: acceptWaiting.length === 1 ? null : held,
    });
    await screen.findByTestId("panic");
    press(">", chord);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    expect((await screen.findByTestId("waiting-calls")).textContent).toContain("1 call that is still waiting");
    fireEvent.click(screen.getByText("Turn panic off and approve it"));
    await waitFor(() => {
      expect(console.argsOf("panic").map((args) => args.acceptWaiting)).toEqual([[], held.keys]);
    });
    await waitFor(() => {
      expect(screen.queryByRole("dialog")).toBeNull();
    });
  });

  it("asked for in the tray to be turned off is asked once more here, and never turned on by that", async () => {
    const console = await open([], { status: status({ panic: shown("maria") }) });
    await screen.findByTestId("panic");
    act(() => {
      console.send(batch(1, [], { panicAsked: true }));
    });
    expect(await screen.findByText("Turn panic off?")).toBeTruthy();
    expect(console.argsOf("panic")).toEqual([]);
    fireEvent.keyDown(document.body, { key: "Escape" });
    act(() => {
      console.send(batch(2, [], { status: status() }));
    });
    await waitFor(() => {
      expect(screen.queryByTestId("panic")).toBeNull();
    });
    act(() => {
      console.send(batch(3, [], { panicAsked: true }));
    });
    await act(async () => {
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect([screen.queryByTestId("panic-dialog"), console.argsOf("panic")]).toEqual([null, []]);
  });
});
