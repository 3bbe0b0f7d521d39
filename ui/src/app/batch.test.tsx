import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { arg, batch, card, row, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { screenObserver } from "../../test/setup";
import { CallError } from "../ipc/transport";
import type { Card, DecideOutcome, InboxRow, StatusView } from "../ipc/generated";
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

const HELD: DecideOutcome = { state: "holding", verdict: "approve", releaseMs: 3_000 };
/** An answer that the test gives when it wants. */
const later = <T,>() => {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

const argsOf = (place: number) => [arg("invoice_id", `"INV-${place}"`), arg("reason", '"duplicate"')];

interface Desk {
  readonly rows?: Partial<InboxRow>[];
  readonly cards?: Partial<Card>[];
  readonly status?: StatusView;
}

/** Three calls of one tool, the first two of them selected. */
const two = async (more: Desk = {}): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place, ...more.rows?.[place] })),
    cards: KEYS.map((key, place) =>
      card({ key, deadlineMs: FAR + place, args: [arg("invoice_id", `"INV-${place}"`)], ...more.cards?.[place] }),
    ),
    answers: { decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }) },
    ...(more.status === undefined ? {} : { status: more.status }),
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  press("J", { shiftKey: true });
  await waitFor(() => {
    expect(screen.getByTestId("batch").dataset["count"]).toBe("2");
  });
  return console;
};
const armed = (): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("batch").dataset["armed"]).toBe("true");
  });
const decided = (console: FakeConsole): readonly string[] =>
  console.argsOf("decide").map((args) => `${args.key} ${args.verdict}`);

describe("several calls of one tool", () => {
  it("are shown whole, and approved by one key with a decision of their own each", async () => {
    const console = await two({ cards: [{}, { origin: { ...card().origin, requestDigest: "sha256:other" } }] });
    await waitFor(() => {
      expect(screen.getAllByTestId("batch-card").map((one) => one.textContent?.includes("INV-"))).toEqual([true, true]);
    });
    press("a");
    expect(decided(console)).toEqual([]);
    await armed();
    press("a");
    await waitFor(() => {
      expect(decided(console)).toEqual(["a/b/1 approve", "a/b/2 approve"]);
    });
    expect(console.argsOf("decide").map((args) => args.seenRequestDigest)).toEqual([
      card().origin.requestDigest,
      "sha256:other",
    ]);
    await waitFor(() => {
      expect(screen.queryByTestId("batch")).toBeNull();
    });
  });

  it("are denied with one reason without arming, also when one of them could not be approved", async () => {
    const console = await two({
      cards: [{ reveals: [{ reveal: 0, kind: "hidden_characters", place: shown("invoice_id") }] }],
    });
    await screen.findByText(/This one holds hidden characters/);
    press("d");
    fireEvent.change(await screen.findByLabelText("Reason for the agent"), { target: { value: "not today" } });
    fireEvent.click(screen.getByTestId("send-denial"));
    await waitFor(() => {
      expect(console.argsOf("decide").map((args) => [args.key, args.verdict, args.message])).toEqual([
        ["a/b/1", "deny", "not today"],
        ["a/b/2", "deny", "not today"],
      ]);
    });
  });

  it.each<[string, Desk]>([
    [
      "one holds hidden characters",
      { cards: [{}, { reveals: [{ reveal: 0, kind: "hidden_characters", place: shown("x") }] }] },
    ],
    ["one turned out to be critical", { cards: [{}, { path: "critical", risk: "critical" }] }],
    ["one takes no approval", { cards: [{}, { allowed: ["deny"] }] }],
    ["one is past its deadline", { cards: [{}, { deadlineMs: -1 }] }],
    ["the console decides nothing", { status: status({ readOnly: "the disk is full" }) }],
  ])("cannot be approved while %s", async (_, more) => {
    const console = await two(more);
    await pause(500);
    press("a");
    await pause(20);
    expect(decided(console)).toEqual([]);
  });

  it("cannot be approved before they were read to their end", async () => {
    screenObserver.unseen = "[data-place=end]";
    const console = await two();
    await screen.findByText("Read them to their end first");
    await pause(450);
    press("a");
    await pause(20);
    expect(decided(console)).toEqual([]);
  });

  it("are disarmed when one of them leaves or another joins", async () => {
    const console = await two();
    await armed();
    act(() => {
      console.send(batch(1, [{ type: "gone", key: "a/b/1" }]));
    });
    await waitFor(() => {
      expect(screen.getByTestId("batch").dataset["count"]).toBe("1");
    });
    press("a");
    expect(decided(console)).toEqual([]);
    await armed();
    press("J", { shiftKey: true });
    press("a");
    expect([decided(console), screen.getByTestId("batch").dataset["count"]]).toEqual([[], "2"]);
  });

  it("are distinguished by the arguments that differ, here and below the list", async () => {
    const console = await two({ cards: [{ args: argsOf(1) }, { args: argsOf(2) }] });
    await waitFor(() => {
      expect(screen.getAllByTestId("differs").map((one) => one.textContent)).toEqual([
        'delete_invoice invoice_id: "INV-1"',
        'delete_invoice invoice_id: "INV-2"',
      ]);
    });
    await armed();
    press("a");
    await waitFor(() => {
      expect(screen.getAllByTestId("sent-args").map((one) => one.textContent)).toEqual([
        'invoice_id: "INV-2"',
        'invoice_id: "INV-1"',
      ]);
    });
    // They were in front together: each had its share of the time.
    const fronts = console.argsOf("decide").map(({ frontMs }) => frontMs);
    expect(new Set(fronts).size).toBe(1);
  });

  it("take none that a person denied before", async () => {
    const console = fakeConsole({
      rows: KEYS.map((key, place) =>
        row({
          key,
          seq: place,
          deadlineMs: FAR + place,
          deniedBefore: place === 0,
          path: place === 0 ? "high" : "low",
        }),
      ),
      cards: KEYS.map((key, place) => card({ key, deadlineMs: FAR + place })),
    });
    render(<App transport={console} />);
    await screen.findByTestId("card");
    expect(screen.getAllByText("denied before")).toHaveLength(1);
    press("x");
    expect((await screen.findByTestId("refusal")).textContent).toBe(
      "A person denied this call before: it is decided alone.",
    );
    expect(screen.queryByTestId("batch")).toBeNull();
  });

  it("report each that was refused, and go on with the others", async () => {
    const console = await two();
    console.answers.decide = ({ key }) => {
      if (key === "a/b/1") throw new CallError("already_decided", "ann denied it at 12:04:31");
      return { state: "holding", verdict: "approve", releaseMs: 3_000 };
    };
    await armed();
    press("a");
    await waitFor(() => {
      expect(decided(console)).toHaveLength(2);
    });
    expect(await screen.findByText(/ann denied it/)).toBeTruthy();
    expect(screen.getByText("held, not sent")).toBeTruthy();
  });

  it("are all taken back by one Z while they are held, also those that were not answered yet", async () => {
    const [first, rest] = [later<DecideOutcome>(), later<DecideOutcome>()];
    const console = await two();
    Object.assign(console.answers, {
      decide: ({ key }: { key: string }) => (key === "a/b/1" ? first : rest).promise,
      undo: () => ({}),
    });
    await armed();
    press("a");
    await waitFor(() => {
      expect(decided(console)).toHaveLength(2);
    });
    first.resolve(HELD);
    await screen.findByText("held, not sent");
    press("z");
    rest.resolve(HELD);
    await waitFor(() => {
      expect(console.argsOf("undo").map(({ key }) => key)).toEqual(["a/b/1", "a/b/2"]);
    });
    await waitFor(() => {
      expect(screen.getAllByText("approval undone")).toHaveLength(2);
    });
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/1");
    });
  });

  it("say how many of them Undo takes back, and leave the one that was approved before them", async () => {
    const console = await two();
    console.answers.undo = () => ({});
    press("Escape");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/3");
    });
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
    });
    press("a");
    await waitFor(() => {
      expect(decided(console)).toHaveLength(1);
    });
    await screen.findByRole("button", { name: /^Undo(?! all)/u });
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/1");
    });
    press("J", { shiftKey: true });
    await armed();
    press("a");
    fireEvent.click(await screen.findByRole("button", { name: /^Undo all 2/u }));
    await waitFor(() => {
      expect(console.argsOf("undo").map(({ key }) => key)).toEqual(["a/b/1", "a/b/2"]);
    });
    await screen.findByRole("button", { name: /^Undo(?! all)/u });
  });

  it("report one that is answered elsewhere meanwhile, and keep the reason that is typed for the others", async () => {
    const console = await two();
    press("d");
    fireEvent.change(await screen.findByLabelText("Reason for the agent"), { target: { value: "not today" } });
    expect(screen.queryByTestId("batch-left")).toBeNull();
    act(() => {
      console.send(batch(1, [{ type: "gone", key: "a/b/1" }]));
    });
    expect((await screen.findByTestId("batch-left")).textContent).toContain("1 of 2 selected calls was answered");
    press("Escape");
    press("d");
    expect((await screen.findByLabelText<HTMLInputElement>("Reason for the agent")).value).toBe("not today");
    act(() => {
      console.send(batch(2, [{ type: "gone", key: "a/b/2" }]));
    });
    expect((await screen.findByTestId("all-left")).textContent).toContain("The selected calls were answered");
  });

  it("are sent without waiting for one another", async () => {
    const console = await two();
    console.answers.decide = () => later<DecideOutcome>().promise;
    await armed();
    press("a");
    await waitFor(() => {
      expect(decided(console)).toEqual(["a/b/1 approve", "a/b/2 approve"]);
    });
  });

  it("are not sent any more once Esc was pressed, which says how many were", async () => {
    const keys = Array.from({ length: 20 }, (_, place) => `a/b/${place + 10}`);
    const answer = later<DecideOutcome>();
    const console = fakeConsole({
      rows: keys.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place })),
      cards: keys.map((key, place) => card({ key, deadlineMs: FAR + place })),
      answers: { decide: () => answer.promise },
    });
    render(<App transport={console} />);
    await screen.findByTestId("card");
    for (const _ of keys) press("J", { shiftKey: true });
    await waitFor(() => {
      expect(screen.getByTestId("batch").dataset["count"]).toBe("20");
    });
    await armed();
    press("a");
    await screen.findByText("Sending…");
    const begun = decided(console).length;
    expect(begun).toBeLessThan(20);
    press("Escape");
    answer.resolve(HELD);
    expect((await screen.findByTestId("stopped")).textContent).toBe(
      `Stopped: ${begun} of 20 were sent; the others are still waiting.`,
    );
    expect(decided(console)).toHaveLength(begun);
    expect(screen.getByTestId("batch").dataset["count"]).toBe(`${20 - begun}`);
  });

  it("are let go with Esc, and a high call is never among them", async () => {
    const console = await two({ rows: [{}, {}, { risk: "high", path: "high" }] });
    press("Escape");
    await screen.findByTestId("card");
    for (const key of ["j", "x"]) press(key);
    expect((await screen.findByTestId("refusal")).textContent).toContain(
      "High and critical calls are decided one by one",
    );
    expect([screen.queryByTestId("batch"), decided(console)]).toEqual([null, []]);
  });
});
