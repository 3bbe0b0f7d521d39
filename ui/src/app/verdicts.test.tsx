import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { batch, card, row, status } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import { App } from "./App";
import { press, pause, armed } from "../../test/hands";
import { FAR, go, entry, becomes, desk, tell, approved } from "../../test/verdicts";

describe("a verdict that was given", () => {
  it.each([
    ["expired", "it expired before your answer counted"],
    ["withdrawn", "its agent took it back before your answer counted"],
    ["void", "the stored decision does not verify"],
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

  it("is shown as a vote that counts while others are waited for, not as a failure", async () => {
    const votes = { required: 2, given: 0, apart: 0, mine: false };
    const console = await desk({ votes: { count: votes, votes: [] } }, { votes });
    console.answers.decide = () => ({ state: "pending", verdict: "approve", releaseMs: null });
    await armed();
    press("a");
    await becomes("voted");
    expect(entry().textContent).toContain("your vote is recorded; waiting for others");
    expect(screen.queryByText(/was not accepted/u)).toBeNull();
  });

  it("goes from held to a vote that counts when it is one of several", async () => {
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

  it("is shown when its operator comes back from another screen", async () => {
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

  it("is read to a screen reader once for each step, without the seconds", async () => {
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
    expect(said.textContent).toBe("delete_invoice: signed and being sent");
    expect(screen.getByRole("list", { name: "Your verdicts" })).toBeTruthy();
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
