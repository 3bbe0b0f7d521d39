import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { setupForm, setupKey, setupLine, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { later } from "../../test/ruleEditor";
import type { SetupForm, SetupKeyView, SetupSaved } from "../ipc/generated";
import { App } from "./App";

const setup = async (keys: SetupKeyView[]): Promise<FakeConsole> => {
  window.location.hash = "#/setup";
  const form = setupForm({ revision: 3, declared: { type: "keys", keys } });
  const console = fakeConsole({
    answers: { setup_list: () => ({ agents: [setupLine({ key: form.key })] }), setup_of: () => form },
  });
  render(<App transport={console} />);
  await screen.findByTestId("setup");
  return console;
};
const next = (keys: SetupKeyView[]): SetupForm =>
  setupForm({ revision: 4, declared: { type: "keys", keys }, changed: { by: shown("maria"), atMs: 0 } });

describe("a setup form", () => {
  it("takes the own binding for nobody else's change", async () => {
    const console = await setup([setupKey({ key: "limit" }), setupKey({ key: "allow", kind: "bool" })]);
    const stored = next([setupKey({ key: "limit" }), setupKey({ key: "allow", kind: "bool" })]);
    console.answers.setup_save = () => ({ type: "stored", form: stored });
    console.answers.setup_of = () => stored;
    fireEvent.change(screen.getByLabelText("limit"), { target: { value: "5" } });
    fireEvent.click(within(screen.getAllByTestId("setup-key")[1] as HTMLElement).getByText("Skip asking when…"));
    fireEvent.click(within(screen.getByTestId("bind-form")).getByLabelText("true"));
    fireEvent.click(screen.getByText("Bind…"));
    fireEvent.click(await screen.findByTestId("confirm-yes"));
    await waitFor(() => {
      expect(screen.getByTestId("setup").dataset["revision"]).toBe("4");
    });
    expect(screen.queryByTestId("setup-conflict")).toBeNull();
    await waitFor(() => {
      expect(screen.getByTestId<HTMLButtonElement>("setup-save").disabled).toBe(false);
    });
    fireEvent.click(screen.getByTestId("setup-save"));
    await waitFor(() => {
      expect(console.argsOf("setup_save").map((args) => args.revision)).toEqual([3, 4]);
    });
  });

  it("loses nothing that is typed while the bus takes its time with saving", async () => {
    const console = await setup([setupKey({ key: "limit" }), setupKey({ key: "other" })]);
    const saved = later<SetupSaved>();
    console.answers.setup_save = () => saved.promise;
    fireEvent.change(screen.getByLabelText("limit"), { target: { value: "5" } });
    fireEvent.click(screen.getByTestId("setup-save"));
    await screen.findByText("Sending to the bus…");
    fireEvent.change(screen.getByLabelText("limit"), { target: { value: "55" } });
    fireEvent.change(screen.getByLabelText("other"), { target: { value: "7" } });
    const chosen = { json: "5", fits: true, by: shown("maria"), atMs: 0 };
    const form = next([setupKey({ key: "limit", chosen, value: shown("5") }), setupKey({ key: "other" })]);
    console.answers.setup_of = () => form;
    saved.resolve({ type: "stored", form });
    await screen.findByText("2 changes not saved");
    expect(screen.queryByTestId("setup-conflict")).toBeNull();
    expect(["limit", "other"].map((name) => screen.getByLabelText<HTMLInputElement>(name).value)).toEqual(["55", "7"]);
    console.answers.setup_save = () => ({ type: "stored", form: { ...form, revision: 5 } });
    await waitFor(() => {
      expect(screen.getByTestId<HTMLButtonElement>("setup-save").disabled).toBe(false);
    });
    fireEvent.click(screen.getByTestId("setup-save"));
    await waitFor(() => {
      expect(console.argsOf("setup_save").at(-1)).toMatchObject({
        revision: 4,
        edits: [
          { key: "limit", json: "55" },
          { key: "other", json: "7" },
        ],
      });
    });
  });

  it("names a choice of true and false by its key, and shows a default of several lines as it is", async () => {
    await setup([
      setupKey({ key: "allow", kind: "bool" }),
      setupKey({ key: "greeting", kind: "string_multiline", default: shown("Dear\n  all,") }),
    ]);
    expect(screen.getByRole("radiogroup", { name: "allow" })).toBeTruthy();
    const reported = screen.getAllByTestId("setup-default")[1];
    expect(reported?.textContent).toBe("Dear\n  all,");
    expect(reported?.querySelector(".shown-block")).not.toBeNull();
  });
});
