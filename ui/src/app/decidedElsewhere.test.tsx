import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { Card, InboxRow } from "../ipc/generated";
import { App } from "./App";
import { press, pause } from "../../test/hands";
import { FAR, KEYS, becomes, desk, tell } from "../../test/verdicts";

describe("a card that is decided elsewhere", () => {
  it("keeps the reason under the hands that type it, and says that nothing can be sent", async () => {
    const console = await desk();
    press("d");
    const field = await screen.findByLabelText("Reason for the agent");
    fireEvent.change(field, { target: { value: "not n" } });
    console.answers.card = ({ key }) => card({ key, deadlineMs: FAR, state: "withdrawn" });
    tell(console, { number: 1, state: "withdrawn", verdict: "withdrawn" });
    expect((await screen.findByTestId("too-late")).textContent).toContain("the agent no longer wants the answer");
    expect(document.activeElement).toBe(field);
    press("Escape");
    await screen.findByTestId("closed");
  });

  it.each([
    ["reason", "d", "Reason for the agent", {}],
    [
      "answer",
      "r",
      "Answer in your own words",
      {
        kind: "question",
        tool: null,
        args: null,
        question: { text: shown("Which?"), context: null, options: [], allowFreeform: true },
        allowed: ["respond", "deny"],
      },
    ],
  ] as const)("keeps an unsent %s through Esc, for as long as the card is open", async (_, key, label, more) => {
    await desk(more as Partial<Card>);
    press(key);
    fireEvent.change(await screen.findByLabelText(label), { target: { value: "wrong invoice" } });
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByLabelText(label)).toBeNull();
    });
    press(key);
    expect((await screen.findByLabelText<HTMLInputElement>(label)).value).toBe("wrong invoice");
  });

  it("says nothing of approvals under a question", async () => {
    await desk({
      kind: "question",
      tool: null,
      args: null,
      question: { text: shown("Which?"), context: null, options: [], allowFreeform: true },
      allowed: ["respond", "deny"],
    });
    expect(screen.queryByTestId("no-approval")).toBeNull();
  });

  it("makes no command of what is typed into a field that is gone", async () => {
    const console = await desk();
    press("x");
    await screen.findByTestId("batch");
    press("d");
    const field = await screen.findByLabelText("Reason for the agent");
    field.focus();
    press("n");
    tell(console, { number: 1, state: "expired", verdict: "expired" });
    await waitFor(() => {
      expect(screen.queryByTestId("batch")).toBeNull();
    });
    const key = (await screen.findByTestId("card")).dataset["key"];
    for (const letter of ["o", "d", "j", "e"]) press(letter);
    await pause(20);
    expect(screen.queryByLabelText("Reason for the agent")).toBeNull();
    expect(screen.getByTestId("card").dataset["key"]).toBe(key);
    await pause(1_050);
    press("d");
    await screen.findByLabelText("Reason for the agent");
  });
});

const lastOne = async (): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row({ key: "a/b/1", deadlineMs: FAR })],
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place })),
    answers: { decide: () => ({ state: "decided", verdict: "deny", releaseMs: null }) },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
const burst = (console: FakeConsole): void => {
  act(() => {
    console.send(
      batch(1, [
        { type: "gone", key: "a/b/1" },
        ...["a/b/2", "a/b/3"].map((key, place) => ({
          type: "put" as const,
          row: row({ key, seq: place, deadlineMs: FAR + place }),
        })),
      ]),
    );
  });
};
const openKey = (): string | undefined => screen.getByTestId("card").dataset["key"];

describe("after the last card was answered", () => {
  it("the first of a burst is chosen", async () => {
    const console = await lastOne();
    press("d");
    fireEvent.submit(await screen.findByLabelText("Reason for the agent"));
    await becomes("stored");
    burst(console);
    await waitFor(() => {
      expect(openKey()).toBe("a/b/2");
    });
  });

  it.each([
    ["nobody has answered", false],
    ["something is open on", true],
  ])("a card that %s keeps its place", async (_, answered) => {
    const console = await lastOne();
    if (answered) {
      press("d");
      fireEvent.submit(await screen.findByLabelText("Reason for the agent"));
      await becomes("stored");
      press("i");
    }
    burst(console);
    await pause(50);
    expect(openKey()).toBe("a/b/1");
  });
});

const arrives = (console: FakeConsole, number: number, more: Partial<InboxRow> = {}): void => {
  const key = `a/b/new${number}`;
  act(() => {
    console.send(
      batch(number, [
        {
          type: "put",
          row: row({ key, seq: 10 + number, risk: "critical", path: "critical", deadlineMs: FAR, ...more }),
        },
      ]),
    );
  });
};
const said = (): string => screen.getByTestId("arrivals").textContent ?? "";

describe("arrivals", () => {
  it("are said also while more keep coming, and never what was there at the start", async () => {
    const console = await desk({}, { risk: "critical", path: "critical" });
    await pause(1_600);
    expect(said()).toBe("");
    for (let number = 1; number <= 8; number += 1) {
      arrives(console, number);
      // One after the other, each before the sentence of the first is due.
      // oxlint-disable-next-line no-await-in-loop
      await pause(250);
    }
    expect(said()).toMatch(/^New critical request: delete_invoice, .* left, and \d more\.$/u);
  });

  it("name no time where an agent gave none", async () => {
    const console = await desk();
    arrives(console, 1, { hasDeadline: false, deadlineMs: 9_999_999_999 });
    await pause(1_600);
    expect(said()).toBe("New critical request: delete_invoice.");
  });
});
