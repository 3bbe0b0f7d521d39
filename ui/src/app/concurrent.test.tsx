import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, ruleRow, setupForm, setupKey, setupLine } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { AGAIN, clicks, goes, later, press, rules, saves, settle, shownText, text, typed } from "../../test/ruleEditor";
import { CallError } from "../ipc/transport";
import type { RuleText, SavedRule } from "../ipc/generated";
import { App } from "./App";

describe("what is shown without having been chosen", () => {
  it("stays though an agent comes that is before it", async () => {
    window.location.hash = "#/agents";
    const agents = [agent({ key: "acme/b", agent: "b" })];
    render(<App transport={fakeConsole({ answers: { agents_list: () => ({ agents: [...agents], serverMs: 0 }) } })} />);
    expect((await screen.findByTestId("agent")).dataset["key"]).toBe("acme/b");
    agents.unshift(agent({ key: "acme/a", agent: "a" }));
    await waitFor(() => {
      expect(screen.getAllByTestId("agent-row")).toHaveLength(2);
    }, AGAIN);
    expect(screen.getByTestId("agent").dataset["key"]).toBe("acme/b");
  });

  it("keeps a setup form under the hands that type into it", async () => {
    window.location.hash = "#/setup";
    const agents = [setupLine({ key: "acme/b" })];
    const form = setupForm({
      key: "acme/b",
      agent: "b",
      declared: { type: "keys", keys: [setupKey({ key: "limit" })] },
    });
    render(
      <App
        transport={fakeConsole({
          answers: { setup_list: () => ({ agents: [...agents] }), setup_of: ({ agent: key }) => ({ ...form, key }) },
        })}
      />,
    );
    const field = await screen.findByLabelText("limit");
    field.focus();
    agents.unshift(setupLine({ key: "acme/a" }));
    await waitFor(() => {
      expect(screen.getAllByTestId("setup-row")).toHaveLength(2);
    }, AGAIN);
    expect([screen.getByTestId("setup").dataset["key"], document.activeElement]).toEqual(["acme/b", field]);
  });
});

const savesWith = async (words: string): Promise<void> => {
  await saves(words);
  await waitFor(() => {
    expect(screen.queryByText("Save")).toBeNull();
  });
};

describe("a rule that is edited", () => {
  it("stays open though a stronger one comes before it", async () => {
    const list = [ruleRow()];
    await rules(list);
    await typed("# mine\n");
    list.unshift(ruleRow({ id: "never", effect: "deny" }));
    await waitFor(() => {
      expect(screen.getAllByTestId("rule-row")).toHaveLength(2);
    }, AGAIN);
    expect(screen.getByTestId("rule").dataset["id"]).toBe("small");
    expect(await shownText()).toContain("# mine");
  });

  it("stays with what was typed when somebody else removes it, and can be made anew", async () => {
    const list = [ruleRow({ id: "other" }), ruleRow()];
    const console = await rules(list, {
      save_rule: () => ({ id: "small", version: 1, conflict: null, gone: false, denied: null, waiting: null }),
    });
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["id"]).toBe("small");
    });
    await typed("# mine\n");
    list.pop();
    const conflict = await screen.findByTestId("conflict", undefined, AGAIN);
    expect(conflict.textContent).toContain("Somebody else removed this rule meanwhile. Your text is kept");
    expect(await shownText()).toContain("# mine");
    fireEvent.click(within(conflict).getByText("Create it again"));
    const save = await screen.findByText<HTMLButtonElement>("Save");
    await waitFor(() => {
      expect(save.disabled).toBe(false);
    });
    fireEvent.click(save);
    await waitFor(() => {
      expect(console.argsOf("save_rule")).toMatchObject([
        { seenVersion: null, text: expect.stringContaining("# mine") as string },
      ]);
    });
  });

  it("loses nothing that is typed while the bus takes its time with saving", async () => {
    const saved = later<SavedRule>();
    const list = [ruleRow()];
    const console = await rules(list, { save_rule: () => saved.promise });
    await typed("# one\n");
    const save = await screen.findByText<HTMLButtonElement>("Save");
    await waitFor(() => {
      expect(save.disabled).toBe(false);
    });
    fireEvent.click(save);
    await screen.findByText("Sending to the bus…");
    await typed("# two\n");
    console.answers.rule_text = () => text({ version: 4, text: 'id = "small"\neffect = "ask"\n# one\n' });
    list[0] = ruleRow({ version: 4 });
    saved.resolve({ id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null });
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["version"]).toBe("4");
    }, AGAIN);
    expect(await shownText()).toContain("# one\n# two");
    expect(screen.queryByTestId("conflict")).toBeNull();
    console.answers.save_rule = () => ({
      id: "small",
      version: 5,
      conflict: null,
      gone: false,
      denied: null,
      waiting: null,
    });
    await waitFor(() => {
      expect(screen.getByText<HTMLButtonElement>("Save").disabled).toBe(false);
    });
    fireEvent.click(screen.getByText("Save"));
    await waitFor(() => {
      expect(console.argsOf("save_rule").at(-1)).toMatchObject({
        seenVersion: 4,
        text: expect.stringContaining("# two") as string,
      });
    });
  });

  it("is shown as saved once it is, also where it cannot be read again", async () => {
    const list = [ruleRow()];
    const console = await rules(list, {
      save_rule: () => ({ id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null }),
    });
    console.answers.rule_text = () => {
      throw new CallError("failed", "the store is busy");
    };
    list[0] = ruleRow({ version: 4 });
    await savesWith("# one\n");
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["version"]).toBe("4");
    }, AGAIN);
    expect((await screen.findByTestId("unread", undefined, AGAIN)).textContent).toBe(
      "Could not be read: the store is busy",
    );
    expect([await shownText(), screen.getByTestId("rule-problems").textContent, screen.queryByText("Save")]).toEqual([
      expect.stringContaining("# one"),
      "",
      null,
    ]);
    await savesWith("# two\n");
    expect(console.argsOf("save_rule").map((args) => args.seenVersion)).toEqual([3, 4]);
  });

  it("takes the own change for nobody else's, though the list knows of it before the saving is answered", async () => {
    const saved = later<SavedRule>();
    const list = [ruleRow()];
    const console = await rules(list, { save_rule: () => saved.promise });
    await typed("# one\n");
    const save = await screen.findByText<HTMLButtonElement>("Save");
    await waitFor(() => {
      expect(save.disabled).toBe(false);
    });
    fireEvent.click(save);
    await screen.findByText("Sending to the bus…");
    const own = text({ version: 4, text: 'id = "small"\neffect = "ask"\n# one\n' });
    const reading = later<RuleText>();
    console.answers.rule_text = () => reading.promise;
    list[0] = ruleRow({ version: 4 });
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["version"]).toBe("4");
    }, AGAIN);
    await act(async () => {
      reading.resolve(own);
      await new Promise((done) => {
        setTimeout(done, 20);
      });
    });
    expect(screen.queryByTestId("conflict")).toBeNull();
    saved.resolve({ id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null });
    await waitFor(() => {
      expect(screen.queryByText("Sending to the bus…")).toBeNull();
    });
    expect([screen.queryByTestId("conflict"), screen.queryByText(/changed, not saved/), await shownText()]).toEqual([
      null,
      null,
      expect.stringContaining("# one"),
    ]);
  });

  it("keeps what is typed after a look elsewhere while it is saved, and knows its own saving", async () => {
    const saved = later<SavedRule>();
    const list = [ruleRow(), ruleRow({ id: "other" })];
    const console = await rules(list, { save_rule: () => saved.promise });
    await saves("# one\n");
    await screen.findByText("Sending to the bus…");
    await goes("j", "other");
    await goes("k", "small");
    await typed("# two\n");
    console.answers.rule_text = () => text({ version: 4, text: `${text().text}# one\n` });
    list[0] = ruleRow({ version: 4 });
    saved.resolve({ id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null });
    await act(async () => {
      await saved.promise;
    });
    await typed("# three\n");
    await waitFor(() => {
      expect(screen.getByTestId("rule").dataset["version"]).toBe("4");
    }, AGAIN);
    await settle();
    expect([await shownText(), screen.queryByTestId("conflict")]).toEqual([
      expect.stringContaining("# one\n# two\n# three"),
      null,
    ]);
    await goes("j", "other");
    await goes("k", "small");
    await settle();
    expect([await shownText(), screen.queryByTestId("conflict")]).toEqual([
      expect.stringContaining("# one\n# two\n# three"),
      null,
    ]);
    await clicks("Save");
    await waitFor(() => {
      expect(console.argsOf("save_rule").map((args) => args.seenVersion)).toEqual([3, 4]);
    });
  });

  it("has no simulation run on for an editor that was left before it had a number", async () => {
    const begun = later<{ number: number }>();
    const console = await rules([ruleRow()], { start_preview: () => begun.promise });
    await waitFor(() => {
      expect(console.argsOf("start_preview")).toHaveLength(1);
    });
    for (const key of ["g", "q"]) press(key);
    await screen.findByTestId("waiting");
    begun.resolve({ number: 7 });
    await waitFor(() => {
      expect(console.argsOf("stop_preview")).toEqual([{ number: 7 }]);
    });
    expect(console.argsOf("preview")).toEqual([]);
  });

  it("that is new outlives a look at another one", async () => {
    await rules([ruleRow()]);
    press("c");
    await screen.findByText("New rule");
    await typed("# a new one\n");
    press("Escape");
    press("j");
    await screen.findByTestId("rule");
    press("c");
    await screen.findByText("New rule");
    expect(await shownText()).toContain("# a new one");
    fireEvent.click(screen.getByText("Discard changes"));
    await waitFor(async () => {
      expect(await shownText()).not.toContain("# a new one");
    });
  });

  it("does not keep its workspace from being left", async () => {
    await rules([ruleRow()]);
    fireEvent.change(screen.getByLabelText("Workspace"), { target: { value: "beta" } });
    await screen.findByTestId("rules-empty");
    expect(screen.getByLabelText<HTMLSelectElement>("Workspace").value).toBe("beta");
  });
});
