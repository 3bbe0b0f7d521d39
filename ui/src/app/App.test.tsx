import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, batch, card, row, shown } from "../../test/build";
import { CallError } from "../ipc/transport";
import { press, pause, armed } from "../../test/hands";
import { FAR, desk, one } from "../../test/desk";

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
    expect(within(await screen.findByTestId("empty")).getByText(/Nothing is waiting/)).toBeTruthy();
    expect(await screen.findByText(/agent\.json$/)).toBeTruthy();
    expect(screen.queryByText(/first call/)).toBeNull();
    expect(document.querySelector("details")?.open).toBe(true);
  });

  it("folds the commands once an agent has asked", async () => {
    const agents = [agent({ lastRequestMs: 1 })];
    await desk([], [], { answers: { agents_list: () => ({ agents, serverMs: 0 }) } });
    expect((await screen.findByText("Connect an agent")).closest("details")?.open).toBe(false);
  });

  it("waits for the first call of an agent that was connected", async () => {
    const agents = [
      agent({ key: "default/claude-code", agent: "claude-code", lastRequestMs: null }),
      agent({ key: "default/local", agent: "local", lastRequestMs: null }),
      agent({ key: "default/codex", agent: "codex", lastRequestMs: 1 }),
    ];
    await desk([], [], { answers: { agents_list: () => ({ agents, serverMs: 0 }) } });
    expect(await screen.findByText("Waiting for the first call of default/claude-code.")).toBeTruthy();
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
  ])("is beside its next call", async (answer, title, words) => {
    const console = await desk([row({ deadlineMs: FAR })], [card({ deadlineMs: FAR })], {
      answers: { tool_record: () => answer },
    });
    expect((await screen.findByTestId("tool-record")).textContent).toContain(words);
    expect(screen.getByText(title)).toBeTruthy();
    expect(console.argsOf("tool_record")).toEqual([{ key: card().key }]);
  });

  it("is not informed of a question", async () => {
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
    expect(parts.map((part) => part.textContent)).toEqual(["cd /srv", "&&rm -rf $(cat list)", "inside it: cat list"]);
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
  it("are reported to the console at start and with every choice", async () => {
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
