import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, agentTool, shown, waitingCalls } from "../../test/build";
import { CallError } from "../ipc/transport";
import { press } from "../../test/hands";
import { open, controls } from "../../test/agents";

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

  it("show when the gate in front of an agent last held, or why it is open", async () => {
    await open([
      agent({ key: "acme/a", agent: "a", gate: { heldMs: 0, open: null } }),
      agent({ key: "acme/b", agent: "b", gate: { heldMs: null, open: shown("hooks are off") } }),
    ]);
    expect(screen.getByTestId("gate").textContent).toBe("Gate last held 1 min ago");
    expect(screen.getAllByTestId("agent-row").map((row) => row.textContent?.includes("gate open"))).toEqual([
      false,
      true,
    ]);
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("gate").textContent).toBe("Gate open: hooks are off");
    });
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
    fireEvent.click(within(controls()).getByText("Resume…"));
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
    expect(controls().textContent).toContain(words);
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
    fireEvent.click(within(controls()).getByText("Pause…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText("Sending to the bus…");
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    fireEvent.click(within(controls()).getByText("Stop…"));
    await screen.findByText("Stop acme/bot?");
    await act(async () => {
      answer();
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect(screen.queryByText("Stop acme/bot?")).not.toBeNull();
  });

  it("are reported not to be stopped where they were not, also to who has closed the question by then", async () => {
    const console = await open([agent()]);
    let fails!: () => void;
    console.answers.brake = () =>
      new Promise((_, reject) => {
        fails = () => {
          reject(new CallError("bus_unreachable", "the bus cannot be reached"));
        };
      });
    fireEvent.click(within(controls()).getByText("Stop…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText("Sending to the bus…");
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByTestId("confirm")).toBeNull();
    });
    act(() => {
      fails();
    });
    const reported = await screen.findByTestId("late-failure");
    expect(reported.textContent).toContain("Stop acme/bot? It failed: the bus cannot be reached");
    fireEvent.click(within(reported).getByText("Dismiss"));
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
    ).toEqual(["type to approve: its name", "type to approve: /table", null]);
    const answers = ["this is not a JSON pointer", null];
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
    await screen.findByText("this is not a JSON pointer");
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
    fireEvent.click(within(controls()).getByText("Stop…"));
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
    const button = within(controls()).getByText("Pause…");
    button.focus();
    fireEvent.click(button);
    await screen.findByTestId("confirm");
    expect(document.activeElement).not.toBe(button);
    fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => {
      expect(document.activeElement).toBe(button);
    });
  });

  it("say why a pause or stop could not be set, and keep asking", async () => {
    const console = await open([agent({ brake: { agent: "acme/bot", stopped: false, by: shown("maria") } })]);
    console.answers.brake = () => {
      throw new CallError("bus_unreachable", "the bus cannot be reached");
    };
    expect(controls().textContent).toContain("Paused by maria");
    expect(within(controls()).queryByText("Pause…")).toBeNull();
    fireEvent.click(within(controls()).getByText("Resume…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText("the bus cannot be reached");
  });

  it("are explained while there is none", async () => {
    await open([]);
    await screen.findByText(/No agent is known yet/);
  });
});
