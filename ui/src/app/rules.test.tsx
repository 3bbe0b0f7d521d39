import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { ruleRow, shown } from "../../test/build";
import { text, open, ready } from "../../test/rules";
import { press } from "../../test/hands";

describe("the rules", () => {
  it("are counted and narrowed by a filter, and the one that is open stays open", async () => {
    await open([ruleRow({ id: "never" }), ruleRow({ id: "small" }), ruleRow({ id: "other" })]);
    expect(screen.getByTestId("rules-count").textContent).toBe("3 rules");
    fireEvent.change(screen.getByLabelText(/^Filter/u), { target: { value: "OTH" } });
    expect(screen.getAllByTestId("rule-row").map((line) => line.dataset["id"])).toEqual(["other"]);
    expect(window.location.hash).toContain("id=never");
    press("j");
    await waitFor(() => {
      expect(window.location.hash).toContain("id=other");
    });
  });

  it("are listed with what they do, what they did and when they end", async () => {
    await open([
      ruleRow({ id: "never", effect: "deny", uses: 12 }),
      ruleRow({ id: "two", effect: "ask", approvals: 2 }),
      ruleRow({
        id: "small",
        uses: 402,
        today: 18,
        expiresMs: 86_400_000,
        limit: "20 in 1h",
        regrets: 1,
        lastError: shown("the amount is missing"),
      }),
      ruleRow({ id: "over", expiresMs: 0 }),
      ruleRow({ id: "try", state: "shadow", shadows: 31 }),
    ]);
    const lines = screen.getAllByTestId("rule-row").map((line) => line.textContent);
    expect(lines[0]).toContain("12 in total");
    expect(lines[1]).toContain("ask ×2");
    for (const part of ["18 today, 402 in total", "20 in 1h", "1 regret", "last error: the amount is missing"])
      expect(lines[2]).toContain(part);
    expect(lines[3]).toContain("ended");
    expect(lines[4]).toContain("in shadow: 31");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["id"]).toBe("two");
    });
  });

  it("report a change by somebody else, and lose neither text", async () => {
    const console = await open([ruleRow({ state: "off" })], {
      save_rule: ({ seenVersion }) =>
        seenVersion === 3
          ? {
              id: "small",
              version: null,
              conflict: text({ version: 4, text: 'id = "small"\neffect = "deny"\n' }),
              gone: false,
              denied: null,
              waiting: null,
            }
          : { id: "small", version: 5, conflict: null, gone: false, denied: null, waiting: null },
    });
    await ready("Enable");
    fireEvent.click(screen.getByText("Run in shadow"));
    const conflict = await screen.findByTestId("conflict");
    expect(conflict.textContent).toContain("version 4 is active");
    expect(conflict.textContent).toContain('effect = "deny"');
    expect(screen.getByTestId("rule-desk").querySelector(".cm-content")?.textContent).toContain("approve");
    fireEvent.click(within(conflict).getByText("Overwrite with mine"));
    await ready("Enable");
    fireEvent.click(screen.getByText("Run in shadow"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").at(-1)).toMatchObject({ seenVersion: 4, state: "shadow" });
    });
  });

  it("name the line of a problem and can then be neither saved nor tried", async () => {
    const console = await open([ruleRow({ state: "off" })], {
      check_rule: () => ({
        problems: [{ line: 2, column: 1, place: shown("effect"), message: shown("must be deny, ask or approve") }],
        effect: null,
        state: null,
      }),
    });
    expect((await screen.findByText(/^Line 2:/)).textContent).toContain("effect must be deny, ask or approve");
    expect(screen.getByTestId<HTMLButtonElement>("rule-enable").disabled).toBe(true);
    expect(console.argsOf("start_preview")).toEqual([]);
  });

  it("are explained while there is none, and begin with C", async () => {
    const console = await open([]);
    press("c");
    await screen.findByText("New rule");
    await waitFor(() => {
      expect(console.argsOf("check_rule").at(-1)?.text).toContain('id = "my-rule"');
    });
  });

  it("become a matrix that names what a cell depends on", async () => {
    const cell = { outcome: "ask" as const, rule: null, bypass: false, approvals: 1, depends: [], held: null };
    await open([ruleRow()], {
      matrix: () => ({
        workspace: "acme",
        risks: ["low", "critical"],
        more: 0,
        policyDigest: "sha256:aa",
        rows: [
          {
            agent: "bot",
            tool: shown("pay⟨U+202E⟩"),
            risk: "low",
            cells: [{ ...cell, outcome: "approve", rule: "small", depends: ["big"] }, cell],
          },
        ],
      }),
    });
    press("m");
    const line = await screen.findByTestId("matrix-row");
    expect(line.textContent).toContain("approvesmallor as big says");
    expect(line.textContent).toContain("U+202E");
    press("Escape");
    await screen.findByTestId("rule");
  });
});
