import { act, render, screen, waitFor, within } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { shown } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { App } from "./App";

// The test document has no canvas: what the chart is given is what counts.
const drawn = vi.hoisted(() => ({ data: [] as unknown[] }));
vi.mock("uplot", () => ({
  default: class {
    constructor(_options: unknown, data: unknown) { drawn.data.push(data); }
    setSize(): void {}
    destroy(): void {}
  },
}));

it("the overview draws its numbers and says them in words and tables, shares included", async () => {
  vi.stubGlobal("ResizeObserver", class { observe(): void {} disconnect(): void {} unobserve(): void {} });
  window.location.hash = "#/overview";
  const console = fakeConsole({ answers: { overview: () => ({
    volume: [{ startMs: 0, arrived: 8, allowed: 5, denied: 2, expired: 1 }, { startMs: 60_000, arrived: 0, allowed: 0, denied: 0, expired: 0 }],
    verdicts: [{ verdict: shown("approve"), count: 5 }], paces: [{ agent: "acme/bot", tool: shown("pay⟨U+202E⟩"), decided: 7, medianMs: 4_000, p95Ms: 61_000 }],
    pace: { agent: null, tool: null, decided: 7, medianMs: 4_000, p95Ms: 61_000 }, open: 1, expired: 1, stalled: 2, automatic: 3, human: 4, hasty: 1,
  }) } });
  render(<App transport={console} />);
  const figures = await screen.findByTestId("figures");
  expect(figures.textContent).toContain("Requests8");
  expect(figures.textContent).toContain("Decided by people4 · 57 %");
  expect(figures.textContent).toContain("In under 2 s by people1 · 25 %");
  expect(figures.textContent).toContain("4.0 s · 1 min 1 s");
  expect(drawn.data.at(-1)).toEqual([[0, 60], [8, 0], [5, 0], [2, 0], [1, 0]]);
  // A piece in which nothing happened is a point of the chart and no line of the table.
  expect(within(screen.getByTestId("numbers")).getAllByRole("row", { hidden: true })).toHaveLength(2);
  expect(screen.getByTestId("paces").querySelectorAll(".shown-mark")).toHaveLength(1);
  // The desktop's theme may change while the choice stays "system".
  const before = drawn.data.length;
  act(() => { document.documentElement.dataset["theme"] = document.documentElement.dataset["theme"] === "light" ? "dark" : "light"; });
  await waitFor(() => { expect(drawn.data.length).toBe(before + 1); });
  const [asked] = console.argsOf("overview");
  expect((asked?.untilMs ?? 0) - (asked?.sinceMs ?? 0)).toBe(86_400_000);
});
