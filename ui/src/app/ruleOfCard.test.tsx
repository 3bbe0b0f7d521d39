import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { historyRow, shown, story } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { enable, ready, onCard } from "../../test/rules";
import { App } from "./App";
import { press } from "../../test/hands";

describe("a card", () => {
  it("becomes the narrowest rule with P, for its thread or for all, with its effect at once", async () => {
    const console = await onCard({});
    press("p");
    await waitFor(() => {
      expect(console.argsOf("draft_rule")).toEqual([{ key: "acme/billing-bot/r1", reach: "thread", days: null }]);
    });
    expect((await screen.findByTestId("preview-words", undefined, { timeout: 3_000 })).textContent).toContain(
      "3 approved, as by people",
    );
    fireEvent.click(screen.getByLabelText(/^Always/));
    await waitFor(
      () => {
        expect(console.argsOf("start_preview").at(-1)?.text).toContain("always");
      },
      { timeout: 3_000 },
    );
    await ready("Enable");
    fireEvent.click(await enable());
    expect((await screen.findByTestId("grant-done")).textContent).toContain("delete-invoice");
    expect(console.argsOf("save_rule")).toMatchObject([{ workspace: "acme", seenVersion: null, state: "on" }]);
    expect(console.argsOf("decide")).toEqual([]);
  });

  it("answers W with the rule, the near misses, the setup key and the digest", async () => {
    await onCard({
      why: () => ({
        decided: null,
        now: {
          policyDigest: "sha256:4be1",
          outcome: "ask",
          rule: null,
          approvals: 1,
          held: null,
          matched: [],
          near: [
            {
              id: "read-only",
              version: 2,
              name: shown("Read-only"),
              effect: "approve",
              matcher: shown("risk"),
              detail: null,
            },
          ],
          setup: { key: shown("allow_dangerous"), state: "differs", value: shown("false"), skipsWhen: shown("true") },
        },
      }),
    });
    press("w");
    const why = await screen.findByTestId("why");
    await waitFor(() => {
      expect(why.textContent).toContain("Rule read-only would allow it, but risk is different");
    });
    expect(why.textContent).toContain("allow_dangerous is false; this call would not ask with true");
    expect(why.textContent).toContain("sha256:4be1");
  });
});

const near = (id: string, matcher: string) => ({
  id,
  version: 1,
  name: shown(id),
  effect: "approve" as const,
  matcher: shown(matcher),
  detail: null,
});

describe("beside a card", () => {
  it("a rule for another tool or agent alone is not informed as a near one: W lists it", async () => {
    await onCard({
      why: () => ({
        decided: null,
        now: {
          policyDigest: "sha256:4be1",
          outcome: "ask",
          rule: null,
          approvals: 1,
          held: null,
          matched: [],
          setup: null,
          near: [near("small", "risk"), near("other-tool", "tool"), near("other-agent", "agent")],
        },
      }),
    });
    const beside = await screen.findByTestId("reasons");
    expect(
      within(beside)
        .getAllByTestId("near")
        .map((line) => line.textContent),
    ).toEqual(["Rule small would allow it, but risk is different."]);
    expect(beside.textContent).not.toContain("more rules almost match");
    press("w");
    expect(within(await screen.findByTestId("why")).getAllByTestId("near")).toHaveLength(3);
  });
});

describe("an automatic decision", () => {
  it("is called wrong only after one more question, which suspends what decided", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    const console = fakeConsole({
      answers: {
        request_story: () => story({ row: historyRow(8, { origin: shown("rule"), rule: shown("small") }) }),
        regret: () => ({ suspended: { what: "rule", id: shown("small") }, denied: null }),
      },
    });
    render(<App transport={console} />);
    fireEvent.click(await screen.findByText("This was wrong…"));
    fireEvent.change(await screen.findByLabelText("Why"), { target: { value: "a live invoice" } });
    expect(console.argsOf("regret")).toEqual([]);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await screen.findByText(/Recorded as wrong/);
    expect(console.argsOf("regret")).toEqual([{ key: "acme/bot/r8", reason: "a live invoice", acceptDenied: false }]);
  });

  it("that denied names what people denied and would run without it, and wants one more yes", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    const console = fakeConsole({
      answers: {
        request_story: () =>
          story({ row: historyRow(8, { origin: shown("rule"), rule: shown("never"), verdict: shown("deny") }) }),
        regret: ({ acceptDenied }) =>
          acceptDenied
            ? { suspended: { what: "rule", id: shown("never") }, denied: null }
            : { suspended: null, denied: { count: null, calls: [] } },
      },
    });
    render(<App transport={console} />);
    fireEvent.click(await screen.findByText("This was wrong…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByTestId("denied-calls");
    expect(screen.queryByText(/Recorded as wrong/)).toBeNull();
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await screen.findByText(/Recorded as wrong/);
    expect(console.argsOf("regret").map((args) => args.acceptDenied)).toEqual([false, true]);
    await waitFor(() => {
      expect(screen.queryByTestId("denied-calls")).toBeNull();
    });
  });

  it("of a person cannot be called wrong", async () => {
    window.location.hash = "#/history/request?key=acme%2Fbot%2Fr8";
    render(<App transport={fakeConsole({ answers: { request_story: () => story() } })} />);
    await screen.findByTestId("story");
    expect(screen.queryByTestId("regret")).toBeNull();
  });
});
