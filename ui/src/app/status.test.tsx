import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { midnight } from "../desk/clock";
import type { Card, StatusView } from "../ipc/generated";
import { App } from "./App";

const open = async (more: Partial<StatusView> = {}, answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
  window.location.hash = "#/";
  const console = fakeConsole({ status: status(more), answers });
  render(<App transport={console} />);
  await screen.findByText(/^Connected to NATS/u);
  return console;
};

describe("the status bar", () => {
  it("says what is approved without a person, and nothing where nothing is", async () => {
    await open();
    expect(screen.queryByTestId("approving")).toBeNull();
    expect(screen.queryByTestId("today")).toBeNull();
  });

  it.each([
    [1, "1 rule approving"],
    [1_200, "1,200 rules approving"],
  ])("counts %i", async (rulesApproving, words) => {
    await open({ rulesApproving });
    expect(screen.getByTestId("approving").textContent).toBe(words);
  });

  it("puts rules and bypasses into one sentence", async () => {
    await open({
      rulesApproving: 2,
      bypasses: [{ agent: "acme/bot", upTo: "low", untilMs: 60_000, by: shown("ann") }],
    });
    expect(screen.getByTestId("approving").textContent).toMatch(/^2 rules approving, 1 bypass until \d\d:\d\d$/u);
  });

  it("reports no bypass under panic: none of them counts then", async () => {
    await open({
      panic: shown("ann"),
      bypasses: [{ agent: "acme/bot", upTo: "low", untilMs: 60_000, by: shown("ann") }],
    });
    expect(screen.getByTestId("panic").textContent).toContain("nothing is approved automatically");
    expect(screen.queryByTestId("approving")).toBeNull();
  });

  it("says how quickly people decide since the operator's midnight, anew after each decision", async () => {
    let decided = 1;
    const console = await open(
      {},
      { today: () => ({ decided, waitingMs: decided * 84_000, frontMs: decided * 500, newest: 1_000 }) },
    );
    expect((await screen.findByTestId("today")).textContent).toBe(
      "Today: median card open 500 ms, median waiting 1 min 24 s",
    );
    expect(console.argsOf("today")[0]).toEqual({ sinceMs: midnight(0) });
    decided = 2;
    act(() => {
      console.send(batch(1, [], { touched: [{ key: "acme/bot/r1", verdict: null, by: null, mine: false }] }));
    });
    act(() => {
      console.send(
        batch(2, [], { touched: [{ key: "acme/bot/r1", verdict: "approve", by: shown("ann"), mine: false }] }),
      );
    });
    await waitFor(() => {
      expect(screen.getByTestId("today").textContent).toBe("Today: median card open 1.0 s, median waiting 2 min 48 s");
    });
    expect(screen.getByTestId("today").title).toBe("2 decisions by people since midnight, median waiting 2 min 48 s");
    expect(console.argsOf("today").length).toBe(2);
  });

  it("names the panic key, and asks for panic when it is pressed", async () => {
    const console = await open({}, { panic: () => ({ terminated: 0, waiting: null }) });
    expect(screen.getByTestId("panic-key").textContent).toBe("Panic Ctrl ⇧ .");
    fireEvent.click(screen.getByTestId("panic-key"));
    await waitFor(() => {
      expect(console.argsOf("panic")).toEqual([{ on: true, acceptWaiting: [] }]);
    });
  });

  it("names one agent that is held back, and counts several", async () => {
    const brake = { agent: "acme/bot", stopped: true, by: shown("ann") };
    await open({ brakes: [brake, { ...brake, agent: "acme/erp", stopped: false }] });
    expect(screen.getByTestId("control").textContent).toBe("2 agents paused or stopped");
    expect(screen.getByTestId("control").title).toBe("acme/bot stopped\nacme/erp paused");
  });
});

describe("a card", () => {
  it.each([true, false])("says that its workspace is production: %s", async (production) => {
    window.location.hash = "#/";
    const one: Card = card({ production });
    render(<App transport={fakeConsole({ rows: [row()], cards: [one] })} />);
    await screen.findByTestId("card");
    expect(screen.queryByTestId("production")?.textContent).toBe(production ? "PRODUCTION" : undefined);
  });
});
