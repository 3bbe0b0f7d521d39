import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { card, row, shown, span, traceLine, traceTree } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import type { SpanView, TraceLine, TraceRow, TraceTree } from "../ipc/generated";
import { App } from "./App";

const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const KEY = "acme/billing-bot/r1";

const tree = traceTree(
  [
    traceLine({ span: 1, kind: "agent", name: shown("close account"), endMs: null, look: "running" }),
    traceLine({ span: 2, parent: 0, depth: 1, name: shown("crm.lookup") }),
    traceLine({ span: 3, parent: 1, depth: 2, name: shown("inner"), look: "error", code: shown("502") }),
    traceLine({
      span: null,
      request: KEY,
      parent: 0,
      depth: 1,
      kind: "request",
      name: shown("delete_invoice"),
      startMs: 400,
      endMs: null,
      look: "waiting",
      wait: { startMs: 400, endMs: 1_000, verdict: null, origin: null, by: null },
    }),
  ],
  { waitingMs: 600 },
);

const open = async (hash: string, more: { tree?: TraceTree; span?: SpanView } = {}): Promise<FakeConsole> => {
  window.location.hash = hash;
  const console = fakeConsole({
    rows: [row({ deadlineMs: 600_000 })],
    cards: [card({ deadlineMs: 600_000 })],
    answers: { trace_tree: () => more.tree ?? tree, span: () => more.span ?? span() },
  });
  render(<App transport={console} />);
  return console;
};
const openTree = async (more: { tree?: TraceTree; span?: SpanView } = {}): Promise<FakeConsole> => {
  const console = await open("#/traces/tree?key=trace%3A7", more);
  await screen.findByTestId("tree");
  return console;
};
const names = (): string[] =>
  screen.getAllByTestId("line").map((line) => line.querySelector(".shown")?.textContent ?? "");
const axis = (): string => screen.getByTestId("axis").textContent ?? "";
const chosen = (): string =>
  screen.getByRole("treeitem", { selected: true }).querySelector(".shown")?.textContent ?? "";

describe("a trace", () => {
  it("opens from a card with T at the line of its request, and Esc leads back to the card", async () => {
    const console = await open("");
    await screen.findByTestId("card");
    press("t");
    await screen.findByTestId("tree");
    expect(console.argsOf("trace_tree")).toEqual([{ key: KEY }]);
    expect(chosen()).toBe("delete_invoice");
    press("Escape");
    expect((await screen.findByTestId("card")).dataset["key"]).toBe(KEY);
  });

  it("keeps its cursor and its closed branches when lines come before them, and opens its line's card", async () => {
    const OTHER = "acme/billing-bot/r2";
    const [own, other] = [KEY, OTHER].map((key) =>
      traceLine({
        span: null,
        request: key,
        parent: 0,
        depth: 1,
        kind: "request",
        name: shown(key),
        startMs: 400,
        endMs: null,
        look: "waiting",
      }),
    ) as [TraceLine, TraceLine];
    const root = traceLine({ span: 1, kind: "agent", name: shown("close account"), endMs: null, look: "running" });
    const subchat = traceLine({ span: 2, parent: 0, depth: 1, name: shown("subchat") });
    const [inner, later] = [1, 2].map((parent) => traceLine({ span: 3, parent, depth: 2, name: shown("inner") })) as [
      TraceLine,
      TraceLine,
    ];
    const console = await openTree({ tree: traceTree([root, subchat, inner, own, other]) });
    press("j");
    press("ArrowLeft");
    await waitFor(() => {
      expect(names()).toEqual(["close account", "subchat", KEY, OTHER]);
    });
    press("j");
    expect(chosen()).toBe(KEY);
    // It comes under the root, before everything else there.
    const late = traceLine({ span: 9, parent: 0, depth: 1, name: shown("late") });
    console.answers.trace_tree = () => traceTree([root, late, subchat, later, own, other]);
    await waitFor(
      () => {
        expect(names()).toEqual(["close account", "late", "subchat", KEY, OTHER]);
      },
      { timeout: 5_000 },
    );
    expect(chosen()).toBe(KEY);
    press("t");
    expect((await screen.findByTestId("card")).dataset["key"]).toBe(KEY);
  });

  it("leads from a line to the card of its request with T, and does nothing where there is none", async () => {
    await openTree();
    press("t");
    expect(screen.queryByTestId("card")).toBeNull();
    for (let step = 0; step < 3; step += 1) press("j");
    expect(chosen()).toBe("delete_invoice");
    press("t");
    expect((await screen.findByTestId("card")).dataset["key"]).toBe(KEY);
  });

  it("closes and opens branches with the arrows, and finds trouble in a closed one", async () => {
    await openTree();
    press("j");
    press("ArrowLeft");
    expect(names()).toEqual(["close account", "crm.lookup", "delete_invoice"]);
    press("ArrowRight");
    expect(names()).toContain("inner");
    press("ArrowLeft");
    press("ArrowLeft");
    expect(chosen()).toBe("close account");
    press("f");
    expect(chosen()).toBe("inner");
    expect(within(screen.getByRole("treeitem", { selected: true })).getByText("502")).toBeTruthy();
  });

  it("names subchats, and says whether a call waits for them, for a decision, or for what nobody reported", async () => {
    const waiting = { endMs: null, look: "waiting" } as const;
    await openTree({
      tree: traceTree([
        traceLine({ name: shown("hand_out"), subchats: 2, ...waiting }),
        traceLine({ kind: "subchat", parent: 0, depth: 1, name: shown("ask the north") }),
        traceLine({ name: shown("one"), subchats: 1, ...waiting }),
        traceLine({ name: shown("silent"), ...waiting }),
        traceLine({
          name: shown("asked"),
          ...waiting,
          subchats: 1,
          wait: { startMs: 0, endMs: 1, verdict: null, origin: null, by: null },
        }),
        ...[2, 0].map((subchats) =>
          traceLine({
            name: shown("approved"),
            ...waiting,
            subchats,
            wait: { startMs: 0, endMs: 1, verdict: "approve", origin: "operator", by: null },
          }),
        ),
      ]),
    });
    const said = screen.getAllByTestId("line").map((line) => line.textContent);
    expect(said.map((text) => text.split(", ").at(-1))).toEqual([
      "waits for 2 subchats",
      "succeeded",
      "waits for 1 subchat",
      "waiting",
      "waits for a decision",
      "waits for 2 subchats",
      "waiting",
    ]);
    expect(said[1]).toMatch(/^subchatask the north/);
  });

  it("shows the time that was waited for a decision, and zooms with keys", async () => {
    await openTree();
    expect(screen.getByTestId("trace-sum").textContent).toContain(
      "4 lines, 1.0 s, 600 ms of it waiting for a decision",
    );
    const before = axis();
    press("+");
    await waitFor(() => {
      expect(axis()).not.toBe(before);
    });
    press("0");
    await waitFor(() => {
      expect(axis()).toBe(before);
    });
  });

  it("says what a missing trace means", async () => {
    const console = await open("#/traces/tree?key=nothing");
    console.answers.trace_tree = () => {
      throw new CallError("not_found", "a trace of nothing");
    };
    await screen.findByText(/Trace not found/, undefined, { timeout: 3_000 });
  });

  it("says when it is too large to be listed or read whole", async () => {
    await openTree({ tree: { ...tree, truncated: true, partlyRead: true } });
    expect(screen.getByText(/This trace has more spans/)).toBeTruthy();
    expect(screen.getByText(/too large to read every span/)).toBeTruthy();
  });
});

describe("a span", () => {
  it("shows its error by kind with what is missing, its parts, its artifacts and the calls of a chain", async () => {
    await openTree({
      span: span({
        fault: {
          kind: "credential",
          code: shown("428"),
          errorType: null,
          message: null,
          missingKeys: [shown("STRIPE_KEY")],
          tool: null,
          param: null,
          issue: null,
          suggestion: null,
        },
        output: [
          { type: "text", text: shown("three rows"), cut: 2_048, shortened: { type: "compressed", from: 9_000 } },
          { type: "image", mime: "image/png", data: "AA==", width: 20, height: 10 },
          { type: "wrong", mime: shown("image/svg+xml"), why: "its bytes are not an image" },
          { type: "reference", name: shown("art_1") },
        ],
        artifacts: [
          {
            name: shown("report.csv"),
            mime: null,
            role: null,
            retention: null,
            url: shown("https://example.com/r"),
            sha256: shown("9f3a"),
            size: 41_000,
          },
        ],
        chain: [{ tool: shown("billing.export"), status: shown("timeout"), durationMs: 60_000, argsDigest: null }],
      }),
    });
    const detail = screen.getByTestId("span-detail");
    expect((await within(detail).findByTestId("fault")).textContent).toContain(
      "A credential is missing428 Missing: STRIPE_KEY",
    );
    expect(within(detail).getByTestId("shortened").textContent).toContain(
      "compressed by the framework, from 9,000 characters",
    );
    expect(detail.textContent).toContain("2.0 KB more");
    expect(within(detail).getByTestId("artifact").textContent).toContain("report.csv, 41 KB");
    expect(within(detail).getByTestId("chain").textContent).toContain("billing.exporttimeout1 min 0 s");
    // Bytes from the bus only: nothing on the page has an address to fetch from.
    expect(detail.querySelectorAll("img, a[href], iframe, object")).toHaveLength(0);
    expect(detail.textContent).toContain("not drawn: its bytes are not an image");
  });

  it("shows what it used alone beside the sum of all below it", async () => {
    const usage = { tokensCharged: 1_204, executionTimeMs: 0, inputTokens: 0, outputTokens: 0, costUsd: 0.5 };
    await openTree({
      tree: traceTree([traceLine({ usage })]),
      span: span({ usage: { ...usage, tokensCharged: 4, costUsd: 0 } }),
    });
    await waitFor(() => {
      expect(screen.getByTestId("usage").textContent).toContain("Tokens charged41,204");
    });
    expect(screen.getByTestId("usage").textContent).toContain("Cost–$0.50");
  });
});

const line = (number: number, more: Partial<TraceRow> = {}): TraceRow => ({
  key: `trace:${number}`,
  name: shown(`run ${number}`),
  agents: ["acme/bot"],
  startedMs: 0,
  lastMs: 2_000,
  spans: 3,
  longer: false,
  open: 0,
  failed: 0,
  waiting: 0,
  ...more,
});

describe("the list of traces", () => {
  it("opens what is chosen with Enter or O, and pages by key", async () => {
    const console = await open("#/traces");
    console.answers.traces_page = ({ before }) =>
      before === null
        ? { rows: [line(9, { waiting: 1, longer: true }), line(8)], next: 8 }
        : { rows: [line(8), line(7)], next: null };
    await screen.findByText("run 7", undefined, { timeout: 5_000 });
    expect(screen.getAllByTestId("trace-row").map((item) => item.dataset["key"])).toEqual([
      "trace:9",
      "trace:8",
      "trace:7",
    ]);
    expect(screen.getAllByTestId("trace-row")[0]?.textContent).toContain("3+ spans1+ waiting");
    press("j");
    press("Enter");
    await screen.findByTestId("tree");
    expect(console.argsOf("trace_tree")).toEqual([{ key: "trace:8" }]);
  });

  it("says what appears there while it is empty", async () => {
    await open("#/traces");
    await screen.findByText("No agent has sent any spans yet.");
  });
});
