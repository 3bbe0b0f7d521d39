import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { Card, CardState, InboxRow, VotesCount } from "../ipc/generated";
import { CallError } from "../ipc/transport";
import { App } from "./App";

const FAR = 600_000;
const KEYS = ["a/b/1", "a/b/2", "a/b/3"];
const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const pause = (ms: number): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, ms);
    });
  });
const go = (key: string): void => {
  press("g");
  press(key);
};
const armed = (): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
  });
const entry = (key = "a/b/1"): HTMLElement =>
  document.querySelector(`[data-testid="sent"] li[data-key="${key}"]`) as HTMLElement;
const becomes = (state: string, key = "a/b/1"): Promise<void> =>
  waitFor(() => {
    expect(entry(key).dataset["state"]).toBe(state);
  });

interface Told {
  readonly number: number;
  readonly key?: string;
  readonly state?: CardState;
  readonly verdict?: string;
  readonly by?: string;
  readonly votes?: VotesCount;
}

/** Three cards; what was approved is held until the test tells more of it. */
const desk = async (cards: Partial<Card> = {}, rows: Partial<InboxRow> = {}): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place, ...rows })),
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place, ...cards })),
    answers: { decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }), undo: () => ({}) },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
const tell = (console: FakeConsole, { number, key = "a/b/1", state, verdict, by, votes }: Told): void => {
  const place = KEYS.indexOf(key);
  const stands = state === "pending" || state === "holding" || state === "queued";
  const change =
    state === undefined
      ? []
      : stands
        ? [
            {
              type: "put" as const,
              row: row({ key, seq: place, deadlineMs: FAR + place, state, votes: votes ?? null }),
            },
          ]
        : [{ type: "gone" as const, key }];
  act(() => {
    console.send(
      batch(
        number,
        change,
        verdict === undefined
          ? {}
          : { touched: [{ key, verdict, by: by === undefined ? null : shown(by), mine: false }] },
      ),
    );
  });
};
const approved = async (console: FakeConsole): Promise<void> => {
  await armed();
  press("a");
  await becomes("holding");
  tell(console, { number: 1, state: "holding" });
};

describe("a verdict that was given", () => {
  it.each([
    ["expired", "it expired before your answer counted"],
    ["withdrawn", "its agent took it back before your answer counted"],
    ["void", "what stands in its place does not verify"],
  ] as const)(
    "is not in force when its request is %s while it is held, and nobody was first",
    async (verdict, words) => {
      const console = await desk();
      await approved(console);
      tell(console, { number: 2, state: verdict, verdict });
      await becomes("over");
      expect(entry().textContent).toContain(words);
      expect(entry().textContent).not.toContain("first");
      expect(screen.queryByRole("button", { name: /^Undo/u })).toBeNull();
    },
  );

  it("names who was first when somebody else decided while it was held", async () => {
    const console = await desk();
    await approved(console);
    tell(console, { number: 2, state: "decided", verdict: "deny", by: "ann" });
    await becomes("lost");
    expect(entry().textContent).toContain("ann was first: denied");
  });

  it("says that it was not sent when the console dropped it, and that it waits again", async () => {
    const console = await desk();
    await approved(console);
    tell(console, { number: 2, state: "pending" });
    await becomes("back");
    expect(entry().textContent).toContain("not sent: it waits for you again");
    press("z");
    await pause(20);
    expect(console.argsOf("undo")).toEqual([]);
  });

  it("is told as a vote that stands while others are waited for, not as a failure", async () => {
    const votes = { required: 2, given: 0, apart: 0, mine: false };
    const console = await desk({ votes: { count: votes, votes: [] } }, { votes });
    console.answers.decide = () => ({ state: "pending", verdict: "approve", releaseMs: null });
    await armed();
    press("a");
    await becomes("voted");
    expect(entry().textContent).toContain("your vote is recorded; waiting for others");
    expect(screen.queryByText(/was not taken/u)).toBeNull();
  });

  it("goes from held to a vote that stands when it is one of several", async () => {
    const votes = { required: 2, given: 0, apart: 0, mine: false };
    const console = await desk({ votes: { count: votes, votes: [] } }, { votes });
    await approved(console);
    tell(console, { number: 2, state: "pending", votes: { required: 2, given: 1, apart: 0, mine: true } });
    await becomes("voted");
  });

  it("is taken back by the button of its own card, not the one that was given last", async () => {
    const console = await desk();
    console.answers.card = ({ key }) =>
      card({
        key,
        deadlineMs: FAR,
        ...(console.argsOf("decide").some((args) => args.key === key)
          ? { state: "holding", hold: { releaseMs: 3_000 } }
          : {}),
      });
    await approved(console);
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
    await armed();
    press("a");
    await becomes("holding", "a/b/2");
    fireEvent.click(within(entry("a/b/1")).getByText("delete_invoice"));
    const held = await screen.findByTestId("held");
    fireEvent.click(within(held.parentElement as HTMLElement).getByRole("button", { name: /^Undo/u }));
    await waitFor(() => {
      expect(console.argsOf("undo")).toEqual([{ key: "a/b/1" }]);
    });
  });

  it("is told when its operator comes back from another screen", async () => {
    const console = await desk();
    await approved(console);
    go("o");
    await waitFor(() => {
      expect(screen.queryByTestId("sent")).toBeNull();
    });
    tell(console, { number: 2, state: "decided", verdict: "deny", by: "ann" });
    go("q");
    await screen.findByTestId("sent");
    expect(entry().textContent).toContain("ann was first: denied");
  });

  it("is taken back with Z also by a page that was loaded again and has forgotten it", async () => {
    const console = fakeConsole({
      rows: [row({ key: "a/b/1", seq: 1, state: "holding" }), row({ key: "a/b/2", seq: 2 })],
      cards: ["a/b/1", "a/b/2"].map((key) => card({ key })),
    });
    console.answers.undo = () => ({});
    render(<App transport={console} />);
    await screen.findByTestId("card");
    press("z");
    await waitFor(() => {
      expect(console.argsOf("undo")).toEqual([{ key: "a/b/1" }]);
    });
  });

  it("is taken back with Z from another screen too, which leads to its card", async () => {
    const console = await desk();
    await approved(console);
    go("h");
    await screen.findByTestId("history-count");
    press("z");
    await waitFor(() => {
      expect(console.argsOf("undo")).toEqual([{ key: "a/b/1" }]);
    });
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/1");
    });
    expect(entry().textContent).toContain("approval undone");
  });

  it("is told to a screen reader once for each step, without the seconds", async () => {
    const console = await desk();
    await approved(console);
    const said = screen.getByTestId("sent-said");
    expect([said.getAttribute("role"), said.textContent]).toEqual(["status", "delete_invoice: held, not sent"]);
    const steps: (string | null)[] = [];
    const watch = new MutationObserver(() => {
      steps.push(said.textContent);
    });
    watch.observe(said, { childList: true, characterData: true, subtree: true });
    await pause(400);
    expect(steps).toEqual([]);
    tell(console, { number: 2, state: "queued" });
    await becomes("queued");
    watch.disconnect();
    expect(said.textContent).toBe("delete_invoice: signed, on its way to the bus");
    expect(screen.getByRole("list", { name: "Your verdicts" })).toBeTruthy();
  });
});

describe("a card that is decided elsewhere", () => {
  it("keeps the reason under the hands that type it, and says that nothing can be sent", async () => {
    const console = await desk();
    press("d");
    const field = await screen.findByLabelText("Reason for the agent");
    fireEvent.change(field, { target: { value: "not n" } });
    console.answers.card = ({ key }) => card({ key, deadlineMs: FAR, state: "withdrawn" });
    tell(console, { number: 1, state: "withdrawn", verdict: "withdrawn" });
    expect((await screen.findByTestId("too-late")).textContent).toContain("the agent no longer wants the answer");
    expect(document.activeElement).toBe(field);
    press("Escape");
    await screen.findByTestId("closed");
  });

  it.each([
    ["reason", "d", "Reason for the agent", {}],
    [
      "answer",
      "r",
      "Answer in own words",
      {
        kind: "question",
        tool: null,
        args: null,
        question: { text: shown("Which?"), context: null, options: [], allowFreeform: true },
        allowed: ["respond", "deny"],
      },
    ],
  ] as const)("keeps an unsent %s through Esc, for as long as the card is open", async (_, key, label, more) => {
    await desk(more as Partial<Card>);
    press(key);
    fireEvent.change(await screen.findByLabelText(label), { target: { value: "wrong invoice" } });
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByLabelText(label)).toBeNull();
    });
    press(key);
    expect((await screen.findByLabelText<HTMLInputElement>(label)).value).toBe("wrong invoice");
  });

  it("says nothing of approvals under a question", async () => {
    await desk({
      kind: "question",
      tool: null,
      args: null,
      question: { text: shown("Which?"), context: null, options: [], allowFreeform: true },
      allowed: ["respond", "deny"],
    });
    expect(screen.queryByTestId("no-approval")).toBeNull();
  });

  it("makes no command of what is typed into a field that is gone", async () => {
    const console = await desk();
    press("x");
    await screen.findByTestId("batch");
    press("d");
    const field = await screen.findByLabelText("Reason for the agent");
    field.focus();
    press("n");
    tell(console, { number: 1, state: "expired", verdict: "expired" });
    await waitFor(() => {
      expect(screen.queryByTestId("batch")).toBeNull();
    });
    const key = (await screen.findByTestId("card")).dataset["key"];
    for (const letter of ["o", "d", "j", "e"]) press(letter);
    await pause(20);
    expect(screen.queryByLabelText("Reason for the agent")).toBeNull();
    expect(screen.getByTestId("card").dataset["key"]).toBe(key);
    await pause(1_050);
    press("d");
    await screen.findByLabelText("Reason for the agent");
  });
});

describe("a verdict", () => {
  it("says for how long the card was in front and armed, looks away and back included", async () => {
    const console = await desk();
    await armed();
    await pause(300);
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
    await pause(100);
    press("k");
    await armed();
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(1);
    });
    const [{ frontMs } = {}] = console.argsOf("decide");
    expect(frontMs).toBeGreaterThanOrEqual(250);
    expect(frontMs).toBeLessThan(20_000);
  });

  it("that is given before the card was armed has no time in front", async () => {
    const console = await desk();
    press("d");
    fireEvent.submit(await screen.findByLabelText("Reason for the agent"));
    await waitFor(() => {
      expect(console.argsOf("decide")).toMatchObject([{ verdict: "deny", frontMs: 0 }]);
    });
  });
});

const lastOne = async (): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row({ key: "a/b/1", deadlineMs: FAR })],
    cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place })),
    answers: { decide: () => ({ state: "decided", verdict: "deny", releaseMs: null }) },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
const burst = (console: FakeConsole): void => {
  act(() => {
    console.send(
      batch(1, [
        { type: "gone", key: "a/b/1" },
        ...["a/b/2", "a/b/3"].map((key, place) => ({
          type: "put" as const,
          row: row({ key, seq: place, deadlineMs: FAR + place }),
        })),
      ]),
    );
  });
};
const openKey = (): string | undefined => screen.getByTestId("card").dataset["key"];

describe("after the last card was answered", () => {
  it("the first of a burst is chosen", async () => {
    const console = await lastOne();
    press("d");
    fireEvent.submit(await screen.findByLabelText("Reason for the agent"));
    await becomes("stored");
    burst(console);
    await waitFor(() => {
      expect(openKey()).toBe("a/b/2");
    });
  });

  it.each([
    ["nobody has answered", false],
    ["something is open on", true],
  ])("a card that %s keeps its place", async (_, answered) => {
    const console = await lastOne();
    if (answered) {
      press("d");
      fireEvent.submit(await screen.findByLabelText("Reason for the agent"));
      await becomes("stored");
      press("i");
    }
    burst(console);
    await pause(50);
    expect(openKey()).toBe("a/b/1");
  });
});

describe("the reason of a denial", () => {
  it("has the focus again once a preset is chosen, so that Enter sends it", async () => {
    await desk();
    press("d");
    const field = await screen.findByLabelText<HTMLInputElement>("Reason for the agent");
    const preset = screen.getByRole("button", { name: "Not now. Ask again later." });
    preset.focus();
    fireEvent.click(preset);
    expect([field.value, document.activeElement]).toEqual(["Not now. Ask again later.", field]);
  });

  it("is chosen by a digit while no other one is written, and sent by Enter alone", async () => {
    const console = await desk();
    press("d");
    const field = await screen.findByLabelText<HTMLInputElement>("Reason for the agent");
    for (const [key, value] of [
      ["2", "Wrong target. Check it and ask again."],
      ["4", "Do not do this. Go on without it."],
      ["9", "Do not do this. Go on without it."],
    ] as const) {
      press(key);
      expect(field.value).toBe(value);
    }
    fireEvent.change(field, { target: { value: "INV-" } });
    press("4");
    expect(field.value).toBe("INV-");
    fireEvent.change(field, { target: { value: "" } });
    press("1", { ctrlKey: true });
    expect(field.value).toBe("");
    press("3");
    expect(console.argsOf("decide")).toEqual([]);
    fireEvent.submit(field);
    await waitFor(() => {
      expect(console.argsOf("decide")).toMatchObject([{ verdict: "deny", message: "Too broad. Ask again for less." }]);
    });
  });
});

describe("a locked desktop session", () => {
  it("disarms behind the lock though the window keeps its focus; the card must settle again after it", async () => {
    const console = await desk();
    await armed();
    act(() => {
      console.send(batch(1, [], { status: status({ locked: true }) }));
    });
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["armed"]).toBe("false");
    });
    press("a");
    act(() => {
      console.send(batch(2, [], { status: status({ locked: false }) }));
    });
    press("a");
    await pause(20);
    expect(console.argsOf("decide")).toEqual([]);
    await armed();
  });
});

const arrives = (console: FakeConsole, number: number, more: Partial<InboxRow> = {}): void => {
  const key = `a/b/new${number}`;
  act(() => {
    console.send(
      batch(number, [
        {
          type: "put",
          row: row({ key, seq: 10 + number, risk: "critical", path: "critical", deadlineMs: FAR, ...more }),
        },
      ]),
    );
  });
};
const said = (): string => screen.getByTestId("arrivals").textContent ?? "";

describe("arrivals", () => {
  it("are said also while more keep coming, and never what stood there at the start", async () => {
    const console = await desk({}, { risk: "critical", path: "critical" });
    await pause(1_600);
    expect(said()).toBe("");
    for (let number = 1; number <= 8; number += 1) {
      arrives(console, number);
      // One after the other, each before the sentence of the first is due.
      // oxlint-disable-next-line no-await-in-loop
      await pause(250);
    }
    expect(said()).toMatch(/^New critical request: delete_invoice, .* left, and \d more\.$/u);
  });

  it("name no time where an agent gave none", async () => {
    const console = await desk();
    arrives(console, 1, { hasDeadline: false, deadlineMs: 9_999_999_999 });
    await pause(1_600);
    expect(said()).toBe("New critical request: delete_invoice.");
  });
});

describe("a verdict that cannot be taken back any more", () => {
  it("says why in its line", async () => {
    const console = await desk();
    await approved(console);
    console.answers.undo = () => {
      throw new CallError("already_decided", "it is on its way already");
    };
    press("z");
    expect((await within(entry()).findByRole("alert")).textContent).toBe("it is on its way already");
  });
});
