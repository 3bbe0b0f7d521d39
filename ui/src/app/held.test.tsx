import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { agent, batch, historyRow, ruleRow, setupForm, setupLine, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { RejectedRow, TraceRow } from "../ipc/generated";
import { App } from "./App";

// Lists are read again every 3 s.
const AGAIN = { timeout: 5_000 };
const press = (key: string): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
};
const names = (from: number): string[] =>
  Array.from({ length: 100 - from }, (_, number) => `n${String(from + number).padStart(2, "0")}`);
const rejected = (name: string, number: number): RejectedRow => ({
  key: `rejected:${name}`,
  atMs: number,
  code: "not_json",
  detail: shown("no"),
  subject: null,
});
const trace = (name: string): TraceRow => ({
  key: `trace:${name}`,
  name: shown(name),
  agents: ["a/b"],
  startedMs: 0,
  lastMs: 1,
  spans: 1,
  longer: false,
  waiting: 0,
  failed: 0,
  open: 0,
});

interface List {
  readonly hash: string;
  readonly row: string;
  readonly rowPx: number;
  readonly answers: (now: () => readonly string[]) => FakeConsole["answers"];
}

const LISTS: readonly (readonly [string, List])[] = [
  [
    "history",
    {
      hash: "#/history",
      row: "history-row",
      rowPx: 40,
      answers: (now) => ({
        history_page: () => ({
          rows: now().map((name) => historyRow(1, { key: `acme/bot/${name}` })),
          next: null,
          unindexed: 0,
        }),
      }),
    },
  ],
  [
    "rejected messages",
    {
      hash: "#/rejected",
      row: "rejected-row",
      rowPx: 60,
      answers: (now) => ({
        rejected_list: () => ({ rows: now().map(rejected), next: null }),
        rejected_detail: () => {
          throw new Error("not looked at");
        },
      }),
    },
  ],
  [
    "agents",
    {
      hash: "#/agents",
      row: "agent-row",
      rowPx: 68,
      answers: (now) => ({
        agents_list: () => ({ agents: now().map((name) => agent({ key: `acme/${name}` })), serverMs: 0 }),
      }),
    },
  ],
  [
    "traces",
    {
      hash: "#/traces",
      row: "trace-row",
      rowPx: 44,
      answers: (now) => ({ traces_page: () => ({ rows: now().map(trace), next: null }) }),
    },
  ],
  [
    "setup",
    {
      hash: "#/setup",
      row: "setup-row",
      rowPx: 52,
      answers: (now) => ({
        setup_list: () => ({ agents: now().map((name) => setupLine({ key: `acme/${name}` })) }),
        setup_of: ({ agent: key }) => setupForm({ key }),
      }),
    },
  ],
  [
    "rules",
    {
      hash: "#/rules",
      row: "rule-row",
      rowPx: 58,
      answers: (now) => ({
        rules_list: () => ({
          workspace: "acme",
          workspaces: ["acme"],
          revision: 1,
          rules: now().map((id) => ruleRow({ id })),
          serverMs: 0,
        }),
        rule_text: ({ id }) => ({ id, version: 3, text: `id = "${id}"\n` }),
        start_preview: () => ({ number: 1 }),
        preview: () => ({ done: 0, of: 1, report: null, trouble: null }),
      }),
    },
  ],
];

it.each(LISTS)(
  "the list of %s moves with its cursor alone: what comes before the rows on screen moves none of them",
  async (_, { hash, row, rowPx, answers }) => {
    window.location.hash = hash;
    let all = names(3);
    const console = fakeConsole({ answers: answers(() => all), status: status({ rejected: 1 }) });
    render(<App transport={console} />);
    const [first] = await screen.findAllByTestId(row);
    const list = first?.closest<HTMLElement>("[role=listbox]") as HTMLElement;
    press("j");
    await waitFor(() => {
      expect(screen.getAllByTestId(row)[1]?.getAttribute("aria-selected")).toBe("true");
    });
    list.scrollTop = 20 * rowPx;
    fireEvent.scroll(list);
    await waitFor(() => {
      expect(screen.getAllByTestId(row).length).toBeGreaterThan(0);
    });
    const asked = console.asked.length;
    all = names(0);
    act(() => {
      console.send(
        batch(1, [], {
          touched: [{ key: "acme/bot/n00", verdict: null, by: null, mine: false }],
          status: status({ rejected: 2 }),
        }),
      );
    });
    await waitFor(() => {
      expect([list.scrollTop, console.asked.length > asked]).toEqual([23 * rowPx, true]);
    }, AGAIN);
    press("j");
    await waitFor(() => {
      expect(list.scrollTop).toBeLessThan(10 * rowPx);
    });
  },
);
