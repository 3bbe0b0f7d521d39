import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, shown, status } from "../../test/build";
import { screenObserver } from "../../test/setup";
import { CallError } from "../ipc/transport";
import { press, pause, armed } from "../../test/hands";
import { chord, FAR, desk, one } from "../../test/desk";

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
    await waitFor(() => {
      expect(screen.getByTestId("sent").textContent).toContain("held, not sent");
    });
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

  it.each([
    ["critical", "Critical: complete every step to approve"],
    ["high", "Irreversible: complete every step to approve"],
  ] as const)("names why a call of risk %s asks for every step", async (risk, title) => {
    await one({ risk, path: "critical" });
    expect(screen.getByText(title)).toBeTruthy();
  });

  it("says where what is typed differs from what is asked for, which it does not show in the field", async () => {
    await one({ risk: "critical", path: "critical" });
    const field = await screen.findByLabelText<HTMLInputElement>("Type the tool’s name");
    expect(field.placeholder).toBe("the tool’s name");
    for (const [typed, reported] of [
      ["delete", ""],
      ["delete invoice", "Character 7 does not match."],
      ["delete_invoice", ""],
      ["delete_invoices", "Character 15 does not match."],
    ] as const) {
      fireEvent.change(field, { target: { value: typed } });
      expect(screen.getByTestId("differs").textContent).toBe(reported);
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
