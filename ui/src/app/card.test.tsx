import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { arg, card, historyRow, row, shown, story } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { Card, DecisionView, OnBusView, WarningView } from "../ipc/generated";
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
  const EARLIER = "acme/billing-bot/r0";
  const denied: WarningView = {
    code: "denied_before",
    place: shown("ann"),
    message: shown("denied this exact call 1 h ago: wrong account"),
    request: EARLIER,
  };
  it.each<[string, Partial<Card>]>([
    ["was decided", { reAsk: { key: EARLIER, verdict: "approve", by: shown("Gr⟨U+202E⟩ace"), atMs: -3_600_000 } }],
    ["a person denied", { warnings: [denied] }],
  ])("is a link to the one that %s, told once", async (_, more) => {
    const console = await open(more, { request_story: () => story({ row: historyRow(0, { key: EARLIER }) }) });
    fireEvent.click(screen.getByRole("link", { name: EARLIER }));
    await waitFor(() => {
      expect(screen.getByTestId("story").dataset["key"]).toBe(EARLIER);
    });
    expect(console.argsOf("request_story")).toEqual([{ key: EARLIER }]);
  });

  it("says how that was decided, by whom and how long ago", async () => {
    await open({ reAsk: { key: EARLIER, verdict: "skip", by: shown("ann"), atMs: -3_600_000 } });
    expect(screen.getByTestId("re-ask").closest("p")?.textContent).toBe(
      `Same call as ${EARLIER} (skipped by ann, 1 h ago)`,
    );
    expect(screen.queryByRole("note")).toBeNull();
  });

  it("has no link where nothing was decided before", async () => {
    await open({});
    expect(screen.queryByTestId("re-ask")).toBeNull();
  });
});

describe("arguments of several lines", () => {
  it("mark the ends of their lines only where that is asked", async () => {
    await open({ args: [arg("body", '"Dear Ann\n\nBye"'), arg("to", '"ann"')] });
    const body = screen.getByLabelText("Arguments");
    expect(body.textContent).toContain('"Dear Ann\n\nBye"');
    expect(screen.queryAllByTestId("line-end")).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Show line ends" }));
    expect(screen.getAllByTestId("line-end")).toHaveLength(2);
    expect(body.textContent).toContain('"Dear Ann↵\n↵\nBye"');
    fireEvent.click(screen.getByRole("button", { name: "Hide line ends" }));
    expect(screen.queryAllByTestId("line-end")).toEqual([]);
  });

  it("of one line alone have no ends to mark", async () => {
    await open({});
    expect(screen.queryByRole("button", { name: "Show line ends" })).toBeNull();
  });
});

const late = (more: Partial<Card>) => card({ deadlineMs: 600_000, ...more });
const effective = [{ name: shown("defaults"), entries: [arg("n", "1")] }];
it.each([
  ["nothing else", late({})],
  ["defaults", late({ effective })],
])("every section of a card with %s keeps the same distance to the next one", async (_, one) => {
  render(<App transport={fakeConsole({ rows: [row({ deadlineMs: 600_000 })], cards: [one] })} />);
  await screen.findByTestId("card");
  const gaps = [...screen.getByTestId("card-body").querySelectorAll("section")].map(({ className }) => className);
  expect(gaps.length).toBeGreaterThan(2);
  expect(new Set(gaps)).toEqual(new Set(["mb-5"]));
});

describe("what was decided without a person", () => {
  const decision: DecisionView = {
    verdict: "approve",
    by: shown("console-1"),
    mine: false,
    origin: "rule",
    keyTail: "7Q2F",
    atMs: 0,
    message: null,
    rule: { id: shown("small-mail"), name: shown("Small mail"), version: 3, policyDigest: null },
    edited: [],
  };
  it.each([
    ["a rule", {}, "Approved by rule Small mail, version 3", "/#/rules?ws=acme&id=small-mail"],
    [
      "a rule of an unknown name",
      { rule: { id: shown("small-mail"), name: null, version: 3, policyDigest: null } },
      "Approved by rule small-mail, version 3",
      "/#/rules?ws=acme&id=small-mail",
    ],
    [
      "a setup key",
      { origin: "setup_key", rule: { id: shown("confirm_hire"), name: null, version: 7, policyDigest: null } },
      "Approved by setup key confirm_hire, version 7",
      "/#/setup",
    ],
    [
      "a bypass",
      { rule: { id: shown("bypass.acme.bot"), name: null, version: 7, policyDigest: null } },
      "Approved by rule bypass.acme.bot, version 7",
      "/#/agents",
    ],
  ])("names %s and where it is", async (_, more, words, href) => {
    await open({ state: "decided", decision: { ...decision, ...more } });
    const reported = screen.getByTestId("decision");
    expect(reported.textContent?.toLowerCase()).toContain(words.toLowerCase());
    expect(within(reported).getByRole("link").getAttribute("href")).toBe(href);
  });
});

const reported = (place: HTMLElement): void => {
  const other = within(place).getByTestId("on-bus");
  for (const part of ["denied by Gr", "U+202E", "#7", "Agents follow this one", "not this quarter"])
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
    rule: null,
    edited: [],
  };
  const ladder = [{ rung: "on_bus" as const, state: "bad" as const, atMs: 0, detail: shown("#7") }];

  it("is shown on the card", async () => {
    await open({ state: "decided", decision, onBus, ladder });
    reported(screen.getByTestId("card"));
  });

  it("is shown in the story", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    render(<App transport={fakeConsole({ answers: { request_story: () => story({ decision, onBus, ladder }) } })} />);
    reported(await screen.findByTestId("story"));
  });
});
