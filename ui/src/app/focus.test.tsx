import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, card, historyRow, row, ruleRow, setupForm, setupLine, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { App } from "./App";

const FAR = 600_000;
const KEYS = ["a/b/1", "a/b/2", "a/b/3"];
const press = (key: string): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
};
const list = (): HTMLElement => screen.getByRole("listbox", { name: /^Waiting requests/ });
const option = (): string | null | undefined => document.querySelector("[role=option][aria-selected=true]")?.id;
const onCard = (key: string): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset["key"]).toBe(key);
  });
const armed = (): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
  });

const desk = async (): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: KEYS.map((key, place) => row({ key, seq: place, deadlineMs: FAR + place })),
    cards: KEYS.map((key) => card({ key, deadlineMs: FAR })),
    answers: {
      decide: ({ verdict }) =>
        verdict === "approve"
          ? { state: "holding", verdict, releaseMs: 3_000 }
          : { state: "queued", verdict, releaseMs: null },
    },
  });
  render(<App transport={console} />);
  await onCard("a/b/1");
  return console;
};
const deny = async (): Promise<void> => {
  press("d");
  const reason = await screen.findByLabelText("Reason for the agent");
  await waitFor(() => {
    expect(document.activeElement).toBe(reason);
  });
  fireEvent.submit(reason);
};

describe("letters", () => {
  const options = [
    { label: shown("name it"), description: null },
    { label: shown("no"), description: null },
  ];
  const question = {
    kind: "question" as const,
    tool: null,
    args: null,
    question: { text: shown("Which?"), context: null, options, allowFreeform: true },
    allowed: ["respond", "deny"] as const,
  };

  it.each([
    ["an option of an answer", "r", () => screen.getAllByRole("radio")[0]],
    ["a preset of a denial", "d", () => screen.getByRole("button", { name: /^Not now/ })],
    ["a button of a denial", "d", () => screen.getByTestId("send-denial")],
    ["a choice of a snooze", "s", () => screen.getByRole("button", { name: /^Back/ })],
    ["a button of an edit", "e", () => screen.getByRole("button", { name: /^Compare/ })],
    ["nothing", "d", () => undefined],
  ])("are not commands while the focus is on %s and its panel is open", async (_, key, place) => {
    const call = key === "r" ? { ...question, allowed: [...question.allowed] } : {};
    const console = fakeConsole({
      rows: KEYS.map((of, nth) => row({ key: of, seq: nth, deadlineMs: FAR + nth })),
      cards: KEYS.map((of, nth) => card({ key: of, deadlineMs: FAR, ...(nth === 1 ? call : {}) })),
      answers: {
        decide: ({ verdict }) => ({ state: "queued", verdict, releaseMs: null }),
        editable: () => ({ json: "{}" }),
        check_edit: () => ({
          problems: [],
          changed: false,
          diff: [],
          argsDigest: "",
          target: { text: "x", pointer: null },
        }),
      },
    });
    render(<App transport={console} />);
    await onCard("a/b/1");
    press("j");
    await onCard("a/b/2");
    if (key !== "r") await armed();
    press(key);
    await screen.findByRole("button", { name: /^Back/ });
    const on = place();
    if (on === undefined) (document.activeElement as HTMLElement).blur();
    else on.focus();
    for (const letter of ["n", "a", "j", "d", "x"]) press(letter);
    expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    expect(screen.queryByRole("button", { name: /^Back/ })).not.toBeNull();
    expect(console.argsOf("decide")).toEqual([]);
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByRole("button", { name: /^Back/ })).toBeNull();
    });
  });
});

describe("a filter", () => {
  it("hides nothing that is due soon without a word, and N goes there", async () => {
    const console = fakeConsole({
      rows: [
        row({ key: "a/b/1", deadlineMs: 20_000, tool: shown("wipe_all") }),
        row({ key: "a/b/2", seq: 2, deadlineMs: FAR, tool: shown("push") }),
      ],
      cards: ["a/b/1", "a/b/2"].map((key) => card({ key, deadlineMs: FAR })),
    });
    render(<App transport={console} />);
    await onCard("a/b/1");
    const filter = screen.getByLabelText<HTMLInputElement>(/^Filter/);
    fireEvent.change(filter, { target: { value: "push" } });
    expect((await screen.findByTestId("hidden-urgent")).textContent).toContain("1 due within a minute is hidden");
    press("j");
    await onCard("a/b/2");
    press("n");
    await onCard("a/b/1");
    await waitFor(() => {
      expect(filter.value).toBe("");
    });
    await waitFor(() => {
      expect(screen.queryByTestId("hidden-urgent")).toBeNull();
    });
  });
});

describe("the focus", () => {
  it("goes to the list once the field of a denial is gone; Enter and Space approve nothing there", async () => {
    const console = await desk();
    await deny();
    await onCard("a/b/2");
    expect(document.activeElement).toBe(list());
    expect(list().getAttribute("aria-activedescendant")).toBe(option());
    expect(option()).toContain("a/b/2");
    await armed();
    for (const key of ["Enter", " "]) {
      press(key);
      fireEvent.keyUp(list(), { key });
    }
    press("j");
    await onCard("a/b/3");
    expect(document.activeElement).toBe(list());
    expect(console.argsOf("decide").map(({ verdict }) => verdict)).toEqual(["deny"]);
  });

  it("goes to the list after an approval, with the key or with its button", async () => {
    await desk();
    await armed();
    screen.getByTestId("approve").focus();
    press("a");
    await onCard("a/b/2");
    expect(document.activeElement).toBe(list());
  });

  it("goes to the list where a field over the card is closed", async () => {
    await desk();
    press("d");
    await screen.findByLabelText("Reason for the agent");
    press("Escape");
    await waitFor(() => {
      expect(document.activeElement).toBe(list());
    });
  });

  it("comes back to the menu's button from a dialog that a line of the menu opened", async () => {
    await desk();
    const more = screen.getByRole("button", { name: "More" });
    more.focus();
    fireEvent.keyDown(more, { key: "Enter" });
    const line = await screen.findByRole("menuitem", { name: "Why was I asked…" });
    line.focus();
    fireEvent.keyDown(line, { key: "Enter" });
    await screen.findByTestId("why");
    fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape" });
    await waitFor(() => {
      expect(screen.queryByTestId("why")).toBeNull();
    });
    await waitFor(() => {
      expect(document.activeElement).toBe(more);
    });
  });

  it("goes on beside the button that opened a dialog, where that is gone with it", async () => {
    const agents = [agent({ key: "acme/bot" })];
    const console = fakeConsole({
      answers: {
        agents_list: () => ({ agents, serverMs: 0 }),
        brake: () => {
          agents[0] = agent({ key: "acme/bot", brake: { agent: "acme/bot", stopped: true, by: shown("ann") } });
          return { terminated: 0, waiting: null };
        },
      },
    });
    window.location.hash = "#/agents";
    render(<App transport={console} />);
    const stop = await screen.findByRole("button", { name: "Stop…" });
    stop.focus();
    fireEvent.click(stop);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByRole("button", { name: "Resume…" });
    await waitFor(() => {
      expect(document.activeElement).toBe(screen.getByTestId("control-bar"));
    });
  });

  it("comes back from a dialog that followed another one to where it was before both", async () => {
    window.location.hash = "#/rules";
    render(
      <App
        transport={fakeConsole({
          answers: {
            rules_list: () => ({
              workspace: "acme",
              workspaces: ["acme"],
              revision: 1,
              rules: [ruleRow()],
              serverMs: 0,
            }),
            rule_text: ({ id }) => ({ id, version: 3, text: "" }),
            start_preview: () => ({ number: 1 }),
            preview: () => ({ done: 0, of: 1, report: null, trouble: null }),
            remove_rule: () => ({ denied: { count: null, calls: [] }, waiting: null }),
          },
        })}
      />,
    );
    const remove = await screen.findByRole("button", { name: "Remove…" });
    remove.focus();
    fireEvent.click(remove);
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByTestId("denied-calls");
    await waitFor(() => {
      expect(screen.getAllByRole("dialog")).toHaveLength(1);
    });
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByRole("dialog")).toBeNull();
    });
    await waitFor(() => {
      expect(document.activeElement).toBe(remove);
    });
  });

  it("stays where somebody has put it meanwhile", async () => {
    await desk();
    const filter = screen.getByLabelText<HTMLInputElement>(/^Filter/);
    await armed();
    press("a");
    filter.focus();
    await onCard("a/b/2");
    expect(document.activeElement).toBe(filter);
  });

  const lists: [string, RegExp, FakeConsole["answers"]][] = [
    [
      "history",
      /^History/,
      { history_page: () => ({ rows: [3, 2, 1].map((n) => historyRow(n)), next: null, unindexed: 0 }) },
    ],
    [
      "agents",
      /^Agents/,
      { agents_list: () => ({ agents: ["acme/a", "acme/b", "acme/c"].map((key) => agent({ key })), serverMs: 0 }) },
    ],
    [
      "rules",
      /^Rules/,
      {
        rules_list: () => ({
          workspace: "acme",
          workspaces: ["acme"],
          revision: 1,
          rules: ["a", "b", "c"].map((id) => ruleRow({ id })),
          serverMs: 0,
        }),
      },
    ],
    [
      "setup",
      /^Agents with their setup/,
      {
        setup_list: () => ({ agents: ["acme/a", "acme/b", "acme/c"].map((key) => setupLine({ key })) }),
        setup_of: () => setupForm(),
      },
    ],
  ];

  it.each(lists)(
    "is on the list of %s whose rows J and K choose, unless somebody has put it elsewhere",
    async (screenName, label, answers) => {
      window.location.hash = `#/${screenName}`;
      render(<App transport={fakeConsole({ answers })} />);
      const box = await screen.findByRole("listbox", { name: label });
      await waitFor(() => {
        expect(document.activeElement).toBe(box);
      });
      const chosen = (): (string | null)[] => [
        box.getAttribute("aria-activedescendant"),
        screen.getAllByRole("option").find((one) => one.getAttribute("aria-selected") === "true")?.id ?? null,
      ];
      await screen.findAllByRole("option");
      const [first] = chosen();
      box.blur();
      expect(document.activeElement).toBe(document.body);
      press("j");
      await waitFor(() => {
        expect(chosen()[0]).not.toBe(first);
      });
      expect(document.activeElement).toBe(box);
      expect(new Set(chosen()).size).toBe(1);
      const [elsewhere] = screen.getAllByRole("link") as [HTMLElement];
      elsewhere.focus();
      press("k");
      await waitFor(() => {
        expect(chosen()[0]).toBe(first);
      });
      expect(document.activeElement).toBe(elsewhere);
    },
  );
});
