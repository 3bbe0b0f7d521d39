import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { setupForm, setupKey, setupLine, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { SetupForm, SetupKeyView } from "../ipc/generated";
import { App } from "./App";

const open = async (form: SetupForm): Promise<FakeConsole> => {
  window.location.hash = "#/setup";
  const console = fakeConsole({
    answers: { setup_list: () => ({ agents: [setupLine({ key: form.key })] }), setup_of: () => form },
  });
  render(<App transport={console} />);
  await screen.findByTestId("setup");
  return console;
};
const withKeys = (keys: SetupKeyView[], more: Partial<SetupForm> = {}): SetupForm =>
  setupForm({ declared: { type: "keys", keys }, ...more });
const keyRow = (key: string): HTMLElement =>
  screen.getAllByTestId("setup-key").find((one) => one.dataset["key"] === key) as HTMLElement;
const field = (key: string): HTMLInputElement => keyRow(key).querySelector("input, textarea") as HTMLInputElement;
const type = (key: string, text: string): void => {
  fireEvent.change(field(key), { target: { value: text } });
};
const go = (key: string): void => {
  for (const one of ["g", key]) fireEvent.keyDown(document.body, { key: one });
};
const save = (): void => {
  fireEvent.click(screen.getByTestId("setup-save"));
};

describe("a setup form", () => {
  it("shows what the agent says, the default, and who chose what; hidden characters are marked", async () => {
    await open(
      withKeys([
        setupKey({
          key: "greeting",
          kind: "string_short",
          description: shown("Says hello⟨U+202E⟩"),
          default: shown("hi"),
          value: shown("hi"),
          group: shown("Words"),
        }),
        setupKey({
          key: "limit",
          kind: "int",
          chosen: { json: "7", fits: true, by: shown("ann"), atMs: 0 },
          value: shown("7"),
          group: shown("Numbers"),
          importance: shown("2"),
        }),
      ]),
    );
    expect(keyRow("greeting").textContent).toContain("Using the default: hi");
    expect(keyRow("greeting").querySelectorAll(".shown-mark")).toHaveLength(1);
    expect(field("limit").value).toBe("7");
    expect(keyRow("limit").textContent).toContain("Set by ann");
    expect([...document.querySelectorAll('[data-testid="setup"] h3')].map((head) => head.textContent)).toEqual([
      "Words",
      "Numbers",
    ]);
  });

  it("sends every type as its JSON, all at once, on the revision that was seen", async () => {
    const console = await open(
      withKeys(
        [
          setupKey({ key: "greeting", kind: "string_multiline" }),
          setupKey({ key: "limit", kind: "int" }),
          setupKey({ key: "share", kind: "float" }),
          setupKey({ key: "rows", kind: "list_dict" }),
          setupKey({ key: "allow", kind: "bool", default: shown("false"), value: shown("false") }),
          setupKey({ key: "away", kind: "int", chosen: { json: "1", fits: true, by: shown("ann"), atMs: 0 } }),
        ],
        { revision: 4 },
      ),
    );
    console.answers.setup_save = () => ({ type: "stored", form: withKeys([], { revision: 5 }) });
    type("greeting", 'a "b"\nc');
    type("limit", " 12 ");
    type("share", "0.5");
    type("rows", '[{"a": 1}]');
    fireEvent.click(within(keyRow("allow")).getByLabelText("true"));
    fireEvent.click(within(keyRow("away")).getByText("Use the default"));
    save();
    await waitFor(() => {
      expect(console.argsOf("setup_save")).toHaveLength(1);
    });
    expect(console.argsOf("setup_save")[0]).toEqual({
      agent: "acme/bot",
      revision: 4,
      edits: [
        { type: "set", key: "greeting", json: '"a \\"b\\"\\nc"' },
        { type: "set", key: "limit", json: "12" },
        { type: "set", key: "share", json: "0.5" },
        { type: "set", key: "rows", json: '[{"a": 1}]' },
        { type: "set", key: "allow", json: "true" },
        { type: "set", key: "away", json: null },
      ],
    });
    await waitFor(() => {
      expect(screen.getByTestId("setup").dataset["revision"]).toBe("5");
    });
    expect(screen.queryByTestId("setup-save")).toBeNull();
  });

  it("says what is wrong beside its field, with the path, and keeps what was typed", async () => {
    const console = await open(
      withKeys([setupKey({ key: "limit", kind: "int" }), setupKey({ key: "rows", kind: "list_dict" })]),
    );
    console.answers.setup_save = () => ({
      type: "refused",
      problems: [{ key: "rows", path: shown("rows[0].size"), message: shown("must be a whole number") }],
    });
    type("rows", '[{"size": "x"}]');
    save();
    expect((await within(keyRow("rows")).findByTestId("setup-problem")).textContent).toBe(
      "rows[0].size: must be a whole number",
    );
    expect(within(keyRow("limit")).queryByTestId("setup-problem")).toBeNull();
    expect([field("rows").value, field("rows").getAttribute("aria-invalid")]).toEqual(['[{"size": "x"}]', "true"]);
  });

  it("reports a conflict, loses nothing typed, and saves only after the person kept it", async () => {
    const theirs = { json: "9", fits: true, by: shown("ann"), atMs: 60_000 };
    const newer = withKeys(
      [
        setupKey({ key: "limit", kind: "int", chosen: theirs, value: shown("9") }),
        setupKey({ key: "other", kind: "int" }),
      ],
      { revision: 8, changed: { by: shown("ann"), atMs: 60_000 } },
    );
    const console = await open(
      withKeys([setupKey({ key: "limit", kind: "int" }), setupKey({ key: "other", kind: "int" })], { revision: 7 }),
    );
    console.answers.setup_save = ({ revision }) =>
      revision === 7 ? { type: "conflict", form: newer } : { type: "stored", form: withKeys([], { revision: 9 }) };
    console.answers.setup_of = () => newer;
    type("limit", "5");
    save();
    expect((await screen.findByTestId("setup-conflict")).textContent).toContain(
      "ann changed this setup while you were typing. Nothing of yours is saved or lost; you both changed limit.",
    );
    expect(within(keyRow("limit")).getByTestId("setup-clash").textContent).toContain("“9” by ann");
    expect([field("limit").value, screen.queryByTestId("setup-save")]).toEqual(["5", null]);
    fireEvent.click(screen.getByTestId("setup-keep"));
    save();
    await waitFor(() => {
      expect(console.argsOf("setup_save").map((args) => args.revision)).toEqual([7, 8]);
    });
  });

  it("keeps what was typed while another screen is looked at, and says so in the list", async () => {
    await open(withKeys([setupKey({ key: "limit", kind: "int" })]));
    type("limit", "5");
    go("a");
    await waitFor(() => {
      expect(screen.queryByTestId("setup")).toBeNull();
    });
    go("s");
    await screen.findByTestId("setup");
    expect([field("limit").value, screen.getByTestId("setup-row").textContent?.includes("not saved")]).toEqual([
      "5",
      true,
    ]);
  });

  it("never holds a secret: it can be replaced, not read", async () => {
    await open(
      withKeys([
        setupKey({
          key: "api_key",
          kind: "string_short",
          secret: true,
          value: shown("(hidden: 9 characters, 9f3ac01e)"),
          chosen: { json: null, fits: true, by: shown("ann"), atMs: 0 },
        }),
      ]),
    );
    expect([field("api_key").type, field("api_key").value]).toEqual(["password", ""]);
    expect(keyRow("api_key").textContent).toContain("Hidden, it can be replaced: (hidden: 9 characters, 9f3ac01e)");
  });

  it("says of an agent without keys that there is nothing, and of wrong ones what is wrong", async () => {
    const console = await open(setupForm({ declared: { type: "nothing" } }));
    expect(screen.getByTestId("setup-nothing").textContent).toContain("declares no setup keys");
    console.answers.setup_of = () =>
      setupForm({
        declared: {
          type: "wrong",
          problems: [{ key: null, path: shown("0.bs_type"), message: shown("must be true or false") }],
        },
        revision: 1,
      });
    await waitFor(
      () => {
        expect(screen.getByTestId("setup-wrong").textContent).toContain("0.bs_type must be true or false");
      },
      { timeout: 5_000 },
    );
  });
});

describe("a binding", () => {
  const bound = {
    skipsWhen: shown("false"),
    critical: true,
    spares: true,
    redeclared: false,
    by: shown("ann"),
    atMs: 0,
  };

  it("is made only with a value that the person chose, after one more question", async () => {
    const console = await open(
      withKeys([setupKey({ key: "confirm_hire", kind: "bool", value: shown("true") })], { revision: 3 }),
    );
    console.answers.setup_save = () => ({
      type: "stored",
      form: withKeys([setupKey({ key: "confirm_hire", kind: "bool", bound })], { revision: 4 }),
    });
    fireEvent.click(screen.getByText("Skip asking when…"));
    const form = screen.getByTestId("bind-form");
    expect(within(form).getByText<HTMLButtonElement>("Bind…").disabled).toBe(true);
    fireEvent.click(within(form).getByLabelText("false"));
    fireEvent.click(within(form).getByText("Bind…"));
    expect((await screen.findByTestId("confirm")).textContent).toContain(
      "run without a person while its value is false, but for critical ones",
    );
    expect(console.argsOf("setup_save")).toEqual([]);
    fireEvent.click(screen.getByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("setup_save")).toEqual([
        {
          agent: "acme/bot",
          revision: 3,
          edits: [{ type: "bind", key: "confirm_hire", json: "false", critical: false }],
        },
      ]);
    });
    expect((await screen.findByText("It has this value: calls pass.")).closest("[data-testid]")?.textContent).toContain(
      "critical calls too",
    );
  });

  it("is taken away after one more question", async () => {
    const console = await open(withKeys([setupKey({ key: "confirm_hire", kind: "bool", bound })], { revision: 3 }));
    console.answers.setup_save = () => ({
      type: "stored",
      form: withKeys([setupKey({ key: "confirm_hire", kind: "bool" })], { revision: 4 }),
    });
    fireEvent.click(screen.getByText("Ask again…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await waitFor(() => {
      expect(console.argsOf("setup_save")[0]?.edits).toEqual([{ type: "unbind", key: "confirm_hire" }]);
    });
    await screen.findByText(/Always asks/);
  });

  it("is not made over somebody else's change", async () => {
    const console = await open(withKeys([setupKey({ key: "allow", kind: "bool" })], { revision: 3 }));
    console.answers.setup_save = () => ({
      type: "conflict",
      form: withKeys([setupKey({ key: "allow", kind: "bool" })], { revision: 4 }),
    });
    fireEvent.click(screen.getByText("Skip asking when…"));
    fireEvent.click(within(screen.getByTestId("bind-form")).getByLabelText("true"));
    fireEvent.click(screen.getByText("Bind…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await screen.findByText(/Somebody else changed this setup; your change was not made/);
  });

  it("is changed by one thing at a time: the second would be a conflict with oneself", async () => {
    const console = await open(
      withKeys([], { leftovers: [{ key: "gone", name: shown("gone"), value: shown("1"), bound }] }),
    );
    console.answers.setup_save = () => new Promise(() => {});
    for (const act of ["Unbind", "Unbind", "Remove the value"])
      fireEvent.click(within(screen.getByTestId("setup-leftovers")).getByText(act));
    await waitFor(() => {
      expect(console.argsOf("setup_save").map((args) => args.edits)).toEqual([[{ type: "unbind", key: "gone" }]]);
    });
  });

  it("of a key that is gone is listed and can be taken away", async () => {
    const console = await open(
      withKeys([], { leftovers: [{ key: "gone", name: shown("gone"), value: shown("1"), bound }] }),
    );
    console.answers.setup_save = () => ({ type: "stored", form: withKeys([], { revision: 1 }) });
    fireEvent.click(within(screen.getByTestId("setup-leftovers")).getByText("Unbind"));
    await waitFor(() => {
      expect(console.argsOf("setup_save")[0]?.edits).toEqual([{ type: "unbind", key: "gone" }]);
    });
    await waitFor(() => {
      expect(screen.queryByTestId("setup-leftovers")).toBeNull();
    });
  });
});
