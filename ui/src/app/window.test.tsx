import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { agent, card, row, ruleRow, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { App } from "./App";

const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const KEYS = ["a/b/1", "a/b/2"];
const open = async (hash = "#/"): Promise<FakeConsole> => {
  window.location.hash = hash;
  const console = fakeConsole({
    rows: KEYS.map((key, seq) => row({ key, seq, deadlineMs: 600_000, tool: shown(`tool_${seq}`) })),
    cards: KEYS.map((key) => card({ key, deadlineMs: 600_000 })),
    answers: {
      agents_list: () => ({ agents: [agent({ key: "acme/first" }), agent({ key: "acme/second" })], serverMs: 0 }),
      rules_list: ({ workspace }) => ({
        workspace: workspace ?? "acme",
        workspaces: ["acme", "lab"],
        revision: 0,
        serverMs: 0,
        rules: workspace === "lab" ? [ruleRow({ id: "refunds", name: shown("Small refunds") })] : [],
      }),
    },
  });
  render(<App transport={console} />);
  await screen.findByText(/^Connected to NATS/u);
  return console;
};

const zoom = (key: string): void => {
  press(key, { ctrlKey: true });
};
const find = async (text: string): Promise<HTMLElement> => {
  press("k", { ctrlKey: true });
  const field = await screen.findByPlaceholderText(/^Type a command/u);
  fireEvent.change(field, { target: { value: text } });
  return screen.getByRole("dialog");
};

describe("the zoom", () => {
  it("goes by its keys from size to size, also while somebody types, and no farther than its ends", async () => {
    const console = await open();
    for (const key of ["+", "=", "-", "0", "-", "-", "-", "-", "-"]) zoom(key);
    await waitFor(() => {
      expect(console.zooms).toEqual([1, 1.1, 1.25, 1.1, 1, 0.9, 0.8, 0.67]);
    });
    (await screen.findByPlaceholderText(/^Filter/u)).focus();
    zoom("0");
    await waitFor(() => {
      expect([console.zooms.at(-1), localStorage.getItem("countersign.zoom")]).toEqual([1, "100"]);
    });
  });

  it("is what was kept, from the start", async () => {
    localStorage.setItem("countersign.zoom", "200");
    const console = await open();
    expect(console.zooms).toEqual([2]);
  });
});

describe("the palette", () => {
  it("finds a waiting call and opens its card, also from the inbox", async () => {
    const console = await open();
    await screen.findByTestId("card");
    const found = await find("tool_1");
    fireEvent.click(await within(found).findByText("tool_1"));
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
    });
    expect(console.argsOf("decide")).toEqual([]);
  });

  it.each([
    ["second", "second", "#/agents?agent=acme%2Fsecond"],
    ["refunds", "Small refunds", "#/rules?ws=lab&id=refunds"],
  ])("finds an agent, and a rule of any workspace: %s", async (text, line, hash) => {
    await open();
    fireEvent.click(await within(await find(text)).findByText(line));
    await waitFor(() => {
      expect(window.location.hash).toBe(hash);
    });
  });

  it("opens the agent that was chosen", async () => {
    await open();
    fireEvent.click(await within(await find("second")).findByText("second"));
    await waitFor(() => {
      expect(screen.getByTestId("agent").dataset["key"]).toBe("acme/second");
    });
  });

  it("names no call, agent or rule before something is typed", async () => {
    await open();
    expect(within(await find("")).queryByText("tool_1")).toBeNull();
  });
});

describe("a dialog", () => {
  it.each([
    ["palette", "k", { ctrlKey: true }, "Type a command, a tool, an agent or a rule"],
    ["alarms", "l", {}, "Alarms"],
  ])("has the keyboard at what is useful in it: %s", async (_, key, more, name) => {
    await open();
    if (key === "l") press("g");
    press(key, more);
    await screen.findByRole("dialog");
    await waitFor(() => {
      const focused = document.activeElement;
      expect(focused?.getAttribute("placeholder") ?? focused?.getAttribute("aria-label")).toBe(name);
    });
  });
});

it("the status bar leaves the audit chain to the settings", async () => {
  await open();
  expect(screen.getByRole("contentinfo").textContent).not.toContain(status().audit.seq.toLocaleString("en"));
});
