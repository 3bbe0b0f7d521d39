import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { screenObserver } from "../../test/setup";
import { App } from "./App";
import { CallError } from "../ipc/transport";
import type { Card, InboxRow } from "../ipc/generated";

const pause = (ms: number): Promise<void> =>
  act(async () => {
    await new Promise((done) => {
      setTimeout(done, ms);
    });
  });
const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const chord = { ctrlKey: true, shiftKey: true };
const FAR = 600_000;

const desk = async (
  rows: readonly InboxRow[],
  cards: readonly Card[],
  more: Parameters<typeof fakeConsole>[0] = {},
): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows,
    cards,
    answers: { decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }), undo: () => ({}) },
    ...more,
  });
  render(<App transport={console} />);
  if (rows.length > 0) await screen.findByTestId("card");
  return console;
};
const one = (more: Partial<Card> = {}, rowMore: Partial<InboxRow> = {}): Promise<FakeConsole> =>
  desk([row({ deadlineMs: FAR, ...rowMore })], [card({ deadlineMs: FAR, ...more })]);
const armed = (): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
  });

describe("approving", () => {
  it("takes the key A on a card that has been still for 400 ms, with what was seen", async () => {
    const console = await one();
    await armed();
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(1);
    });
    const [sent] = console.argsOf("decide");
    const shownCard = card();
    expect(sent).toMatchObject({
      verdict: "approve",
      seenArgsDigest: shownCard.origin.argsDigest,
      seenRequestDigest: shownCard.origin.requestDigest,
    });
    expect((await screen.findByTestId("sent")).textContent).toContain("held, not sent");
    expect(document.body.textContent).not.toContain("approved");
  });

  it("takes no key before, no repetition, and never Enter, Space or a digit", async () => {
    const console = await one();
    press("a");
    await armed();
    press("a", { repeat: true });
    for (const key of ["Enter", " ", "1"]) {
      press(key);
      screen.getByTestId("approve").focus();
      press(key);
      fireEvent.keyUp(screen.getByTestId("approve"), { key });
    }
    await pause(50);
    expect(console.argsOf("decide")).toEqual([]);
  });

  it.each([
    ["low", {}],
    ["high", { path: "high", risk: "high" }],
  ] as const)(
    "takes the chord alone on the %s way while single keys are switched off, and the button says so",
    async (_, more) => {
      localStorage.setItem("countersign.singleKeys", "off");
      try {
        const console = await one(more, more);
        await armed();
        press("a");
        const button = screen.getByTestId("approve");
        expect([button.getAttribute("aria-keyshortcuts"), button.textContent]).toEqual([
          "Control+Shift+A",
          "Approve Ctrl ⇧ A",
        ]);
        button.focus();
        press("Enter");
        await screen.findByText("Press Ctrl Shift A to approve. Enter and Space do not.");
        expect(console.argsOf("decide")).toEqual([]);
        press("A", chord);
        await waitFor(() => {
          expect(console.argsOf("decide")).toHaveLength(1);
        });
      } finally {
        localStorage.removeItem("countersign.singleKeys");
      }
    },
  );

  it("is disarmed by new content of the card", async () => {
    const console = await one();
    await armed();
    console.answers.card = () => card({ deadlineMs: FAR, args: [] });
    act(() => {
      console.send(batch(1, [], { touched: [{ key: "acme/billing-bot/r1", verdict: null, by: null, mine: false }] }));
    });
    await screen.findByText("No arguments");
    press("a");
    await pause(50);
    expect(console.argsOf("decide")).toEqual([]);
    await armed();
  });

  it("is dead when nothing can be decided, and says why", async () => {
    const console = await desk([row({ deadlineMs: FAR })], [card({ deadlineMs: FAR })], {
      status: status({ readOnly: "the disk is full" }),
    });
    await pause(500);
    press("a");
    await pause(20);
    expect(console.argsOf("decide")).toEqual([]);
    expect(within(screen.getByTestId("card")).getByText("the disk is full")).toBeTruthy();
    press("d");
    expect(screen.queryByLabelText("Reason for the agent")).toBeNull();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: /^Deny/u }).disabled).toBe(true);
  });

  it("shows a refusal on the card and stays there", async () => {
    const console = await one();
    console.answers.decide = () => {
      throw new CallError("already_decided", "maria denied it at 12:04:31");
    };
    await armed();
    press("a");
    expect((await screen.findByTestId("problem")).textContent).toContain("maria denied it");
  });

  it("can be taken back with Z while it is held", async () => {
    const console = await one();
    await armed();
    press("a");
    await screen.findByText("held, not sent");
    press("z");
    await waitFor(() => {
      expect(console.argsOf("undo")).toEqual([{ key: "acme/billing-bot/r1" }]);
    });
    expect(await screen.findByText("approval undone")).toBeTruthy();
  });
});

describe("the ways of high and critical", () => {
  it("asks to read a high call to its end, and for the chord", async () => {
    screenObserver.unseen = "[data-place=end]";
    const console = await one({ risk: "high", path: "high" });
    await pause(450);
    press("a");
    press("A", chord);
    await pause(20);
    expect(console.argsOf("decide")).toEqual([]);
    expect(screen.getByTestId("way").textContent).toContain("Read the arguments to their end (missing)");
  });

  it("takes the chord once a high call was read", async () => {
    const console = await one({ risk: "high", path: "high" });
    await armed();
    press("a");
    press("A", chord);
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(1);
    });
  });

  it("asks a critical call's name, letter by letter, and for its reveals", async () => {
    const critical = {
      risk: "critical",
      path: "critical",
      reveals: [{ reveal: 0, kind: "secret", place: shown("api_key") }],
    } as const;
    const console = await one({ ...critical, reveals: [...critical.reveals] });
    console.answers.reveal = () => ({ reveal: 0, value: shown("hunter2"), ascii: '"hunter2"' });
    await pause(450);
    press("v");
    await waitFor(() => {
      expect(console.argsOf("reveal")).toHaveLength(1);
    });
    const field = await screen.findByLabelText("Type the tool’s name");
    fireEvent.change(field, { target: { value: "delete_invoic" } });
    await pause(450);
    press("A", chord);
    await pause(20);
    expect(console.argsOf("decide")).toEqual([]);
    fireEvent.change(field, { target: { value: "delete_invoice" } });
    await armed();
    press("A", chord);
    await waitFor(() => {
      expect(console.argsOf("decide")[0]).toMatchObject({ typed: "delete_invoice", revealed: [0] });
    });
  });

  it("says where what is typed differs from what is asked for, which it does not show in the field", async () => {
    await one({ risk: "critical", path: "critical" });
    const field = await screen.findByLabelText<HTMLInputElement>("Type the tool’s name");
    expect(field.placeholder).toBe("the tool’s name");
    for (const [typed, told] of [
      ["delete", ""],
      ["delete invoice", "What you typed differs at character 7."],
      ["delete_invoice", ""],
      ["delete_invoices", "What you typed differs at character 15."],
    ] as const) {
      fireEvent.change(field, { target: { value: typed } });
      expect(screen.getByTestId("differs").textContent).toBe(told);
    }
  });

  it("asks for the value that an operator chose instead of the name", async () => {
    const console = await one({
      risk: "critical",
      path: "critical",
      target: { text: "INV-42", pointer: shown("/invoice_id") },
    });
    const field = await screen.findByLabelText("Type the value of /invoice_id");
    fireEvent.change(field, { target: { value: "delete_invoice" } });
    await pause(450);
    press("A", chord);
    await pause(20);
    expect(console.argsOf("decide")).toEqual([]);
    fireEvent.change(field, { target: { value: "INV-42" } });
    await armed();
    press("A", chord);
    await waitFor(() => {
      expect(console.argsOf("decide")[0]).toMatchObject({ typed: "INV-42" });
    });
  });

  it("lets nothing run whose chosen value cannot be typed", async () => {
    await one({ risk: "critical", path: "critical", target: { text: null, pointer: shown("/invoice_id") } });
    expect(screen.getByTestId("way").textContent).toContain(
      "The value of /invoice_id cannot be typed: edit or deny it (missing)",
    );
    expect(screen.queryByRole("textbox", { name: /^Type/u })).toBeNull();
  });
});

describe("denying", () => {
  it("opens the reason at once and sends it with Enter, without arming", async () => {
    const console = await one({ risk: "critical", path: "critical" });
    press("d");
    const field = await screen.findByLabelText("Reason for the agent");
    expect(document.activeElement).toBe(field);
    fireEvent.change(field, { target: { value: "wrong invoice" } });
    const form = field.closest("form");
    if (form !== null) fireEvent.submit(form);
    await waitFor(() => {
      expect(console.argsOf("decide")[0]).toMatchObject({ verdict: "deny", message: "wrong invoice" });
    });
  });
});

describe("the list", () => {
  const two = [row({ key: "a/b/1", deadlineMs: FAR }), row({ key: "a/b/2", deadlineMs: FAR + 1, seq: 2 })];
  const cards = [card({ key: "a/b/1", deadlineMs: FAR }), card({ key: "a/b/2", deadlineMs: FAR + 1 })];

  it("never lets an arrival replace or disarm the card that is being read", async () => {
    const console = await desk(two, cards);
    await armed();
    act(() => {
      console.send(batch(1, [{ type: "put", row: row({ key: "a/b/0", deadlineMs: 30_000 }) }]));
    });
    expect(screen.getByTestId("waiting").textContent).toBe("3 waiting");
    expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/1");
    expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
  });

  it("goes to the next card after a decision, disarmed", async () => {
    const console = await desk(two, cards);
    await armed();
    press("a");
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
    expect(screen.getByTestId("card").dataset["armed"]).toBe("false");
    press("a");
    await pause(20);
    expect(console.argsOf("decide")).toHaveLength(1);
  });

  it("keeps a card that somebody else decided on screen", async () => {
    const console = await desk(two, cards);
    act(() => {
      console.send(batch(1, [{ type: "gone", key: "a/b/1" }]));
    });
    await pause(20);
    expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/1");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
  });

  it("says how to connect an agent when it is empty", async () => {
    await desk([], []);
    expect(within(await screen.findByTestId("empty")).getByText(/Nothing waits/)).toBeTruthy();
    expect(await screen.findByText(/agent\.json$/)).toBeTruthy();
  });
});

describe("text of agents", () => {
  it("stays text and is marked", async () => {
    const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>⟨U+202E⟩';
    await one(
      {
        says: [{ field: "reason", text: shown(hostile) }],
        args: [{ name: shown(hostile), value: [{ type: "text", text: shown(hostile) }] }],
      },
      { summary: shown(hostile), tool: shown(hostile) },
    );
    expect(document.querySelectorAll("img, script")).toHaveLength(0);
    expect(screen.getByTestId("card").textContent).toContain("<script>alert(2)</script>");
    expect(screen.getByTestId("row").textContent).toContain("<script>alert(2)</script>");
    expect(document.querySelectorAll(".shown-mark").length).toBeGreaterThanOrEqual(5);
  });
});

describe("the record of a tool", () => {
  const record = { approved: 10, denied: 3, expired: 1, other: 0, automatic: 4, medianMs: 38_000, newest: null };

  it.each([
    [
      record,
      "This tool by acme/billing-bot, last 90 days",
      "10 approved, 3 denied, 1 expired. By rules or setup keys: 4. Median waiting 38",
    ],
    [
      { ...record, approved: 996, automatic: 0, medianMs: null, newest: 1_000 },
      "This tool by acme/billing-bot, of the last 1,000 calls",
      "996 approved, 3 denied, 1 expired.",
    ],
    [
      { ...record, approved: 0, denied: 0, expired: 0, automatic: 0, medianMs: null },
      "This tool by acme/billing-bot, last 90 days",
      "No earlier call of it by this agent.",
    ],
  ])("stands beside its next call", async (answer, title, words) => {
    const console = await desk([row({ deadlineMs: FAR })], [card({ deadlineMs: FAR })], {
      answers: { tool_record: () => answer },
    });
    expect((await screen.findByTestId("tool-record")).textContent).toContain(words);
    expect(screen.getByText(title)).toBeTruthy();
    expect(console.argsOf("tool_record")).toEqual([{ key: card().key }]);
  });

  it("is not told of a question", async () => {
    const console = await one({ kind: "question", tool: null, args: null }, { kind: "question", tool: [] });
    await armed();
    expect(console.argsOf("tool_record")).toEqual([]);
  });
});

describe("arguments drawn as what they are", () => {
  it("shows a change line by line and a command part by part, under the arguments", async () => {
    await one({
      looks: [
        {
          type: "change",
          path: shown("src/a.rs"),
          lines: [
            { kind: "old", text: shown("a") },
            { kind: "new", text: shown("b⟨U+202E⟩") },
          ],
        },
        {
          type: "command",
          place: shown("command"),
          parts: [
            { joint: [], program: shown("cd"), rest: shown("/srv"), depth: 0 },
            { joint: shown("&&"), program: shown("rm"), rest: shown("-rf $(cat list)"), depth: 0 },
            { joint: [], program: shown("cat"), rest: shown("list"), depth: 1 },
          ],
        },
      ],
    });
    expect(screen.getByText("src/a.rs").closest("h3")?.textContent).toBe("As a change to src/a.rs");
    expect(screen.getByTestId("diff").textContent).toContain("bU+202E");
    const parts = within(screen.getByTestId("command-parts")).getAllByRole("listitem");
    expect(parts.map((part) => part.textContent)).toEqual([
      "cd /srv",
      "&&rm -rf $(cat list)",
      "inside of it: cat list",
    ]);
  });
});

const lost = (): never => {
  throw new CallError("ipc_lost", "The window has lost the console.");
};

describe("a lost console", () => {
  it("is said on every screen, and disarms", async () => {
    const console = await one();
    await armed();
    // Any answer would end it.
    Object.assign(console.answers, {
      decide: lost,
      led_here: lost,
      server_time: lost,
      status: lost,
      card: lost,
      why: lost,
      tool_record: lost,
      today: lost,
    });
    press("a");
    expect((await screen.findByTestId("lost")).textContent).toContain("lost the console");
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["armed"]).toBe("false");
    });
  });
});

describe("notifications", () => {
  it("are told to the console at start and with every choice", async () => {
    const console = await one();
    await waitFor(() => {
      expect(console.argsOf("notify")).toEqual([{ level: "all" }]);
    });
    press("k", { ctrlKey: true });
    fireEvent.click(await screen.findByText("Notifications"));
    await waitFor(() => {
      expect(console.argsOf("notify").at(-1)).toEqual({ level: "urgent" });
    });
  });
});
