import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { batch, card, row, shown } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { EditCheck, InboxSnapshot } from "../ipc/generated";
import { App } from "./App";

const FAR = 600_000;
const press = (key: string, more: KeyboardEventInit = {}): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
};
const check = (json: string, problem: string | null = null): EditCheck => ({
  problems: problem === null ? [] : [{ line: 1, path: shown(""), message: shown(problem) }],
  target: null,
  changed: true,
  argsDigest: problem === null ? `sha256:${json}` : null,
  diff: json.split("\n").map((line) => ({ kind: "new", text: shown(line) })),
});

interface Asked {
  readonly json: string;
  readonly answer: (found: EditCheck) => Promise<void>;
}

/** The editor of a card, and the checks that it asked for, answered when the test wants. */
const editor = async (): Promise<{
  readonly console: FakeConsole;
  readonly asked: readonly Asked[];
  readonly typed: (json: string) => Promise<void>;
}> => {
  const asked: Asked[] = [];
  const console = fakeConsole({
    rows: [row({ deadlineMs: FAR }), row({ key: "a/b/2", seq: 2, deadlineMs: FAR + 1 })],
    cards: [card({ deadlineMs: FAR }), card({ key: "a/b/2", deadlineMs: FAR + 1 })],
    answers: {
      decide: ({ verdict }) => ({ state: "holding", verdict, releaseMs: 3_000 }),
      undo: () => ({}),
      editable: () => ({ json: "{}" }),
      check_edit: ({ json }) =>
        new Promise((done) => {
          asked.push({
            json,
            answer: (found) =>
              act(async () => {
                done(found);
                await Promise.resolve();
              }),
          });
        }),
    },
  });
  render(<App transport={console} />);
  await screen.findByTestId("card");
  press("e");
  const field = await waitFor(() => {
    const found = document.querySelector<HTMLElement>(".cm-content");
    if (found === null) throw new Error("no editor");
    return found;
  });
  const { EditorView } = await import("@codemirror/view");
  const typed = (json: string): Promise<void> =>
    act(async () => {
      const view = EditorView.findFromDOM(field);
      view?.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: json } });
      await Promise.resolve();
    });
  return { console, asked, typed };
};
const asks = (asked: readonly Asked[], ...texts: readonly string[]): Promise<void> =>
  waitFor(() => {
    expect(asked.map(({ json }) => json)).toEqual(texts);
  });

it("is what the tray shows of an edited call, and speaks of a placeholder only where there is one", async () => {
  const { console, asked, typed } = await editor();
  expect(screen.getByRole("region", { name: "Edit the arguments" }).textContent).not.toContain("placeholder");
  await typed('{\n  "to": "bob"\n}');
  await asks(asked, '{\n  "to": "bob"\n}');
  const compared = screen.getByText(/^Compare/u);
  fireEvent.click(compared);
  await waitFor(() => {
    expect(asked.length).toBe(2);
  });
  await asked[0]?.answer(check(asked[0].json));
  await asked[1]?.answer(check(asked[1].json));
  await waitFor(() => {
    expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
  });
  press("a");
  await waitFor(() => {
    expect(console.argsOf("decide")).toMatchObject([{ verdict: "modify" }]);
  });
  expect((await screen.findByTestId("sent")).textContent).toContain('{ "to": "bob" }');
});

it("of checks that are answered out of order the one that was asked last counts", async () => {
  const { asked, typed } = await editor();
  await typed("{]");
  await asks(asked, "{]");
  await typed('{"a":1}');
  await asks(asked, "{]", '{"a":1}');
  await asked[1]?.answer(check('{"a":1}'));
  await asked[0]?.answer(check("{]", "not JSON"));
  expect(screen.getByTestId("edit-problems").textContent).toBe("");
});

it("what is typed while it is compared is compared, too, and nothing of it is thrown away", async () => {
  const { console, asked, typed } = await editor();
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asks(asked, '{"a":1}', '{"a":1}');
  await typed('{"a":12}');
  await asked[1]?.answer(check('{"a":1}'));
  await asks(asked, '{"a":1}', '{"a":1}', '{"a":12}');
  expect(screen.queryByTestId("diff")).toBeNull();
  await asked[2]?.answer(check('{"a":12}'));
  expect((await screen.findByTestId("diff")).textContent).toContain('{"a":12}');
  expect(console.argsOf("decide")).toEqual([]);
});

it("a comparison that is answered after the panel was left changes nothing on the card", async () => {
  const { asked, typed } = await editor();
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asks(asked, '{"a":1}', '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Back/u }));
  await asked[1]?.answer(check('{"a":1}'));
  expect([screen.queryByTestId("diff"), screen.queryByTestId("edit-problems")]).toEqual([null, null]);
});

it("what was typed outlives a look at the card, and ends when an edit is taken or dropped", async () => {
  const { asked, typed } = await editor();
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Back/u }));
  await waitFor(() => {
    expect(document.querySelector(".cm-content")).toBeNull();
  });
  press("e");
  await waitFor(() => {
    expect(document.querySelector(".cm-content")?.textContent).toBe('{"a":1}');
  });
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asked.at(-1)?.answer(check('{"a":1}'));
  await screen.findByTestId("diff");
  fireEvent.click(screen.getByText(/^Discard edit/u));
  press("e");
  await waitFor(() => {
    expect(document.querySelector(".cm-content")?.textContent).toBe("{}");
  });
});

const onCard = (key: string) =>
  waitFor(() => {
    expect(screen.getByTestId("card").dataset["key"]).toBe(key);
  });

it("a compared edit outlives a look at another card and a Z, and is what the next approval sends", async () => {
  const { console, asked, typed } = await editor();
  const first = "acme/billing-bot/r1";
  const approved = async (times: number): Promise<void> => {
    await waitFor(() => {
      expect(screen.getByTestId("card").dataset["armed"]).toBe("true");
    });
    press("a");
    await waitFor(() => {
      expect(console.argsOf("decide")).toHaveLength(times);
    });
    expect(console.argsOf("decide").at(-1)).toMatchObject({
      key: first,
      verdict: "modify",
      edited: '{"a":1}',
      seenEditDigest: 'sha256:{"a":1}',
    });
  };
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asked.at(-1)?.answer(check('{"a":1}'));
  await screen.findByTestId("diff");
  for (const [key, at] of [
    ["j", "a/b/2"],
    ["k", first],
  ] as const) {
    press(key);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await onCard(at);
  }
  expect((await screen.findByTestId("diff")).textContent).toContain('{"a":1}');
  await approved(1);
  await onCard("a/b/2");
  await screen.findByText("held, not sent");
  press("z");
  await onCard(first);
  expect((await screen.findByTestId("diff")).textContent).toContain('{"a":1}');
  await approved(2);
});

it("an edit belongs to the request that it was made for, and ends with it", async () => {
  const { console, asked, typed } = await editor();
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asked.at(-1)?.answer(check('{"a":1}'));
  await screen.findByTestId("diff");
  press("j");
  await waitFor(() => {
    expect(screen.getByTestId("card").dataset["key"]).toBe("a/b/2");
  });
  const [of] = console.argsOf("card");
  const answered = { key: of?.key ?? "", verdict: "deny", by: null, mine: false };
  act(() => {
    console.send(batch(1, [{ type: "gone", key: answered.key }], { touched: [answered] }));
  });
  act(() => {
    console.send(batch(2, [{ type: "put", row: row({ deadlineMs: FAR }) }]));
  });
  press("k");
  await waitFor(() => {
    expect(screen.getByTestId("card").dataset["key"]).toBe(of?.key);
  });
  expect(screen.queryByTestId("diff")).toBeNull();
});

it("an edit outlives a moment in which the list is empty, because the console reads what the bus holds", async () => {
  const { console, asked, typed } = await editor();
  const before = console.answers.inbox_snapshot;
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asked.at(-1)?.answer(check('{"a":1}'));
  await screen.findByTestId("diff");
  press("j");
  await onCard("a/b/2");
  const waiting = screen.getByTestId("waiting").textContent;
  console.answers.inbox_snapshot = () => ({ number: 1, rows: [], serverMs: 0 });
  act(() => {
    console.send(batch(1, [], { resync: true }));
  });
  await waitFor(() => {
    expect(screen.getByTestId("waiting").textContent).toBe("0 waiting");
  });
  console.answers.inbox_snapshot = (args) => ({ ...(before?.(args) as InboxSnapshot), number: 2 });
  act(() => {
    console.send(batch(2, [], { resync: true }));
  });
  await waitFor(() => {
    expect(screen.getByTestId("waiting").textContent).toBe(waiting);
  });
  fireEvent.click(screen.getAllByRole("option")[0] as HTMLElement);
  await onCard("acme/billing-bot/r1");
  expect((await screen.findByTestId("diff")).textContent).toContain('{"a":1}');
});

it("the keyboard leaves the editor with Tab, and nothing of the text changes by that", async () => {
  const { asked } = await editor();
  const field = document.querySelector<HTMLElement>(".cm-content") as HTMLElement;
  field.focus();
  expect(fireEvent.keyDown(field, { key: "Tab" })).toBe(true);
  expect(fireEvent.keyDown(field, { key: "Tab", shiftKey: true })).toBe(true);
  expect([field.textContent, asked]).toEqual(["{}", []]);
});

it("a check that is answered while somebody types on says nothing of the newer text", async () => {
  const { asked, typed } = await editor();
  await typed("{]");
  await asks(asked, "{]");
  await typed('{"a":1}');
  await asked[0]?.answer(check("{]", "not JSON"));
  expect(screen.getByTestId("edit-problems").textContent).toBe("");
});

it("nothing is said any more of a text that was taken back, nor by the check of it that is answered then", async () => {
  const { asked, typed } = await editor();
  await typed("{]");
  await asks(asked, "{]");
  await asked[0]?.answer(check("{]", "not JSON"));
  await waitFor(() => {
    expect(screen.getByTestId("edit-problems").textContent).toContain("not JSON");
  });
  await typed("{}");
  expect(screen.getByTestId("edit-problems").textContent).toBe("");
  await typed("{]");
  await asks(asked, "{]", "{]");
  await typed("{}");
  await asked[1]?.answer(check("{]", "not JSON"));
  expect(screen.getByTestId("edit-problems").textContent).toBe("");
});

it("what is typed while a comparison fails is compared in its place", async () => {
  const { console, asked, typed } = await editor();
  await typed('{"a":1}');
  await asks(asked, '{"a":1}');
  const before = console.answers.check_edit;
  let fails!: () => void;
  console.answers.check_edit = () =>
    new Promise((_, reject) => {
      fails = () => {
        reject(new Error("too busy"));
      };
    });
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await typed('{"a":12}');
  console.answers.check_edit = before as typeof console.answers.check_edit;
  await act(async () => {
    fails();
    await Promise.resolve();
  });
  await asks(asked, '{"a":1}', '{"a":12}');
  await asked[1]?.answer(check('{"a":12}'));
  expect((await screen.findByTestId("diff")).textContent).toContain('{"a":12}');
});

it("what was said of a text is not said of the one that is typed next", async () => {
  const { asked, typed } = await editor();
  fireEvent.click(screen.getByRole("button", { name: /^Compare/u }));
  await asks(asked, "{}");
  await asked[0]?.answer({ ...check("{}"), changed: false });
  await waitFor(() => {
    expect(screen.getByTestId("edit-problems").textContent).toContain("Nothing was changed");
  });
  await typed('{"a":1}');
  expect(screen.getByTestId("edit-problems").textContent).toBe("");
});
