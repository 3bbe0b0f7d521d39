import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { arg, batch, card, previewReport, row, ruleRow } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { DecideOutcome, Nothing, SavedRule } from "../ipc/generated";
import { App } from "./App";

const FAR = 600_000;
const KEYS = ["a/b/1", "a/b/2", "a/b/3", "a/b/4"];
const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const HELD: DecideOutcome = { state: "holding", verdict: "approve", releaseMs: 3_000 };

/** An answer that the test gives when it wants. */
const later = <T,>() => {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return {
    promise,
    give: (value: T) =>
      act(async () => {
        resolve(value);
        await promise;
      }),
  };
};
const shownKey = (): string | undefined => screen.getByTestId("card").dataset["key"];
const reads = (key: string): Promise<void> =>
  waitFor(() => {
    expect(shownKey()).toBe(key);
  });
const armed = (what = "card"): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId(what).dataset["armed"]).toBe("true");
  });
const reason = (): Promise<HTMLInputElement> => screen.findByLabelText<HTMLInputElement>("Reason for the agent");
const typeReason = async (): Promise<void> => {
  press("d");
  const field = await reason();
  field.focus();
  fireEvent.change(field, { target: { value: "because it is wro" } });
};

const settle = (): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, 50);
    });
  });

const desk = async (answers: FakeConsole["answers"]): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place })),
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place, args: [arg("place", `${place}`)] })),
    answers,
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};

describe("a verdict whose answer comes late", () => {
  it("leads to the next card where its operator has waited for it", async () => {
    const answer = later<DecideOutcome>();
    await desk({ decide: () => answer.promise });
    await armed();
    press("a");
    await answer.give(HELD);
    await reads("a/b/2");
  });

  it("leaves its operator at the card that he has gone on to, with the reason that he types there", async () => {
    const answer = later<DecideOutcome>();
    await desk({ decide: () => answer.promise });
    await armed();
    press("a");
    for (const key of ["j", "j"]) press(key);
    await reads("a/b/3");
    await typeReason();
    await answer.give(HELD);
    expect([shownKey(), (await reason()).value]).toEqual(["a/b/3", "because it is wro"]);
  });

  it.each([
    ["", []],
    [", also after a look at another one", ["j", "k"]],
  ])("closes no reason that was begun on its own card meanwhile%s", async (_, keys) => {
    const answer = later<DecideOutcome>();
    await desk({ decide: () => answer.promise });
    await armed();
    press("a");
    for (const key of keys) press(key);
    await typeReason();
    await answer.give(HELD);
    expect([shownKey(), (await reason()).value]).toEqual(["a/b/1", "because it is wro"]);
  });
});

const held = async (): Promise<{ readonly give: (value: Nothing) => Promise<void> }> => {
  const answer = later<Nothing>();
  await desk({ decide: () => HELD, undo: () => answer.promise });
  await armed();
  press("a");
  await reads("a/b/2");
  return answer;
};

describe("an approval that is taken back late", () => {
  it("leads back to its card", async () => {
    const answer = await held();
    press("z");
    await answer.give({});
    await reads("a/b/1");
  });

  it.each([
    [
      "gone on",
      async () => {
        press("j");
        await reads("a/b/3");
      },
      "a/b/3",
    ],
    ["begun a reason", typeReason, "a/b/2"],
  ] as const)("takes nobody along who has %s meanwhile", async (_, meanwhile, stays) => {
    const answer = await held();
    press("z");
    await meanwhile();
    await answer.give({});
    expect(shownKey()).toBe(stays);
  });

  it("takes nobody along who has gone to another screen meanwhile", async () => {
    const answer = await held();
    const go = (key: string): void => {
      press("g");
      press(key);
    };
    go("h");
    await screen.findByTestId("history-count");
    press("z");
    go("a");
    await screen.findByTestId("agents-count");
    await answer.give({});
    expect([screen.queryByTestId("card"), window.location.hash]).toEqual([null, "#/agents"]);
  });
});

describe("Z pressed once more on another screen than there is to take back", () => {
  it("leads nowhere by itself, and keeps nobody from the card that the first one takes back", async () => {
    const answer = await held();
    for (const key of ["g", "h"]) press(key);
    await screen.findByTestId("history-count");
    for (const key of ["z", "z"]) press(key);
    await settle();
    expect([window.location.hash, screen.queryByTestId("card")]).toEqual(["#/history", null]);
    await answer.give({});
    await reads("a/b/1");
  });
});

/** The first of four are sent, and no answer has come. */
const sending = async (
  count: number,
): Promise<{ readonly console: FakeConsole; readonly give: () => Promise<void> }> => {
  const answer = later<DecideOutcome>();
  const console = await desk({ decide: () => answer.promise });
  for (let more = 1; more < count; more += 1) press("J", { shiftKey: true });
  await waitFor(() => {
    expect(screen.getByTestId("batch").dataset["count"]).toBe(`${count}`);
  });
  await armed("batch");
  press("a");
  await waitFor(() => {
    expect(console.argsOf("decide").length).toBeGreaterThan(0);
  });
  return { console, give: () => answer.give(HELD) };
};

describe("a batch whose answers come late", () => {
  it("lets go of its own calls alone, and not of what was selected meanwhile", async () => {
    const { give } = await sending(2);
    for (const key of ["j", "x"]) press(key);
    await waitFor(() => {
      expect(screen.getByTestId("batch").dataset["count"]).toBe("3");
    });
    await give();
    await waitFor(() => {
      expect(screen.getAllByTestId("batch-card").map((one) => one.dataset["key"])).toEqual(["a/b/3"]);
    });
  });

  it("is followed by the next card that waits, also where the list does not know yet what was sent", async () => {
    const { give } = await sending(2);
    await give();
    await reads("a/b/3");
  });

  it("leaves its operator at the card that he has gone on to", async () => {
    const { console, give } = await sending(2);
    // The calls are reported as held before the answers are here: the card at the cursor takes the place of the batch.
    act(() => {
      console.send(
        batch(
          1,
          ["a/b/1", "a/b/2"].map((key, place) => ({
            type: "put",
            row: row({ key, seq: place, deadlineMs: FAR + place, state: "holding" }),
          })),
        ),
      );
    });
    await screen.findByTestId("card");
    for (const key of ["j", "j"]) press(key);
    await reads("a/b/4");
    await typeReason();
    await give();
    expect([shownKey(), (await reason()).value]).toEqual(["a/b/4", "because it is wro"]);
  });
});

const saving = async (): Promise<(saved: SavedRule) => Promise<void>> => {
  window.location.hash = "#/rules?ws=acme&id=small";
  const answer = later<SavedRule>();
  render(
    <App
      transport={fakeConsole({
        rows: [row({ deadlineMs: FAR })],
        cards: [card({ deadlineMs: FAR })],
        answers: {
          rules_list: () => ({
            workspace: "acme",
            workspaces: ["acme"],
            revision: 1,
            rules: [ruleRow(), ruleRow({ id: "other" })],
            serverMs: 0,
          }),
          rule_text: ({ id }) => ({ id, version: 3, text: `id = "${id}"\neffect = "ask"\n` }),
          start_preview: () => ({ number: 1 }),
          preview: () => ({ done: 1, of: 1, report: previewReport(), trouble: null }),
          check_rule: () => ({ problems: [], effect: "ask", state: "on" }),
          save_rule: () => answer.promise,
        },
      })}
    />,
  );
  await waitFor(() => {
    expect(screen.getByTestId("rule").dataset["id"]).toBe("small");
  });
  const off = await screen.findByRole<HTMLButtonElement>("button", { name: "Turn off" });
  await waitFor(() => {
    expect(off.disabled).toBe(false);
  });
  fireEvent.click(off);
  await screen.findByText("Sending to the bus…");
  return answer.give;
};
const SAVED: SavedRule = { id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null };

describe("a rule whose saving is answered late", () => {
  it("takes nobody out of the inbox, nor throws away the reason that is typed there", async () => {
    const give = await saving();
    press("g");
    press("q");
    await screen.findByTestId("card");
    await typeReason();
    await give(SAVED);
    await settle();
    expect([window.location.hash, (await reason()).value]).toEqual(["#/", "because it is wro"]);
  });

  it("takes nobody from another rule", async () => {
    const give = await saving();
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["id"]).toBe("other");
    });
    await give(SAVED);
    await settle();
    expect(screen.getByTestId("rule").dataset["id"]).toBe("other");
  });
});
