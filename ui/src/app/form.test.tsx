import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { card, row, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { Structure } from "../features/inbox/form/structure";
import type { AnswerCheck, FormView, Shown } from "../ipc/generated";
import { App } from "./App";

const FAR = 600_000;
const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const sendKeys = (): void => {
  press("Enter", { ctrlKey: true });
};

/** Texts by their own words: the field's title is what a test looks for. */
const formOf = (fields: Record<string, Partial<Structure>>, required: readonly string[], initial = "{}"): FormView => {
  const texts: Shown[] = [];
  const text = (words: string): string => String(texts.push(shown(words)) - 1);
  const one = (field: Partial<Structure>, title: string | null): object => ({
    ...(field.type === undefined ? { type: "string", kind: "string" } : {}),
    ...(title === null ? {} : { title: text(title) }),
    ...field,
    ...(field.choices === undefined
      ? {}
      : { kind: field.kind ?? "choice", choices: field.choices.map((of) => ({ ...of, label: text(of.label) })) }),
    ...(field.suggested === undefined ? {} : { suggested: { ...field.suggested, text: text(field.suggested.text) } }),
    ...(field.items === undefined ? {} : { type: "array", kind: undefined, items: one(field.items, null) }),
  });
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, one(field, name)]));
  return {
    schema: shown("{}"),
    fields: { structure: JSON.stringify({ type: "object", properties, required }), initial, texts },
    jsonOnly: null,
  };
};

const desk = async (
  form: FormView,
  check: (json: string) => AnswerCheck | Promise<AnswerCheck> = () => ({ problems: [] }),
): Promise<FakeConsole> => {
  const console = fakeConsole({
    rows: [row({ deadlineMs: FAR })],
    cards: [
      card({
        deadlineMs: FAR,
        kind: "form",
        tool: null,
        args: null,
        allowed: ["respond", "deny"],
        question: null,
        form,
      }),
    ],
    answers: {
      decide: ({ verdict }) => ({ state: "decided", verdict, releaseMs: null }),
      check_answer: ({ json }) => check(json),
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  press("r");
  await screen.findByRole("button", { name: /^Answer/u });
  return console;
};
const sent = (console: FakeConsole): unknown[] =>
  console.argsOf("decide").map(({ answer }) => (answer?.type === "form" ? JSON.parse(answer.json) : answer));
const problem = (path: string, message: string): AnswerCheck => ({
  problems: [{ line: null, path: shown(path), message: shown(message) }],
});
const count = (text: string): number => (document.body.textContent ?? "").split(text).length - 1;
const slow = (): Promise<AnswerCheck> => new Promise((done) => setTimeout(done, 400, { problems: [] }));
const CHOICES = ["first", "second"].map((word) => ({ label: word, value: word }));

describe("a form", () => {
  it("names a field with its parts apart, as a screen reader says them", async () => {
    await desk(formOf({ credit: {} }, ["credit"]));
    expect(screen.getByRole("textbox", { name: /^credit ?, required$/u })).toBeTruthy();
  });

  it("begins empty, and a bare Ctrl Enter sends nothing of it", async () => {
    const console = await desk(
      formOf({ way: { choices: CHOICES }, sure: { kind: "boolean" }, amount: { kind: "integer" }, why: {} }, [
        "way",
        "sure",
        "amount",
        "why",
      ]),
    );
    for (const radio of screen.getAllByRole<HTMLInputElement>("radio")) expect(radio.checked).toBe(false);
    for (const field of screen.getAllByRole<HTMLInputElement>("textbox")) expect(field.value).toBe("");
    sendKeys();
    await waitFor(() => {
      expect(screen.getAllByText("Required.")).toHaveLength(4);
    });
    expect(document.activeElement).toBe(screen.getAllByRole("radio")[0]);
    expect([sent(console), console.argsOf("check_answer").length]).toEqual([[], expect.any(Number)]);
  });

  it("sends what a person chose and typed, as it was typed, also where its check takes a while", async () => {
    const console = await desk(
      formOf({ way: { choices: CHOICES }, sure: { kind: "boolean" }, amount: { kind: "number" }, why: {}, note: {} }, [
        "way",
        "sure",
        "amount",
        "why",
      ]),
      slow,
    );
    fireEvent.click(screen.getByLabelText("second"));
    fireEvent.click(screen.getByLabelText("No"));
    const amount = screen.getByLabelText<HTMLInputElement>(/^amount/u);
    for (const value of ["1", "1.", "1.5", "1.50", "1.505"]) {
      fireEvent.change(amount, { target: { value } });
      expect(amount.value).toBe(value);
    }
    fireEvent.change(screen.getByLabelText(/^why/u), { target: { value: "because" } });
    sendKeys();
    await waitFor(() => {
      expect(sent(console)).toEqual([{ way: "second", sure: false, amount: 1.505, why: "because" }]);
    });
  });

  it("needs a person for a required field that the agent suggests, and marks what it suggests", async () => {
    const console = await desk(
      formOf(
        {
          needed: { suggested: { text: "4410", value: "4410" } },
          may: { suggested: { text: "ok", value: "ok" } },
          hidden: { suggested: { text: "unseen" } },
        },
        ["needed"],
        '{"may":"ok"}',
      ),
    );
    expect(screen.getByLabelText<HTMLInputElement>(/^needed/u).value).toBe("");
    expect(screen.getByLabelText<HTMLInputElement>(/^may/u).value).toBe("ok");
    expect(screen.getAllByText("Suggested by the agent")).toHaveLength(1);
    expect(count("unseen")).toBe(1);
    expect(screen.getAllByRole("button", { name: "Use" })).toHaveLength(1);
    sendKeys();
    await screen.findByText("Required.");
    expect(sent(console)).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Use" }));
    expect(screen.getAllByText("Suggested by the agent")).toHaveLength(2);
    // The button is gone with that: the keyboard goes on in the field.
    expect(document.activeElement).toBe(screen.getByLabelText(/^needed/u));
    sendKeys();
    await waitFor(() => {
      expect(sent(console)).toEqual([{ needed: "4410", may: "ok" }]);
    });
  });

  it("says what is wrong once, beside its field, until that is corrected", async () => {
    const bad = "value is not an email";
    const console = await desk(formOf({ mail: {}, why: {} }, ["mail"]), (json) =>
      json.includes("@") ? { problems: [] } : problem("/mail", bad),
    );
    const mail = screen.getByLabelText<HTMLInputElement>(/^mail/u);
    fireEvent.change(mail, { target: { value: "ana" } });
    sendKeys();
    await screen.findByText(bad);
    expect(count(bad)).toBe(1);
    expect(
      mail
        .getAttribute("aria-describedby")
        ?.split(" ")
        .some((id) => document.querySelector(`#${CSS.escape(id)}`)?.textContent === bad),
    ).toBe(true);
    expect([mail.getAttribute("aria-invalid"), document.activeElement]).toEqual(["true", mail]);
    expect(sent(console)).toEqual([]);
    expect(screen.queryByText(/[0-9a-f]{8}-[0-9a-f]{4}/u)).toBeNull();
    fireEvent.change(mail, { target: { value: "ana@example.com" } });
    await waitFor(() => {
      expect(count(bad)).toBe(0);
    });
    expect(mail.getAttribute("aria-invalid")).toBe("false");
  });

  it("asks for the fields of a group, and not for the group beside them", async () => {
    const inner = { type: "object", required: ["n"], properties: { n: { type: "string", kind: "string" } } } as const;
    const form = formOf({ why: {}, part: inner }, ["why", "part"]);
    const console = await desk(form, () => problem("/part", '"part" is a required property'));
    sendKeys();
    await screen.findAllByText("Required.");
    await waitFor(() => {
      expect(console.argsOf("check_answer").length).toBeGreaterThan(0);
    });
    expect([count("Required."), count("is a required property")]).toEqual([2, 0]);
  });

  it("does not send what was typed while it was checked", async () => {
    const asked: ((check: AnswerCheck) => void)[] = [];
    const console = await desk(formOf({ why: {} }, ["why"]), () => new Promise((done) => asked.push(done)));
    const why = screen.getByLabelText(/^why/u);
    fireEvent.change(why, { target: { value: "yes" } });
    sendKeys();
    fireEvent.change(why, { target: { value: "yes, but" } });
    await act(async () => {
      asked[0]?.({ problems: [] });
      await Promise.resolve();
    });
    expect(sent(console)).toEqual([]);
  });

  it.each(["abc", "1e999", "12345678901234567", "0x10", "1."])("takes no number %s", async (text) => {
    const console = await desk(formOf({ n: { kind: "number" } }, ["n"]));
    fireEvent.change(screen.getByLabelText(/^n/u), { target: { value: text } });
    sendKeys();
    await screen.findByText("Write a number of at most 15 digits.");
    expect(sent(console)).toEqual([]);
  });

  it("has lists, of which each entry is needed", async () => {
    const console = await desk(formOf({ tags: { items: { type: "string", kind: "string" } } }, ["tags"]));
    fireEvent.click(screen.getByRole("button", { name: "Add" }));
    fireEvent.click(screen.getByRole("button", { name: "Add" }));
    fireEvent.change(screen.getByLabelText("Entry 1"), { target: { value: "a" } });
    sendKeys();
    await screen.findByText("Required.");
    expect(sent(console)).toEqual([]);
    fireEvent.click(screen.getByRole("button", { name: "Remove entry 2" }));
    await waitFor(() => void expect(screen.queryByText("Required.")).toBeNull());
    sendKeys();
    await waitFor(() => {
      expect(sent(console)).toEqual([{ tags: ["a"] }]);
    });
  });

  it("shows the JSON beside on demand, and both are one answer", async () => {
    const console = await desk(formOf({ why: {} }, ["why"]));
    expect(document.querySelector(".cm-content")).toBeNull();
    fireEvent.change(screen.getByLabelText(/^why/u), { target: { value: "yes" } });
    fireEvent.click(screen.getByRole("button", { name: "Show JSON" }));
    const field = document.querySelector<HTMLElement>(".cm-content");
    expect(field?.textContent).toContain('"why": "yes"');
    const { EditorView } = await import("@codemirror/view");
    const view = field === null ? null : EditorView.findFromDOM(field);
    act(() => {
      view?.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: '{"why":"no","more":1}' } });
    });
    expect(screen.getByLabelText<HTMLInputElement>(/^why/u).value).toBe("no");
    sendKeys();
    await waitFor(() => {
      expect(sent(console)).toEqual([{ why: "no", more: 1 }]);
    });
  });

  it("keeps what is filled in through Esc", async () => {
    await desk(formOf({ why: {} }, ["why"]));
    fireEvent.change(screen.getByLabelText(/^why/u), { target: { value: "half" } });
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByLabelText(/^why/u)).toBeNull();
    });
    press("r");
    expect((await screen.findByLabelText<HTMLInputElement>(/^why/u)).value).toBe("half");
  });

  it("that has no fields is answered as JSON, says why, and sends nothing that does not fit", async () => {
    const form: FormView = { schema: shown("{ odd }"), fields: null, jsonOnly: shown("it uses `not`") };
    const console = await desk(form, () => problem("/x", '"x" is a required property'));
    const answer = within(screen.getByRole("region", { name: "Answer" }));
    expect(answer.getByText("it uses `not`")).toBeDefined();
    expect(document.querySelector(".cm-content")?.textContent).toBe("{}");
    sendKeys();
    await screen.findByText('"x" is a required property');
    expect(sent(console)).toEqual([]);
  });

  it("writes an agent's texts as texts", async () => {
    const evil = '<b>bold</b> **x** [a](javascript:alert(1)) <img src="x">';
    const form = formOf(
      { [evil]: { choices: [{ label: evil, value: evil }], suggested: { text: evil, value: evil } } },
      [evil],
    );
    await desk(form);
    expect(count(evil)).toBeGreaterThanOrEqual(4);
    expect(document.querySelectorAll("[aria-label=Answer] :is(img, a, b, em, strong, script)")).toHaveLength(0);
  });
});

const ask = async (allowFreeform = true): Promise<FakeConsole> => {
  const options = ["keep", "drop", "later"].map((label) => ({ label: shown(label), description: null }));
  const console = fakeConsole({
    rows: [row({ deadlineMs: FAR })],
    cards: [
      card({
        deadlineMs: FAR,
        kind: "question",
        tool: null,
        args: null,
        allowed: ["respond", "deny"],
        question: { text: shown("Which?"), context: null, options, allowFreeform },
      }),
    ],
    answers: { decide: ({ verdict }) => ({ state: "decided", verdict, releaseMs: null }) },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  return console;
};
const chosen = (): (string | undefined)[] =>
  screen
    .getAllByRole<HTMLInputElement>("radio")
    .filter(({ checked }) => checked)
    .map((radio) => radio.closest("label")?.textContent);

describe("digits", () => {
  it("choose an option of a question, before its answer is open and after, and send nothing", async () => {
    const console = await ask();
    press("2");
    await screen.findByRole("form", { name: "Answer" });
    expect(chosen()).toEqual(["drop2"]);
    press("3");
    expect(chosen()).toEqual(["later3"]);
    press("9");
    expect(chosen()).toEqual(["later3"]);
    expect(sent(console)).toEqual([]);
    fireEvent.submit(screen.getByRole("form", { name: "Answer" }));
    await waitFor(() => {
      expect(sent(console)).toEqual([{ type: "option", index: 2, text: null }]);
    });
  });

  it("are text in a field", async () => {
    await ask();
    press("r");
    const words = await screen.findByLabelText("Answer in your own words");
    words.focus();
    press("2");
    expect(chosen()).toEqual([]);
  });

  it("open no answer for an option that there is not, and choose none once the answer was closed", async () => {
    await ask();
    press("4");
    expect(screen.queryByRole("form", { name: "Answer" })).toBeNull();
    press("1");
    await screen.findByRole("form", { name: "Answer" });
    press("Escape");
    await waitFor(() => {
      expect(screen.queryByRole("form", { name: "Answer" })).toBeNull();
    });
    press("r");
    await screen.findByRole("form", { name: "Answer" });
    expect(chosen()).toEqual([]);
  });
});
