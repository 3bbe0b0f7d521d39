import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import {
  armed,
  chord,
  decided,
  desk,
  isArmed,
  onScreen,
  once,
  onceArmed,
  pause,
  press,
  secret,
  tried,
} from "../../test/armedDesk";
import { batch, shown } from "../../test/build";
import { screenObserver } from "../../test/setup";
import type { ToolRecordView } from "../ipc/generated";

describe("a hidden value", () => {
  const secrets = {
    reveals: [0, 1].map((reveal) => ({ reveal, kind: "secret" as const, place: shown(`password${reveal}`) })),
  };
  /** Reveals of the first card are answered when the test wants. */
  const late = async () => {
    const answers: (() => void)[] = [];
    const console = await desk(secrets, {
      reveal: ({ reveal }) =>
        new Promise((done) => {
          answers.push(() => {
            done({ reveal, value: shown("hunter2"), ascii: '"hunter2"' });
          });
        }),
    });
    const give = (): Promise<void> =>
      act(async () => {
        for (const answer of answers.splice(0)) answer();
        await Promise.resolve();
      });
    return { give, revealed: () => console.argsOf("reveal").map(({ key, reveal }) => `${key} ${reveal}`) };
  };

  it("is revealed once, and written once into the audit log, however often V is pressed meanwhile", async () => {
    const { give, revealed } = await late();
    for (const key of ["v", "v"]) press(key);
    await give();
    await screen.findByText(/hunter2/);
    press("v");
    await give();
    await waitFor(() => {
      expect(screen.getAllByText(/hunter2/)).toHaveLength(2);
    });
    expect(revealed()).toEqual(["a/b/1 0", "a/b/1 1"]);
  });

  it("of a card that was left meanwhile is not revealed to nobody", async () => {
    const { give, revealed } = await late();
    press("v");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
    await give();
    await pause(20);
    expect(revealed()).toEqual(["a/b/1 0"]);
  });
});

describe("what has no room in the window", () => {
  it.each(["room", "bottom"])("cannot be approved, and says why (%s)", async (place) => {
    screenObserver.unseen = `[data-place=${place}]`;
    const console = await desk();
    await pause(500);
    press("a");
    fireEvent.click(screen.getByTestId("approve"));
    await pause(20);
    expect([decided(console), isArmed()]).toEqual([0, "false"]);
    expect(screen.getByTestId("too-small")).toBeTruthy();
    onScreen(null);
    press("a");
    expect([decided(console), screen.queryByTestId("too-small")]).toEqual([0, null]);
    await armed();
    onScreen(`[data-place=${place}]`);
    press("a");
    expect(decided(console)).toBe(0);
    onScreen(null);
    await armed();
    press("a");
    await once(console);
  });

  it("cannot be approved where only a value has none, alone or among several", async () => {
    screenObserver.narrow = "[data-value]";
    const console = await desk();
    await tried();
    expect([decided(console), isArmed()]).toEqual([0, "false"]);
    expect(screen.getByTestId("too-small")).toBeTruthy();
    press("x");
    await screen.findByTestId("batch");
    await tried();
    expect([decided(console), isArmed("batch")]).toEqual([0, "false"]);
  });

  it("cannot be approved among several, either", async () => {
    screenObserver.unseen = "[data-place=room]";
    const console = await desk();
    press("x");
    await screen.findByTestId("batch");
    await tried();
    expect([decided(console), isArmed("batch")]).toEqual([0, "false"]);
    onScreen(null);
    await armed("batch");
  });

  it("is a tool's name, too: the end of a long one is seen first, on every way", async () => {
    screenObserver.unseen = "[data-place=name]";
    const console = await desk({
      tool: {
        name: shown(`look_up${"_".repeat(90)}_and_delete`),
        description: null,
        namespace: null,
        origin: null,
        effects: null,
      },
    });
    await tried();
    expect([decided(console), screen.getByTestId("way").textContent]).toEqual([
      0,
      expect.stringContaining("Read the tool’s name to its end"),
    ]);
    onScreen(null);
    await onceArmed(console);
  });
});

describe("what changes on a card", () => {
  it("disarms it: a value that was hidden", async () => {
    const console = await desk(secret);
    await armed();
    press("v");
    await screen.findByText("is exactly", { exact: false });
    expect(isArmed()).toBe("false");
    await onceArmed(console);
  });

  it("must be read on where it must be read: a value that was hidden moves the end", async () => {
    const console = await desk({ ...secret, risk: "critical", path: "critical" });
    fireEvent.change(await screen.findByLabelText("Type the tool’s name"), { target: { value: "delete_invoice" } });
    screenObserver.unseen = "[data-place=end]";
    press("v");
    await screen.findByText("is exactly", { exact: false });
    await pause(500);
    expect(document.querySelector<HTMLElement>("[data-step=read]")?.dataset["done"]).toBe("false");
    chord();
    await pause(20);
    expect(decided(console)).toBe(0);
    onScreen(null);
    chord();
    expect(decided(console)).toBe(0);
    await armed();
    chord();
    await once(console);
    expect(console.argsOf("decide")[0]).toMatchObject({ revealed: [0], typed: "delete_invoice" });
  });

  it("disarms it: messages that are unfolded, and what is informed of its tool late", async () => {
    const late: { tell?: (record: ToolRecordView) => void } = {};
    const history = ["one", "two", "three"].map((content) => ({ role: shown("user"), content: shown(content) }));
    const console = await desk(
      { history },
      {
        tool_record: () =>
          new Promise((done) => {
            late.tell = done;
          }),
      },
    );
    await armed();
    fireEvent.click(screen.getByRole("button", { name: "Show 1 earlier" }));
    press("a");
    expect([decided(console), isArmed()]).toEqual([0, "false"]);
    await armed();
    late.tell?.({ approved: 1, denied: 0, expired: 0, other: 0, automatic: 0, medianMs: null, newest: null });
    await screen.findByTestId("tool-record");
    press("a");
    await waitFor(() => {
      expect(isArmed()).toBe("false");
    });
    expect(decided(console)).toBe(0);
    await armed();
    press("a");
    await once(console);
  });

  it("leaves it armed where only time passes", async () => {
    await desk();
    await armed();
    const seen = new Set<string | undefined>();
    const watch = new MutationObserver(() => {
      seen.add(isArmed());
    });
    watch.observe(screen.getByTestId("card"), {
      attributes: true,
      characterData: true,
      childList: true,
      subtree: true,
    });
    await pause(2_100);
    watch.disconnect();
    // The seconds passed, and nothing came of it.
    expect([...seen]).toEqual(["true"]);
  });
});

describe("a key that only leads to the end of the arguments", () => {
  it("is followed by an approval after they stood still there, not at once", async () => {
    screenObserver.unseen = "[data-place=end]";
    const console = await desk({ risk: "high", path: "high" });
    await pause(500);
    chord();
    onScreen(null);
    chord();
    await pause(20);
    expect([decided(console), document.querySelector<HTMLElement>("[data-step=read]")?.dataset["done"]]).toEqual([
      0,
      "true",
    ]);
    await armed();
    chord();
    await once(console);
  });

  it("is followed so among several, too", async () => {
    screenObserver.unseen = "[data-place=end]";
    const console = await desk();
    press("x");
    await screen.findByText("Read them to their end first");
    await pause(500);
    onScreen(null);
    press("a");
    await pause(20);
    expect(decided(console)).toBe(0);
    await armed("batch");
    press("a");
    await once(console);
  });
});

describe("what lies over the desk", () => {
  const opens: Record<string, () => void> = {
    "the menu of a card": () => {
      fireEvent.keyDown(screen.getByRole("button", { name: "More" }), { key: "Enter" });
    },
    "the list of snoozed cards": () => {
      fireEvent.click(screen.getByTestId("snoozed"));
    },
    "a dialog": () => {
      press("?");
    },
  };
  it.each(Object.entries(opens))("disarms the card and keeps its keys while it is open: %s", async (_, open) => {
    const console = await desk();
    press("s");
    fireEvent.click((await screen.findAllByRole("button", { name: /minutes|hour/u }))[0] as HTMLElement);
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
    await armed();
    open();
    expect(isArmed()).toBe("false");
    await pause(500);
    press("a");
    chord();
    press("d");
    expect([decided(console), isArmed(), screen.queryByLabelText("Reason for the agent")]).toEqual([0, "false", null]);
    fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await armed();
    press("a");
    await once(console);
  });
});

describe("a pointer that is held", () => {
  it("approves nothing that came under it, and the next click does", async () => {
    const console = await desk();
    press("J", { shiftKey: true });
    await armed("batch");
    fireEvent.pointerDown(screen.getByTestId("approve"));
    act(() => {
      console.send(batch(1, [{ type: "gone", key: "a/b/1" }]));
    });
    await waitFor(() => {
      expect(screen.getByTestId("batch").dataset["count"]).toBe("1");
    });
    await armed("batch");
    fireEvent.pointerUp(screen.getByTestId("approve"));
    fireEvent.click(screen.getByTestId("approve"));
    await pause(20);
    expect(decided(console)).toBe(0);
    fireEvent.click(screen.getByTestId("approve"));
    await once(console);
  });
});
