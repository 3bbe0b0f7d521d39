import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { batch, card, historyRow, shown, story } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import { EVERYTHING } from "../features/history/filter";
import { App } from "./App";

const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};

const open = async (hash = "#/history", answers: FakeConsole["answers"] = {}): Promise<FakeConsole> => {
  window.location.hash = hash;
  const console = fakeConsole({ cards: [card()], answers });
  render(<App transport={console} />);
  return console;
};
const lastFilter = (console: FakeConsole) => console.argsOf("history_page").at(-1)?.filter;

beforeEach(() => {
  localStorage.clear();
});

describe("the history", () => {
  it("is read page by page, and opens a story with O and comes back to its line", async () => {
    const console = await open("#/history", {
      history_page: ({ after }) =>
        after === null
          ? { rows: [historyRow(9), historyRow(8)], next: { part: 0, at: 0, id: 8 }, unindexed: 0 }
          : { rows: [historyRow(7)], next: null, unindexed: 0 },
      request_story: () => story(),
    });
    await waitFor(() => {
      expect(screen.getAllByTestId("history-row")).toHaveLength(3);
    });
    press("j");
    press("o");
    expect((await screen.findByTestId("story")).dataset["key"]).toBe("acme/bot/r8");
    expect(console.argsOf("request_story")).toEqual([{ key: "acme/bot/r8" }]);
    press("Escape");
    await waitFor(() => {
      expect(document.querySelector<HTMLElement>("[data-testid=history-row][aria-selected=true]")?.dataset["key"]).toBe(
        "acme/bot/r8",
      );
    });
  });

  it("is read again while requests never cease to change, and does not say meanwhile that there is none", async () => {
    let rows = [historyRow(1)].slice(1);
    const console = await open("#/history", { history_page: () => ({ rows, next: null, unindexed: 0 }) });
    await screen.findByText("No requests on this bus yet.");
    rows = [historyRow(1)];
    const seen: boolean[] = [];
    for (let number = 1; number <= 12; number += 1) {
      act(() => {
        console.send(
          batch(number, [], { touched: [{ key: `acme/bot/r${number}`, verdict: null, by: null, mine: false }] }),
        );
      });
      seen.push(screen.queryByText("No requests on this bus yet.") === null);
      // oxlint-disable-next-line no-await-in-loop -- each change before the first one's reading is due
      await act(async () => {
        await new Promise((done) => {
          setTimeout(done, 100);
        });
      });
    }
    expect([seen.every(Boolean), screen.queryAllByTestId("history-row").length]).toEqual([true, 1]);
  });

  it("never says that there is nothing where it could not be read", async () => {
    await open("#/history", {
      history_page: () => {
        throw new CallError("failed", "the store is gone");
      },
    });
    await screen.findByText("the store is gone");
    expect(screen.getByTestId("history-empty").textContent).toBe("");
  });

  it("is narrowed by words and by choices, and says what a search cannot find", async () => {
    const console = await open("#/history", {
      history_page: ({ filter }) => ({
        rows: filter.text === "nothing" ? [] : [historyRow(1)],
        next: null,
        unindexed: filter.text === "" ? 0 : 1_200,
      }),
      history_filter_values: () => ({
        workspaces: [],
        agents: [],
        tools: [{ value: "pay\u202e", label: shown("pay⟨U+202E⟩") }],
        operators: [],
        rules: [],
      }),
    });
    await screen.findAllByTestId("history-row");
    fireEvent.change(screen.getByLabelText(/^Search the words/), { target: { value: "acme invoice*" } });
    await waitFor(() => {
      expect(lastFilter(console)?.text).toBe("acme invoice*");
    });
    await screen.findByText(/1,200 requests are not indexed yet/);
    await within(screen.getByTestId("filters")).findByText("pay⟨U+202E⟩");
    fireEvent.change(screen.getByLabelText("Tool"), { target: { value: "pay\u202e" } });
    fireEvent.change(screen.getByLabelText("Verdict"), { target: { value: "deny" } });
    await waitFor(() => {
      expect(lastFilter(console)).toMatchObject({ text: "acme invoice*", tool: "pay\u202e", verdict: "deny" });
    });
    fireEvent.change(screen.getByLabelText(/^Search the words/), { target: { value: "nothing" } });
    await screen.findByText("No request matches this filter.");
    fireEvent.click(screen.getByText("Clear"));
    await waitFor(() => {
      expect(lastFilter(console)).toMatchObject({ text: "", tool: null, verdict: null });
    });
  });

  it("keeps a search under a name, chooses it again and forgets it", async () => {
    const searches = [{ name: "said no", filter: { ...EVERYTHING, verdict: "deny" } }];
    const console = await open("#/history", {
      history_page: () => ({ rows: [historyRow(1)], next: null, unindexed: 0 }),
      saved_searches: () => ({ searches }),
      save_search: () => ({ searches }),
      forget_search: () => ({ searches: [] }),
    });
    fireEvent.click(await screen.findByText(/^Searches, 1/));
    fireEvent.click(await screen.findByText("said no"));
    await waitFor(() => {
      expect(lastFilter(console)?.verdict).toBe("deny");
    });
    fireEvent.click(screen.getByText(/^Searches, 1/));
    fireEvent.change(await screen.findByLabelText("Name of this search"), { target: { value: "said no" } });
    fireEvent.click(screen.getByText("Save"));
    await waitFor(() => {
      expect(console.argsOf("save_search")).toHaveLength(1);
    });
    fireEvent.click(screen.getByLabelText("Forget said no"));
    await screen.findByText("No search is saved yet.");
  });
});

describe("the lines of the history", () => {
  it("say what was called with which arguments, when it was stored and when it was decided", async () => {
    await open("#/history", {
      history_page: () => ({
        rows: [
          historyRow(2, { summary: shown("to: ada⟨U+202E⟩"), storedMs: 60_000, decidedMs: 120_000 }),
          historyRow(1, { summary: null, state: "pending", verdict: null, decidedMs: null }),
        ],
        next: null,
        unindexed: 0,
      }),
    });
    const [first, second] = await screen.findAllByTestId("history-row");
    expect(first?.textContent).toContain("to: ada");
    expect(first?.querySelectorAll(".shown-mark")).toHaveLength(1);
    expect(first?.textContent?.match(/\d\d:\d\d:\d\d/g)).toHaveLength(2);
    expect(second?.textContent?.match(/\d\d:\d\d:\d\d/g)).toHaveLength(1);
  });

  it("are sorted by a column, one way and the other, page by page", async () => {
    const console = await open("#/history", {
      history_page: ({ after }) => ({
        rows: [historyRow(after === null ? 2 : 1)],
        next: after === null ? { part: 1, at: 7, id: 2 } : null,
        unindexed: 0,
      }),
    });
    await screen.findAllByTestId("history-row");
    const last = () => console.argsOf("history_page").at(-1);
    for (const [column, sort, words] of [
      ["Decided", { by: "decided", ascending: false }, "last decided first"],
      ["Decided", { by: "decided", ascending: true }, "first decided first"],
      ["Risk", { by: "risk", ascending: false }, "highest risk first"],
      ["Stored", { by: "stored", ascending: false }, "newest first"],
    ] as const) {
      fireEvent.click(screen.getByLabelText(new RegExp(`^Sort by ${column}`)));
      // oxlint-disable-next-line no-await-in-loop -- one click after the other
      await waitFor(() => {
        expect(last()).toMatchObject({ sort, after: { part: 1, at: 7, id: 2 } });
      });
      expect(screen.getByTestId("history-count").textContent).toContain(words);
    }
  });
});

const narrowed = async (answers: FakeConsole["answers"]): Promise<FakeConsole> => {
  const console = await open("#/history", {
    history_page: () => ({ rows: [historyRow(1)], next: null, unindexed: 0 }),
    ...answers,
  });
  await screen.findAllByTestId("history-row");
  fireEvent.change(screen.getByLabelText("Verdict"), { target: { value: "deny" } });
  await waitFor(() => {
    expect(lastFilter(console)?.verdict).toBe("deny");
  });
  fireEvent.click(screen.getByText("Export"));
  return console;
};

describe("an export", () => {
  const view = { file: shown("history⟨U+202E⟩.csv"), done: 1_500, ended: false, trouble: null };

  it("asks for exactly what is filtered, says how far it is, and can be cancelled", async () => {
    let cancelled = false;
    const console = await narrowed({
      start_export: () => ({ number: 3 }),
      export: () => (cancelled ? { ...view, ended: true, trouble: "the export was cancelled" } : view),
      stop_export: () => {
        cancelled = true;
        return {};
      },
    });
    fireEvent.click(await screen.findByText(/^CSV/));
    const bar = await screen.findByTestId("export");
    expect(bar.textContent).toContain("1,500 requests");
    expect(bar.querySelectorAll(".shown-mark")).toHaveLength(1);
    expect(console.argsOf("start_export")).toEqual([{ format: "csv", filter: { ...EVERYTHING, verdict: "deny" } }]);
    fireEvent.click(within(bar).getByText("Cancel"));
    await screen.findByText("the export was cancelled");
    expect(console.argsOf("stop_export")).toEqual([{ number: 3 }]);
    fireEvent.click(within(screen.getByTestId("export")).getByText("Close"));
    expect(screen.queryByTestId("export")).toBeNull();
  });

  it("says which file is whole, and why there is none", async () => {
    const console = await narrowed({
      start_export: () => ({ number: 4 }),
      export: () => ({ ...view, done: 1, ended: true }),
    });
    fireEvent.click(await screen.findByText(/^JSON lines/));
    await screen.findByText(/^Exported/);
    expect(screen.getByTestId("export").textContent).toContain(": 1 request");
    console.answers.start_export = () => {
      throw new CallError("read_only", "the store takes no writes");
    };
    fireEvent.click(screen.getByText("Export"));
    fireEvent.click(await screen.findByText(/^CSV/));
    await screen.findByText("the store takes no writes");
  });

  it("of which no file was chosen is none", async () => {
    const console = await narrowed({ start_export: () => ({ number: null }) });
    fireEvent.click(await screen.findByText(/^CSV/));
    await waitFor(() => {
      expect(screen.getByText<HTMLButtonElement>("Export").disabled).toBe(false);
    });
    expect(screen.queryByTestId("export")).toBeNull();
    expect(console.argsOf("export")).toEqual([]);
  });
});

describe("a story", () => {
  it("says what was asked, who signed what, the votes, the rule and the audit rows", async () => {
    await open("#/history/request?key=acme%2Fbot%2Fr1", {
      request_story: () =>
        story({
          row: historyRow(8, { origin: shown("rule") }),
          signature: {
            key: shown("UABC"),
            sig: shown("c2ln"),
            fault: null,
            streamSeq: 7,
            storedMs: 0,
            payload: { offset: 0, total: 2, next: null, text: shown("{}"), hex: "7b7d" },
          },
          votes: [
            { by: shown("Grace"), keyTail: "7Q2F", verdict: shown("approve"), atMs: 0, stands: true, mine: false },
          ],
          rule: { id: shown("refunds-1"), name: shown("Small refunds"), version: 3, policyDigest: shown("sha256:aa") },
          audit: [{ seq: 48, hash: "ab".repeat(32), action: "decide", actor: shown("UABC"), atMs: 0 }],
        }),
    });
    const page = await screen.findByTestId("story");
    expect(within(page).getByTestId("signature").dataset["ok"]).toBe("true");
    expect(within(page).getByTestId("story-votes").textContent).toContain("Grace approved");
    const rule = within(page).getByTestId("rule-link");
    expect(rule.textContent).toBe("rule Small refunds, version 3");
    expect(within(rule).getByRole("link").getAttribute("href")).toBe("/#/rules?ws=acme&id=refunds-1");
    expect(within(page).getByTestId("story-audit").textContent).toContain("#48 decide");
  });

  it("says that a stored decision does not verify, and that retention took the bytes", async () => {
    await open("#/history/request?key=acme%2Fbot%2Fr1", {
      request_story: () =>
        story({
          card: null,
          raw: null,
          removedMs: 1,
          signature: {
            key: null,
            sig: null,
            fault: "no known key signed it",
            streamSeq: 7,
            storedMs: 0,
            payload: { offset: 0, total: 0, next: null, text: [], hex: "" },
          },
        }),
    });
    await screen.findByText(/It does not verify: no known key signed it/);
    await screen.findByText(/Retention removed the request’s content/);
  });
});
