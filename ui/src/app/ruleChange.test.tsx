import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { historyRow, previewReport, ruleRow, shown, waitingCalls } from "../../test/build";
import { type FakeConsole } from "../../test/fakeTransport";
import { tried, open, enable, ready, remove, onCard } from "../../test/rules";
import { CallError } from "../ipc/transport";
import { press } from "../../test/hands";

describe("a change of the rules", () => {
  it("say what a rule would have done, a denied call first, and ask twice before it is enabled", async () => {
    const console = await open(
      [ruleRow({ state: "off" })],
      tried(
        previewReport({
          total: 100,
          approve: 40,
          agreed: 37,
          denied: 2,
          unseen: 1,
          newlyHigh: 1,
          flips: [
            {
              row: historyRow(3, {
                verdict: shown("deny"),
                message: shown("not while the audit runs"),
                summary: shown("INV-TEST-0"),
              }),
              rule: "approve",
            },
          ],
        }),
      ),
    );
    expect((await screen.findByTestId("preview-words", undefined, { timeout: 3_000 })).textContent).toContain(
      "2 approved that a person had denied",
    );
    expect(screen.getByTestId("flips").textContent).toContain("not while the audit runs");
    expect(screen.getByTestId("preview").textContent).toContain(
      "It would approve 1 high call that no person approved.",
    );
    await ready("Enable anyway…");
    fireEvent.click(await enable());
    expect((await screen.findByTestId("enable")).textContent).toContain("2 calls");
    expect(document.activeElement?.textContent).toContain("Cancel");
    fireEvent.click(screen.getByTestId("enable-next"));
    expect(console.argsOf("save_rule")).toEqual([]);
    fireEvent.click(await screen.findByTestId("enable-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule")).toMatchObject([{ state: "on", sure: true, seenVersion: 3 }]);
    });
  });

  it("enable at once what agrees with everybody", async () => {
    const console = await open([ruleRow({ state: "off" })]);
    await ready("Enable");
    fireEvent.click(await enable());
    await waitFor(() => {
      expect(console.argsOf("save_rule")).toMatchObject([{ state: "on", sure: false }]);
    });
  });

  it.each(["rule", "card"])(
    "name the waiting calls that Enable of a %s approves, and want one more yes",
    async (of) => {
      const held = waitingCalls(["acme/bot/r7", "acme/bot/r8"]);
      const more = waitingCalls([...held.keys, "acme/bot/r9"]);
      const save: FakeConsole["answers"]["save_rule"] = ({ acceptWaiting }) => {
        const waiting = acceptWaiting.length === 0 ? held : acceptWaiting.length === 2 ? more : null;
        return {
          id: "small",
          version: waiting === null ? 4 : null,
          conflict: null,
          gone: false,
          denied: null,
          waiting,
        };
      };
      const answers = { save_rule: save, ...tried(previewReport({ approve: 2, unseen: 3, waiting: 2 })) };
      const console = await (of === "rule" ? open([ruleRow({ state: "off" })], answers) : onCard(answers));
      if (of === "card") press("p");
      await ready("Enable");
      expect(screen.getByTestId("preview-words").textContent).toContain(
        "Would approve 2 calls that are still waiting.",
      );
      expect(screen.getByTestId("preview-words").textContent).toContain("1 approved that no person decided.");
      fireEvent.click(await enable());
      const asked = await screen.findByTestId("waiting-calls");
      expect(asked.textContent).toContain("Would approve 2 calls that are still waiting. Nothing was changed.");
      expect(within(asked).getAllByRole("listitem")).toHaveLength(2);
      // Over another dialog it is on ✕, which is a way out too.
      expect(document.activeElement?.closest("[role=dialog]")?.contains(asked)).toBe(true);
      expect(document.activeElement).not.toBe(screen.getByTestId("confirm-yes"));
      const accepted = (): string[][] => console.argsOf("save_rule").map((args) => args.acceptWaiting);
      expect(accepted()).toEqual([[]]);
      // Another call came meanwhile: what was not shown is not accepted.
      fireEvent.click(screen.getByText("Enable and approve all 2"));
      await screen.findByText("Enable and approve all 3");
      expect(accepted()).toEqual([[], held.keys]);
      fireEvent.click(screen.getByTestId("confirm-yes"));
      await waitFor(() => {
        expect(accepted()).toEqual([[], held.keys, more.keys]);
      });
      await waitFor(() => {
        expect(screen.queryByTestId("waiting-calls")).toBeNull();
      });
    },
  );

  it("name the waiting calls that a removal approves, and want one more yes", async () => {
    const held = waitingCalls(["acme/bot/r7"]);
    const console = await open([ruleRow({ effect: "ask" })], {
      remove_rule: ({ acceptWaiting }) => ({ denied: null, waiting: acceptWaiting.length === 1 ? null : held }),
    });
    await remove();
    expect((await screen.findByTestId("waiting-calls")).textContent).toContain("1 call that is still waiting");
    fireEvent.click(screen.getByText("Remove and approve it"));
    await waitFor(() => {
      expect(console.argsOf("remove_rule").map((args) => [args.acceptDenied, args.acceptWaiting])).toEqual([
        [false, []],
        [false, held.keys],
      ]);
    });
  });

  it("show progress, and a stop leaves the rule unproven", async () => {
    let stopped = false;
    const console = await open([ruleRow({ state: "off" })], {
      preview: () => ({
        done: 500,
        of: 1_000,
        report: null,
        trouble: stopped ? "the simulation: it was cancelled" : null,
      }),
      stop_preview: () => {
        stopped = true;
        return {};
      },
    });
    await waitFor(
      () => {
        expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("50");
      },
      { timeout: 3_000 },
    );
    fireEvent.click(screen.getByText("Stop"));
    await screen.findByText(/it was cancelled/);
    expect(console.argsOf("stop_preview")).toEqual([{ number: 1 }]);
    await ready("Enable without simulation…");
  });

  it("are removed only after one more question", async () => {
    const console = await open([ruleRow()]);
    fireEvent.click(await screen.findByText("Remove…"));
    expect(console.argsOf("remove_rule")).toEqual([]);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("remove_rule")).toEqual([
        { workspace: "acme", id: "small", acceptLimits: false, acceptDenied: false, acceptWaiting: [] },
      ]);
    });
  });

  it.each([
    ["Turn off", "save_rule"],
    ["Run in shadow", "save_rule"],
    ["Remove…", "remove_rule"],
  ] as const)("name what people denied before %s lets it run, and want one more yes", async (verb, command) => {
    const flipped = {
      row: historyRow(3, { verdict: shown("deny"), message: shown("not this quarter"), summary: shown("INV-1") }),
      rule: "approve" as const,
    };
    const held = { count: 2, calls: [flipped] };
    const console = await open([ruleRow({ effect: "deny" })], {
      check_rule: () => ({ problems: [], effect: "deny", state: "on" }),
      save_rule: ({ acceptDenied }) => ({
        id: "small",
        version: acceptDenied ? 4 : null,
        conflict: null,
        gone: false,
        denied: acceptDenied ? null : held,
        waiting: null,
      }),
      remove_rule: ({ acceptDenied }) => ({ denied: acceptDenied ? null : held, waiting: null }),
    });
    const button = await screen.findByText<HTMLButtonElement>(verb);
    await waitFor(
      () => {
        expect(button.disabled).toBe(false);
      },
      { timeout: 3_000 },
    );
    fireEvent.click(button);
    if (command === "remove_rule") fireEvent.click(await screen.findByTestId("confirm-yes"));
    const asked = await screen.findByTestId("denied-calls");
    for (const part of ["2 calls", "INV-1", "not this quarter", "and 1 more", "Nothing was changed"])
      expect(asked.textContent).toContain(part);
    expect(document.activeElement?.textContent).toContain("Cancel");
    const accepted = (): boolean[] => console.argsOf(command).map((args) => args.acceptDenied);
    expect(accepted()).toEqual([false]);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(accepted()).toEqual([false, true]);
    });
    await waitFor(() => {
      expect(screen.queryByTestId("denied-calls")).toBeNull();
    });
  });

  it("ask about each reason by itself where a change lets run what people denied and changes other rules", async () => {
    const console = await open([ruleRow({ effect: "deny" })], {
      save_rule: ({ acceptDenied, acceptLimits }) => {
        if (acceptDenied && !acceptLimits) throw new CallError("verdict_not_allowed", "others approve less");
        return {
          id: "small",
          version: acceptLimits ? 4 : null,
          conflict: null,
          gone: false,
          denied: acceptLimits ? null : { count: null, calls: [] },
          waiting: null,
        };
      },
    });
    const off = await screen.findByText<HTMLButtonElement>("Turn off");
    await waitFor(
      () => {
        expect(off.disabled).toBe(false);
      },
      { timeout: 3_000 },
    );
    fireEvent.click(off);
    expect((await screen.findByTestId("denied-calls")).textContent).toContain("took too long");
    fireEvent.click(screen.getByTestId("confirm-yes"));
    expect((await screen.findByTestId("limits")).textContent).toContain("others approve less");
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").at(-1)).toMatchObject({
        state: "off",
        acceptDenied: true,
        acceptLimits: true,
      });
    });
  });

  it("ask twice where the console knows of no whole simulation, whatever this window has seen", async () => {
    const console = await open([ruleRow({ state: "off" })], {
      save_rule: ({ sure }) => {
        if (!sure) throw new CallError("not_armed", "no whole simulation");
        return { id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null };
      },
    });
    await ready("Enable");
    fireEvent.click(await enable());
    fireEvent.click(await screen.findByTestId("enable-next"));
    fireEvent.click(await screen.findByTestId("enable-yes"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").map((args) => args.sure)).toEqual([false, true]);
    });
  });

  it("are not removed with what changes for others where that was reported in a dialog that is closed", async () => {
    let fails!: () => void;
    const console = await open([ruleRow()], {
      remove_rule: () =>
        new Promise((_, reject) => {
          fails = () => {
            reject(new CallError("verdict_not_allowed", "others approve less"));
          };
        }),
    });
    await remove();
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    act(() => {
      fails();
    });
    fireEvent.click(within(await screen.findByTestId("late-failure")).getByText("Dismiss"));
    await remove();
    expect(console.argsOf("remove_rule").map((args) => args.acceptLimits)).toEqual([false, false]);
  });
});
