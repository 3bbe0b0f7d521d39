import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { historyRow, shown } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import type { OverviewView, PersonWeekView } from "../ipc/generated";
import { EVERYTHING } from "../features/history/filter";
import { App } from "./App";

// The test document has no canvas: what the chart is given is what counts.
const drawn = vi.hoisted(() => ({ data: [] as unknown[] }));
vi.mock("uplot", () => ({
  default: class {
    constructor(_options: unknown, data: unknown) {
      drawn.data.push(data);
    }
    setSize(): void {}
    destroy(): void {}
  },
}));

const VIEW: OverviewView = {
  sinceMs: 0,
  untilMs: 110_000,
  stepMs: 60_000,
  volume: [
    { startMs: 0, arrived: 8, allowed: 5, denied: 2, expired: 1 },
    { startMs: 60_000, arrived: 0, allowed: 0, denied: 0, expired: 0 },
  ],
  verdicts: [{ verdict: { value: "approve", label: shown("approve") }, count: 5 }],
  paces: [
    {
      agent: "acme/bot",
      tool: { value: "pay\u202e", label: shown("pay⟨U+202E⟩") },
      decided: 7,
      medianMs: 4_000,
      p95Ms: 61_000,
    },
    { agent: "acme/bot", tool: null, decided: 6, medianMs: 4_000, p95Ms: 61_000 },
    { agent: null, tool: null, decided: 5, medianMs: 4_000, p95Ms: 61_000 },
  ],
  pace: { agent: null, tool: null, decided: 7, medianMs: 84_000, p95Ms: 161_000 },
  frontMs: 500,
  open: 1,
  expired: 1,
  stalled: 2,
  automatic: 3,
  human: 4,
  inWindow: 3,
  hasty: 1,
  caught: 2,
  people: [],
};

const open = (more: Partial<OverviewView> = {}) => {
  window.location.hash = "#/overview";
  const console = fakeConsole({
    answers: {
      overview: () => ({ ...VIEW, ...more }),
      history_page: () => ({ rows: [historyRow(1)], next: { part: 0, at: 0, id: 1 }, unindexed: 0 }),
      history_count: () => ({ requests: 3, whole: true }),
    },
  });
  render(<App transport={console} />);
  return console;
};

beforeEach(() => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe(): void {}
      disconnect(): void {}
      unobserve(): void {}
    },
  );
});

it("says what comes here while there is nothing, in the place of empty tables", async () => {
  const none = {
    automatic: 0,
    human: 0,
    open: 0,
    people: [],
    volume: [{ startMs: 0, arrived: 0, allowed: 0, denied: 0, expired: 0 }],
  };
  window.location.hash = "#/overview";
  render(<App transport={fakeConsole({ answers: { overview: () => ({ ...VIEW, ...none }) } })} />);
  expect((await screen.findByTestId("overview-empty")).textContent).toContain("As soon as an agent asks");
  expect(document.querySelector("table")).toBeNull();
});

const TIME = { sinceMs: 0, untilMs: 110_000 };
it.each([
  ["Requests: 8", TIME],
  ["Still waiting: 1", { ...TIME, state: "waiting" }],
  ["Decided by people: 4", { ...TIME, state: "decided", origin: "operator" }],
  ["Decided automatically: 3", { ...TIME, state: "decided", origin: "automatic" }],
  ["Hasty decisions: 1", { ...TIME, state: "decided", origin: "operator", hasty: true }],
  ["Denied or edited by people: 2", { ...TIME, state: "decided", origin: "operator", verdict: "caught" }],
  ["Expired: 1", { ...TIME, state: "expired" }],
  ["Delivery overdue now: 2", { overdue: true }],
  ["approved: 5", { ...TIME, verdict: "approve" }],
  [
    "Decided by people of acme/bot, pay⟨U+202E⟩: 7",
    { ...TIME, state: "decided", origin: "operator", agent: "acme/bot", tool: "pay\u202e" },
  ],
  ["Denied from 00:00:00: 2", { sinceMs: 0, untilMs: 60_000, state: "decided", verdict: "refused" }],
])("%s leads by mouse and by keyboard to exactly these requests, and back", async (name, wanted) => {
  const console = open();
  const user = userEvent.setup();
  const link = async () => {
    const found = await screen.findByLabelText(`${name}, show them in the history`);
    return found;
  };
  await user.click(await link());
  await waitFor(() => {
    expect(console.argsOf("history_page").at(-1)?.filter).toEqual({ ...EVERYTHING, ...wanted });
  });
  await waitFor(() => {
    expect(screen.getByTestId("history-count").textContent).toBe("3 requests, newest first");
  });
  expect(console.argsOf("history_count").at(-1)).toEqual({ ...EVERYTHING, ...wanted });
  await user.keyboard("{Escape}");
  (await link()).focus();
  const asked = console.argsOf("history_page").length;
  await user.keyboard("{Enter}");
  await waitFor(() => {
    expect(console.argsOf("history_page").length).toBeGreaterThan(asked);
  });
  expect(console.argsOf("history_page").at(-1)?.filter).toEqual({ ...EVERYTHING, ...wanted });
});

it("the time is one stop of the Tab key, and goes on with the arrows", async () => {
  const console = open();
  const day = await screen.findByRole("radio", { name: "24 hours" });
  expect(screen.getAllByRole("radio").map((one) => one.tabIndex)).toEqual([-1, 0, -1, -1]);
  day.focus();
  await userEvent.keyboard("{ArrowLeft}");
  await waitFor(() => {
    expect(document.activeElement?.textContent).toBe("1 hour");
  });
  await waitFor(() => {
    const asked = console.argsOf("overview").at(-1);
    expect((asked?.untilMs ?? 0) - (asked?.sinceMs ?? 0)).toBe(3_600_000);
  });
  await userEvent.keyboard("{ArrowLeft}");
  expect(document.activeElement?.textContent).toBe("90 days");
  await userEvent.keyboard("{ArrowRight}{ArrowRight}");
  expect(document.activeElement?.textContent).toBe("24 hours");
});

it("a number that no filter of the history finds, and a nought, look like no link", async () => {
  open({ open: 0, hasty: 0 });
  await screen.findByTestId("figures");
  const links = screen
    .getAllByLabelText(/show them in the history$/)
    .map((link) => link.getAttribute("aria-label")?.split(":")[0]);
  expect(links).toEqual([
    "Requests",
    "Decided by people",
    "Decided automatically",
    "Denied or edited by people",
    "Expired",
    "Delivery overdue now",
    ...["Arrived", "Approved", "Denied", "Expired"].map((label) => `${label} from 00`),
    "Decided by people of acme/bot, pay⟨U+202E⟩",
    "approved",
  ]);
});

it("the overview draws its numbers and says them in words and tables, shares included", async () => {
  const console = open();
  const figures = await screen.findByTestId("figures");
  expect(figures.textContent).toContain("Requests8");
  expect(figures.textContent).toContain("Decided by people4 · 57 %");
  expect(figures.textContent).toContain("Hasty decisions1 · 33 %");
  expect(figures.textContent).toContain("Denied or edited by people2 · 50 %");
  expect(figures.textContent).toContain("By people: median card open · waiting500 ms · 1 min 24 s");
  expect(drawn.data.at(-1)).toEqual([
    [0, 60],
    [8, 0],
    [5, 0],
    [2, 0],
    [1, 0],
  ]);
  // A piece in which nothing happened is a point of the chart and no line of the table.
  expect(within(screen.getByTestId("numbers")).getAllByRole("row", { hidden: true })).toHaveLength(2);
  expect(screen.getByTestId("paces").querySelectorAll(".shown-mark")).toHaveLength(1);
  // The desktop's theme may change while the choice stays "system".
  const before = drawn.data.length;
  act(() => {
    document.documentElement.dataset["theme"] =
      document.documentElement.dataset["theme"] === "light" ? "dark" : "light";
  });
  await waitFor(() => {
    expect(drawn.data.length).toBe(before + 1);
  });
  const [asked] = console.argsOf("overview");
  expect((asked?.untilMs ?? 0) - (asked?.sinceMs ?? 0)).toBe(86_400_000);
});

it("people are listed by week with their shares, and a dash where there is nothing to share", async () => {
  const week: PersonWeekView = {
    name: shown("mar⟨U+202E⟩ia"),
    key: "UAAA",
    own: true,
    sinceMs: new Date(2026, 10, 23).getTime(),
    decided: 100,
    denied: 7,
    byCli: 0,
    inWindow: 100,
    hasty: 100,
    frontMs: 500,
    changed: 0,
    caught: 0,
  };
  const cli = { decided: 3, denied: 0, byCli: 3, inWindow: 0, hasty: 0, frontMs: null, changed: 4, caught: 3 };
  const console = open({ people: [week, { ...week, ...cli, name: shown("lena"), key: "UBBB", own: false }] });
  const rows = within(await screen.findByTestId("people"))
    .getAllByRole("row")
    .slice(1);
  expect(rows.map((row) => [...row.children].map((cell) => cell.textContent).slice(1))).toEqual([
    [expect.stringContaining("(you)"), "100", "–", "7 % of 100", "100 % of 100", "500 ms", "–"],
    ["lena", "3", "3", "0 % of 3", "–", "–", "75 % of 4"],
  ]);
  const [asked] = console.argsOf("overview");
  expect(asked?.weeksMs.length).toBeGreaterThan(0);
  expect(asked?.weeksMs.every((ms) => new Date(ms).getDay() === 1)).toBe(true);
});
