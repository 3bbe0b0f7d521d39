import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, settings, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { Card, InboxRow, ReaderView } from "../ipc/generated";
import { App } from "./App";

const OFF: ReaderView = {
  sentence: null,
  fault: null,
  workspaces: ["acme", "lab"],
  asked: 0,
  failed: 0,
  skipped: 0,
  marked: 0,
  markedDecided: 0,
  markedDenied: 0,
  looked: 0,
  lookedDenied: 0,
  lastError: null,
  restingMs: null,
};
const LEAVES = "Arguments of acme leave this machine, to api.anthropic.com.";
const ON: ReaderView = { ...OFF, sentence: LEAVES, asked: 9, marked: 4, markedDecided: 3, markedDenied: 2 };
const MARK = { at: shown("/to"), code: "other", message: shown("the text refuses"), edited: false };

const inbox = async (of: Partial<InboxRow>, more: Partial<Card>): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row({ deadlineMs: 600_000, ...of }), row({ key: "acme/billing-bot/r2", seq: 2, deadlineMs: 700_000 })],
    cards: [card({ deadlineMs: 600_000, ...more }), card({ key: "acme/billing-bot/r2", deadlineMs: 700_000 })],
    status: { ...status(), reader: LEAVES },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};

describe("a card that the reader marked", () => {
  it("has its words in quotes below the arguments, and a sign of its own in the list", async () => {
    await inbox({ byReader: true }, { reader: [MARK, { ...MARK, edited: true }] });
    const added = await screen.findByTestId("added-by-reader");
    expect(added.textContent).toBe("/to“the text refuses”/to“the text refuses”This value was edited since.");
    expect(added.closest("section")?.querySelector("h3")?.textContent).toBe("Added by the reader, a machine");
    expect(screen.getAllByTestId("by-reader")).toHaveLength(1);
    expect(screen.queryByTestId("findings")).toBeNull();
    const end = document.querySelector("#arguments-end");
    expect(end === null ? 0 : end.compareDocumentPosition(added)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  });

  it("stays armed when the mark comes, and its other rows stay in their order", async () => {
    const console = await inbox({}, {});
    const shownCard = screen.getByTestId("card");
    await waitFor(() => {
      expect(shownCard.dataset["armed"]).toBe("true");
    });
    const disarmed: (string | undefined)[] = [];
    new MutationObserver(() => disarmed.push(shownCard.dataset["armed"])).observe(shownCard, { attributes: true });
    console.answers.card = () => card({ deadlineMs: 600_000, reader: [MARK] });
    act(() => {
      console.send(batch(1, [], { touched: [{ key: "acme/billing-bot/r1", verdict: null, by: null, mine: false }] }));
    });
    await screen.findByTestId("added-by-reader");
    expect(shownCard.dataset["armed"]).toBe("true");
    expect(disarmed).not.toContain("false");
  });

  it("is left out of a batch, which says why", async () => {
    await inbox({ byReader: true }, { reader: [MARK] });
    fireEvent.keyDown(document.body, { key: "x" });
    expect(await screen.findByText(/The reader, a machine, marked this call/u)).toBeTruthy();
    expect(screen.queryByTestId("batch")).toBeNull();
  });

  it("has nothing where it has no mark; the status bar says where arguments go all the same", async () => {
    await inbox({}, {});
    expect(screen.queryByTestId("added-by-reader")).toBeNull();
    expect(screen.queryByTestId("by-reader")).toBeNull();
    expect(screen.getByTestId("reader").textContent).toBe(LEAVES);
  });
});

const open = async (now: ReaderView): Promise<FakeConsole> => {
  window.location.hash = "#/settings";
  const console = fakeConsole({
    status: status(),
    answers: {
      settings: () => settings(),
      reader: () => now,
      readers_found: () => ({
        found: [
          { name: "claude-code", place: "/usr/bin/claude", outside: "api.anthropic.com", models: [] },
          { name: "ollama", place: "127.0.0.1", outside: null, models: [{ name: "m:cloud", outside: "ollama.com" }] },
          { name: "lm-studio", place: null, outside: null, models: [] },
        ],
      }),
      use_reader: () => ON,
      stop_reader: () => OFF,
      try_reader: () => ({ found: 5, of: 6, falseMarks: 0, ofGood: 6, failed: 0, why: null, seconds: 3.25 }),
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId("setting-reader");
  return console;
};

describe("a second reader in Settings", () => {
  it("is used once workspaces are chosen and the host is typed", async () => {
    const console = await open(OFF);
    expect(screen.queryByRole("button", { name: "Use LM Studio" })).toBeNull();
    fireEvent.click(await screen.findByRole("button", { name: "Use Claude Code" }));
    const dialog = await screen.findByRole("dialog", { name: "Use Claude Code" });
    const use = within(dialog).getByTestId("use-reader");
    expect(use).toHaveProperty("disabled", true);
    fireEvent.click(within(dialog).getByLabelText("acme"));
    fireEvent.change(within(dialog).getByLabelText(/Type api.anthropic.com/u), { target: { value: "api.anthropic" } });
    expect(use).toHaveProperty("disabled", true);
    fireEvent.change(within(dialog).getByLabelText(/Type api.anthropic.com/u), {
      target: { value: "api.anthropic.com" },
    });
    fireEvent.click(use);
    await waitFor(() => {
      expect(console.argsOf("use_reader")).toEqual([
        { name: "claude-code", workspaces: ["acme"], model: null, typed: "api.anthropic.com" },
      ]);
    });
    await waitFor(() => {
      expect(screen.getByTestId("reader-state").textContent).toBe(LEAVES);
    });
  });

  it("is tried and stopped", async () => {
    const console = await open(ON);
    fireEvent.click(await screen.findByRole("button", { name: "Try it" }));
    expect((await screen.findByTestId("reader-tried")).textContent).toBe(
      "5 of 6 bad cards were marked at the place, and 0 of 6 good ones; 3.3 s in the middle.",
    );
    fireEvent.click(screen.getByRole("button", { name: "Stop using it" }));
    await waitFor(() => {
      expect(console.argsOf("stop_reader")).toHaveLength(1);
    });
    expect((await screen.findByTestId("reader-state")).textContent).toBe("No second reader is on.");
  });
});
