import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, agentTool, batch, shown, status, waitingCalls } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import type { AgentView, StatusView } from "../ipc/generated";
import { App } from "./App";

const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};

const open = async (agents: AgentView[], more: { status?: StatusView } = {}): Promise<FakeConsole> => {
  window.location.hash = "#/agents";
  const console = fakeConsole({
    ...more,
    answers: {
      agents_list: () => ({ agents, serverMs: 60_000 }),
      brake: () => ({ terminated: 0, waiting: null }),
      panic: () => ({ terminated: 0, waiting: null }),
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId(agents.length > 0 ? "agent" : "agents-empty");
  return console;
};
const brakes = (): HTMLElement => screen.getByTestId("brake-bar");

describe("agents", () => {
  it("are listed with what is wrong with them, and found by their tools", async () => {
    await open([
      agent({ key: "acme/a", agent: "a", tools: [agentTool({ name: shown("pay"), changed: true })] }),
      agent({ key: "acme/b", agent: "b", presence: "silent", instances: [] }),
    ]);
    expect(screen.getByTestId("agents-count").textContent).toBe("1 live of 2");
    expect(screen.getAllByTestId("agent-row")[0]?.textContent).toContain("1 tool to look at");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("agent").dataset["key"]).toBe("acme/b");
    });
    fireEvent.change(screen.getByLabelText(/^Filter/), { target: { value: "PAY live" } });
    expect(screen.getAllByTestId("agent-row").map((row) => row.dataset["key"])).toEqual(["acme/a"]);
  });

  it("show what changed in a tool since a person last approved it, and what no person can be asked about", async () => {
    await open([
      agent({
        tools: [
          agentTool({
            name: shown("pay"),
            changed: true,
            approvedMs: 0,
            before: shown('{"amount": "number"}'),
            now: shown('{"amount": "string"}'),
          }),
          agentTool({
            name: shown("web_search"),
            gated: false,
            strict: true,
            strictFaults: [{ path: shown("/properties/q"), what: shown("not required") }],
            looksLike: shown("web_seаrch"),
          }),
        ],
      }),
    ]);
    const [pay, search] = screen.getAllByTestId("tool");
    fireEvent.click(within(pay as HTMLElement).getByText(/changed since it was last approved/));
    expect(screen.getByTestId("tool-change").textContent).toContain('{"amount": "string"}');
    expect(search?.textContent).toContain("cannot be gated");
    expect(search?.textContent).toContain("not strict at /properties/q: not required");
    expect(search?.textContent).toContain("can be mistaken for web_seаrch");
  });

  it("keep what is chosen for a tool with that tool, though another hello lists one before it", async () => {
    const typed = { pointer: null, offered: ["/amount"] };
    const console = await open([agent({ tools: [agentTool({ name: shown("pay"), typed })] })]);
    fireEvent.click(screen.getByTestId("target"));
    fireEvent.change(await screen.findByTestId("target-choice"), { target: { value: "/amount" } });
    console.answers.choose_target = () => ({});
    console.answers.agents_list = () => ({
      agents: [agent({ tools: [agentTool({ name: shown("drop"), typed }), agentTool({ name: shown("pay"), typed })] })],
      serverMs: 60_000,
    });
    await waitFor(
      () => {
        expect(screen.getAllByTestId("tool")).toHaveLength(2);
      },
      { timeout: 5_000 },
    );
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("choose_target")).toEqual([{ agent: "acme/bot", tool: "pay", pointer: "/amount" }]);
    });
  });

  it("go on with calls that wait only after these were named", async () => {
    const held = waitingCalls(["acme/bot/r7", "acme/bot/r8"]);
    const console = await open([agent({ brake: { agent: "acme/bot", stopped: false, by: shown("maria") } })]);
    console.answers.brake = ({ acceptWaiting }) => ({
      terminated: 0,
      waiting: acceptWaiting.length === 2 ? null : held,
    });
    fireEvent.click(within(brakes()).getByText("Resume…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByTestId("waiting-calls");
    fireEvent.click(screen.getByText("Resume and approve all 2"));
    await waitFor(() => {
      expect(console.argsOf("brake").map((args) => args.acceptWaiting)).toEqual([[], held.keys]);
    });
    await waitFor(() => {
      expect(screen.queryByRole("dialog")).toBeNull();
    });
  });

  it.each([
    [{ presence: "live" as const }, "Not paused. Rules and setup keys apply."],
    [{ presence: "silent" as const, lastSeenMs: 60_000 - 50 * 60_000 }, "Not paused, silent for 50 minutes."],
    [{ presence: "silent" as const, lastSeenMs: 60_000 - 60 * 60_000 }, "Not paused, silent for 1 hour."],
    [{ presence: "unheard" as const, lastSeenMs: null }, "Not paused, never heard. Rules and setup keys apply."],
  ])("that nobody holds back say how long they were silent: %o", async (more, words) => {
    await open([agent(more)]);
    expect(brakes().textContent).toContain(words);
  });

  it("mark a tool that a later hello left out, in full contrast, and no other", async () => {
    await open([
      agent({ tools: [agentTool({ name: shown("pay") }), agentTool({ name: shown("gone"), unlisted: true })] }),
    ]);
    const [pay, gone] = screen.getAllByTestId("tool");
    expect([pay?.textContent, gone?.textContent].map((text) => text?.includes("no longer listed"))).toEqual([
      false,
      true,
    ]);
    expect(gone?.className).not.toContain("opacity");
  });

  it("are not kept from another question by the late answer to one that was left", async () => {
    const console = await open([agent()]);
    let answer!: () => void;
    console.answers.brake = () =>
      new Promise((done) => {
        answer = () => {
          done({ terminated: 0, waiting: null });
        };
      });
    fireEvent.click(within(brakes()).getByText("Pause…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText("Telling the bus…");
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    fireEvent.click(within(brakes()).getByText("Stop…"));
    await screen.findByText("Stop acme/bot?");
    await act(async () => {
      answer();
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect(screen.queryByText("Stop acme/bot?")).not.toBeNull();
  });

  it("are told not to be stopped where they were not, also to who has closed the question by then", async () => {
    const console = await open([agent()]);
    let fails!: () => void;
    console.answers.brake = () =>
      new Promise((_, reject) => {
        fails = () => {
          reject(new CallError("bus_unreachable", "the bus cannot be reached"));
        };
      });
    fireEvent.click(within(brakes()).getByText("Stop…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText("Telling the bus…");
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    act(() => {
      fails();
    });
    const told = await screen.findByTestId("late-failure");
    expect(told.textContent).toContain("Stop acme/bot? It failed: the bus cannot be reached");
    fireEvent.click(within(told).getByText("Seen"));
    expect(screen.queryByTestId("late-failure")).toBeNull();
  });

  it("let an operator choose what is typed before a critical call of a tool, or say why not", async () => {
    const console = await open([
      agent({
        tools: [
          agentTool({ name: shown("pay"), typed: { pointer: null, offered: ["/iban", "/amount"] } }),
          agentTool({ name: shown("drop"), typed: { pointer: "/table", offered: [] } }),
          agentTool({ name: shown("look") }),
        ],
      }),
    ]);
    expect(
      screen.getAllByTestId("tool").map((tool) => within(tool).queryByTestId("target")?.textContent ?? null),
    ).toEqual(["typed: its name", "typed: /table", null]);
    const answers = ["this is no JSON pointer", null];
    console.answers.choose_target = () => {
      const problem = answers.shift();
      if (typeof problem === "string") throw new CallError("invalid_args", problem);
      return {};
    };
    fireEvent.click(screen.getAllByTestId("target")[0] as HTMLElement);
    const choice = await screen.findByTestId("target-choice");
    expect([...choice.querySelectorAll("option")].map((option) => option.textContent)).toEqual([
      "the tool’s name",
      "the value of /iban",
      "the value of /amount",
      "the value of another argument",
    ]);
    fireEvent.change(choice, { target: { value: "other" } });
    fireEvent.change(await screen.findByLabelText("JSON pointer to the argument"), { target: { value: "iban" } });
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await screen.findByText("this is no JSON pointer");
    fireEvent.change(choice, { target: { value: "/iban" } });
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    expect(console.argsOf("choose_target")).toEqual([
      { agent: "acme/bot", tool: "pay", pointer: "iban" },
      { agent: "acme/bot", tool: "pay", pointer: "/iban" },
    ]);
  });

  it("are paused and stopped only after one more question, whose focus is on the way out", async () => {
    const console = await open([agent({ key: "acme/bot" })]);
    fireEvent.click(within(brakes()).getByText("Stop…"));
    expect((await screen.findByTestId("confirm")).textContent).toContain("terminated now");
    expect(document.activeElement?.textContent).toContain("Cancel");
    expect(console.argsOf("brake")).toEqual([]);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("brake")).toEqual([{ agent: "acme/bot", state: "stopped", acceptWaiting: [] }]);
    });
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
  });

  it("give the keyboard back to what had it before they were asked about", async () => {
    await open([agent({ key: "acme/bot" })]);
    const button = within(brakes()).getByText("Pause…");
    button.focus();
    fireEvent.click(button);
    await screen.findByTestId("confirm");
    expect(document.activeElement).not.toBe(button);
    fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => {
      expect(document.activeElement).toBe(button);
    });
  });

  it("say why a brake could not be set, and keep asking", async () => {
    const console = await open([agent({ brake: { agent: "acme/bot", stopped: false, by: shown("maria") } })]);
    console.answers.brake = () => {
      throw new CallError("bus_unreachable", "the bus cannot be reached");
    };
    expect(brakes().textContent).toContain("Paused by maria");
    expect(within(brakes()).queryByText("Pause…")).toBeNull();
    fireEvent.click(within(brakes()).getByText("Resume…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText("the bus cannot be reached");
  });

  it("are explained while there is none", async () => {
    await open([]);
    await screen.findByText(/No agent is known yet/);
  });
});

describe("a bypass", () => {
  it("is started for a risk and a time after one more question", async () => {
    const console = await open([agent({ key: "acme/bot" })]);
    console.answers.bypass = () => ({ terminated: 0, waiting: null });
    fireEvent.click(within(brakes()).getByText("Bypass…"));
    expect((await screen.findByTestId("confirm")).textContent).toContain("critical calls always ask");
    fireEvent.change(screen.getByTestId("bypass-risk"), { target: { value: "medium" } });
    fireEvent.change(screen.getByTestId("bypass-time"), { target: { value: "3600" } });
    expect(within(screen.getByTestId("bypass-risk")).queryByText("critical")).toBeNull();
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("bypass")).toEqual([{ agent: "acme/bot", grant: { upTo: "medium", seconds: 3_600 } }]);
    });
  });

  it("is shown with its end in the status bar while it lasts, and ended at once", async () => {
    const bypass = { agent: "acme/bot", upTo: "low" as const, untilMs: 60_000, by: shown("ann") };
    const console = await open([agent({ key: "acme/bot" })], {
      status: status({ bypasses: [bypass, { ...bypass, agent: "acme/over", untilMs: -1 }] }),
    });
    expect((await screen.findAllByTestId("bypass")).map((one) => [one.textContent, one.title])).toEqual([
      [
        expect.stringMatching(/^1 bypass until \d\d:\d\d$/u),
        expect.stringMatching(/^Bypass: acme\/bot, up to low, until [\d:]+, by ann$/u),
      ],
    ]);
    console.answers.bypass = () => {
      throw new CallError("bus_unreachable", "the bus cannot be reached");
    };
    fireEvent.click(within(brakes()).getByText("End the bypass"));
    await screen.findByText("the bus cannot be reached");
    expect(console.argsOf("bypass")).toEqual([{ agent: "acme/bot", grant: null }]);
  });

  it("that could not be ended is told also to who has left its agent by then", async () => {
    const bypass = { agent: "acme/bot", upTo: "low" as const, untilMs: 600_000, by: shown("ann") };
    const console = await open([agent({ key: "acme/bot" })], { status: status({ bypasses: [bypass] }) });
    let fails!: () => void;
    console.answers.bypass = () =>
      new Promise((_, reject) => {
        fails = () => {
          reject(new CallError("bus_unreachable", "the bus cannot be reached"));
        };
      });
    fireEvent.click(within(brakes()).getByText("End the bypass"));
    for (const key of ["g", "h"]) press(key);
    await screen.findByTestId("history-count");
    act(() => {
      fails();
    });
    expect((await screen.findByTestId("late-failure")).textContent).toContain(
      "End the bypass of acme/bot? It failed: the bus cannot be reached",
    );
  });
});

describe("panic", () => {
  const chord = { ctrlKey: true, shiftKey: true, code: "Period" };

  it("is on at once", async () => {
    const console = await open([]);
    press(">", chord);
    await waitFor(() => {
      expect(console.argsOf("panic")).toEqual([{ on: true, acceptWaiting: [] }]);
    });
    await screen.findByText(/Panic is on/);
  });

  it("says that it is not on when the bus did not take it", async () => {
    const console = await open([]);
    console.answers.panic = () => {
      throw new CallError("bus_unreachable", "the bus cannot be reached");
    };
    press(">", chord);
    await screen.findByText(/Panic is not on: the bus cannot be reached/);
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByText(/Panic is not on/)).toBeNull();
    });
    expect([screen.queryByTestId("panic-dialog"), console.argsOf("panic").length]).toEqual([null, 1]);
  });

  /** Asked for, its dialog closed, and no answer yet. */
  const left = async (): Promise<{ readonly console: FakeConsole; readonly fails: (of?: number) => void }> => {
    const console = await open([]);
    const answers: (() => void)[] = [];
    console.answers.panic = () =>
      new Promise((_, reject) => {
        answers.push(() => {
          reject(new CallError("bus_unreachable", "the bus cannot be reached"));
        });
      });
    press(">", chord);
    await screen.findByText("Telling every console…");
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("panic-dialog")).toBeNull();
    });
    return {
      console,
      fails: (of = 0) => {
        act(() => {
          answers[of]?.();
        });
      },
    };
  };

  it("says once, also after its dialog was closed, that it is not on, and takes no focus for it", async () => {
    const { console, fails } = await left();
    const filter = screen.getByLabelText(/^Filter/u);
    filter.focus();
    fails();
    expect((await screen.findByTestId("late-failure")).textContent).toContain(
      "Panic was not turned on: the bus cannot be reached",
    );
    await act(async () => {
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect(document.activeElement).toBe(filter);
    expect([screen.queryByRole("dialog"), console.argsOf("panic")]).toEqual([null, [{ on: true, acceptWaiting: [] }]]);
    fireEvent.click(screen.getByText("Seen"));
    await waitFor(() => {
      expect(screen.queryByTestId("late-failure")).toBeNull();
    });
  });

  it("asked for once more says nothing of what was asked before", async () => {
    const { fails } = await left();
    press(">", chord);
    await screen.findByText("Telling every console…");
    fails(0);
    await act(async () => {
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect([screen.queryByTestId("late-failure"), screen.getByTestId("panic-dialog").textContent]).toEqual([
      null,
      "Telling every console…",
    ]);
    fails(1);
    await screen.findByText(/Panic is not on: the bus cannot be reached/);
    expect(screen.queryByTestId("late-failure")).toBeNull();
  });

  it("is turned off only after one more question", async () => {
    const console = await open([], { status: status({ panic: shown("maria") }) });
    await screen.findByTestId("panic");
    press(">", chord);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("panic")).toEqual([{ on: false, acceptWaiting: [] }]);
    });
  });

  it("is turned off with calls that wait only after they were named", async () => {
    const held = waitingCalls(["acme/bot/r7"]);
    const console = await open([], { status: status({ panic: shown("maria") }) });
    console.answers.panic = ({ acceptWaiting }) => ({
      terminated: 0,
      waiting: acceptWaiting.length === 1 ? null : held,
    });
    await screen.findByTestId("panic");
    press(">", chord);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    expect((await screen.findByTestId("waiting-calls")).textContent).toContain("1 call that is still waiting");
    fireEvent.click(screen.getByText("Turn panic off and approve it"));
    await waitFor(() => {
      expect(console.argsOf("panic").map((args) => args.acceptWaiting)).toEqual([[], held.keys]);
    });
    await waitFor(() => {
      expect(screen.queryByRole("dialog")).toBeNull();
    });
  });

  it("asked for in the tray to be turned off is asked once more here, and never turned on by that", async () => {
    const console = await open([], { status: status({ panic: shown("maria") }) });
    await screen.findByTestId("panic");
    act(() => {
      console.send(batch(1, [], { panicAsked: true }));
    });
    expect(await screen.findByText("Turn panic off?")).toBeTruthy();
    expect(console.argsOf("panic")).toEqual([]);
    fireEvent.keyDown(document.body, { key: "Escape" });
    act(() => {
      console.send(batch(2, [], { status: status() }));
    });
    await waitFor(() => {
      expect(screen.queryByTestId("panic")).toBeNull();
    });
    act(() => {
      console.send(batch(3, [], { panicAsked: true }));
    });
    await act(async () => {
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect([screen.queryByTestId("panic-dialog"), console.argsOf("panic")]).toEqual([null, []]);
  });
});
