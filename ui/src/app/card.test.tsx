import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { card, historyRow, row, shown, story } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { Card, OnBusView } from "../ipc/generated";
import { App } from "./App";

const open = async (more: Partial<Card>, answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row({ deadlineMs: 600_000 })],
    cards: [card({ deadlineMs: 600_000, ...more })],
    answers,
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};

describe("a call that was asked again", () => {
  it("is a link to the one that it repeats", async () => {
    const console = await open(
      { reAsk: "acme/billing-bot/r0" },
      { request_story: () => story({ row: historyRow(0, { key: "acme/billing-bot/r0" }) }) },
    );
    fireEvent.click(screen.getByRole("link", { name: "acme/billing-bot/r0" }));
    await waitFor(() => {
      expect(screen.getByTestId("story").dataset["key"]).toBe("acme/billing-bot/r0");
    });
    expect(console.argsOf("request_story")).toEqual([{ key: "acme/billing-bot/r0" }]);
  });

  it("has no link where nothing was decided before", async () => {
    await open({});
    expect(screen.queryByTestId("re-ask")).toBeNull();
  });
});

describe("the call that a card is compared with", () => {
  const call = { verdict: "approve", atMs: 0, mine: false, by: shown("Ann"), agent: null, deltas: [] };
  it.each([
    ["one's own", { ...call, mine: true }, "Compared with the one you approved on"],
    ["a colleague's", call, "Compared with the one that was approved by Ann on"],
    [
      "a rule's",
      { ...call, by: shown("rule auto-pay") },
      "Compared with the one that was approved by rule auto-pay on",
    ],
    [
      "another agent's",
      { ...call, agent: "acme/evil" },
      "Compared with a call of another agent, acme/evil, that was approved by Ann on",
    ],
  ])("is told as %s", async (_whose, previous, words) => {
    await open({ previous });
    expect(screen.getByRole("heading", { name: new RegExp(words) })).toBeTruthy();
  });
});

const told = (place: HTMLElement): void => {
  const other = within(place).getByTestId("on-bus");
  for (const part of ["denied by Gr", "U+202E", "#7", "Agents read this one", "not this quarter"])
    expect(other.textContent).toContain(part);
  expect(within(place).getByTestId("decision").textContent).toContain("approved by ann");
  expect(within(place).getByTestId("ladder").textContent).toContain("Another decision is on the bus");
};

describe("another decision on the bus than this console keeps", () => {
  const onBus: OnBusView = {
    verdict: shown("deny"),
    by: shown("Gr⟨U+202E⟩ace"),
    message: shown("not this quarter"),
    atMs: 0,
    streamSeq: 7,
  };
  const decision = {
    verdict: "approve",
    by: shown("ann"),
    mine: false,
    origin: "operator",
    keyTail: "7Q2F",
    atMs: 0,
    message: null,
    edited: [],
  };
  const ladder = [{ rung: "on_bus" as const, state: "bad" as const, atMs: 0, detail: shown("#7") }];

  it("is told on the card", async () => {
    await open({ state: "decided", decision, onBus, ladder });
    told(screen.getByTestId("card"));
  });

  it("is told in the story", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    render(<App transport={fakeConsole({ answers: { request_story: () => story({ decision, onBus, ladder }) } })} />);
    told(await screen.findByTestId("story"));
  });
});
