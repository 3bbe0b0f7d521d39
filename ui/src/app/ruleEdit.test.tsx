import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { ruleRow } from "../../test/build";
import {
  AGAIN,
  asSaved,
  clicks,
  editor,
  goes,
  later,
  rules,
  saves,
  settle,
  shownText,
  text,
  typed,
} from "../../test/ruleEditor";
import type { RuleText, SavedRule } from "../ipc/generated";
import { CallError } from "../ipc/transport";

const FIRST = text().text;
const version = (wanted: number): Promise<void> =>
  waitFor(() => {
    expect(screen.getByTestId("rule").dataset["version"]).toBe(`${wanted}`);
  }, AGAIN);
const saved = (): Promise<void> =>
  waitFor(() => {
    expect(screen.queryByText("Sending to the bus…")).toBeNull();
  });

it("dropped changes are no longer on screen either", async () => {
  await rules([ruleRow()]);
  await typed("# mine\n");
  await clicks("Discard changes");
  await waitFor(async () => {
    expect(await shownText()).toBe(FIRST);
  });
});

it("the editor shows what is saved and tried, also where somebody else puts back its first text", async () => {
  const list = [ruleRow()];
  const console = await rules(list, { save_rule: () => asSaved() });
  await saves("# mine\n");
  await waitFor(() => {
    expect(screen.queryByText("Save")).toBeNull();
  });
  console.answers.rule_text = () => text({ version: 5 });
  list[0] = ruleRow({ version: 5 });
  await version(5);
  await waitFor(async () => {
    expect(await shownText()).toBe(FIRST);
  }, AGAIN);
  await saves("# more\n");
  await waitFor(() => {
    expect(console.argsOf("save_rule").at(-1)).toMatchObject({ text: `${FIRST}# more\n`, seenVersion: 5 });
  });
});

it("what is typed after Enable goes on from the enabled rule, not from the text that had turned it off", async () => {
  const [on, off] = ["on", "off"].map((state) => `id = "small"\neffect = "ask"\nenabled = "${state}"\n`) as [
    string,
    string,
  ];
  let stands = text({ text: on });
  const list = [ruleRow()];
  const console = await rules(list, {
    rule_text: () => stands,
    save_rule: ({ state, text: words }) => {
      stands = text({ version: stands.version + 1, text: state === "on" ? on : words });
      list[0] = ruleRow({ version: stands.version, state: stands.text === on ? "on" : "off" });
      return asSaved({ version: stands.version });
    },
  });
  await typed(off, true);
  await clicks("Save");
  await version(4);
  await clicks("Enable");
  await version(5);
  await waitFor(async () => {
    expect(await shownText()).toBe(on);
  });
  await saves("# more\n");
  await waitFor(() => {
    expect(console.argsOf("save_rule").at(-1)?.text).toBe(`${on}# more\n`);
  });
});

it("a text that begins anew leaves the keyboard in the editor", async () => {
  const list = [ruleRow()];
  const console = await rules(list);
  (await editor()).focus();
  console.answers.rule_text = () => text({ version: 4, text: `${FIRST}# theirs\n` });
  list[0] = ruleRow({ version: 4 });
  await version(4);
  await waitFor(async () => {
    expect(await shownText()).toContain("# theirs");
  });
  expect(document.activeElement).toBe(await editor());
});

it("what the editor shows stays in it, with its history, once an editor that was left has saved it", async () => {
  const answer = later<SavedRule>();
  const list = [ruleRow(), ruleRow({ id: "other" })];
  const console = await rules(list, { save_rule: () => answer.promise });
  await saves("# mine\n");
  await goes("j", "other");
  await goes("k", "small");
  const field = await editor();
  console.answers.rule_text = () => text({ version: 4, text: `${FIRST}# mine\n` });
  list[0] = ruleRow({ version: 4 });
  answer.resolve(asSaved());
  await version(4);
  await settle();
  expect([screen.queryByTestId("conflict"), screen.queryByText("Save")]).toEqual([null, null]);
  expect(await editor()).toBe(field);
});

it("an editor that was opened meanwhile knows the own saving, rewritten or listed first", async () => {
  const answer = later<SavedRule>();
  const list = [ruleRow(), ruleRow({ id: "other" })];
  const console = await rules(list, { save_rule: () => answer.promise });
  await typed("# mine\n");
  await clicks("Turn off");
  await goes("j", "other");
  await goes("k", "small");
  expect(screen.getByText("Sending to the bus…")).toBeTruthy();
  const written = `${FIRST}enabled = "off"\n# mine\n`;
  console.answers.rule_text = () => text({ version: 4, text: written });
  list[0] = ruleRow({ version: 4, state: "off" });
  await version(4);
  await settle();
  expect(screen.queryByTestId("conflict")).toBeNull();
  answer.resolve(asSaved());
  await saved();
  await waitFor(async () => {
    expect(await shownText()).toBe(written);
  });
  expect([screen.queryByTestId("conflict"), screen.queryByText("Save")]).toEqual([null, null]);
});

it("what was typed meanwhile knows the own saving, though no editor was open at its answer", async () => {
  const answer = later<SavedRule>();
  const list = [ruleRow(), ruleRow({ id: "other" })];
  const console = await rules(list, { save_rule: () => answer.promise });
  await saves("# mine\n");
  await typed("# more\n");
  await goes("j", "other");
  await act(async () => {
    answer.resolve(asSaved());
    await answer.promise;
  });
  // The list does not know of it yet.
  await goes("k", "small");
  console.answers.rule_text = () => text({ version: 4, text: `${FIRST}# mine\n` });
  list[0] = ruleRow({ version: 4 });
  await version(4);
  await settle();
  expect([screen.queryByTestId("conflict"), await shownText()]).toEqual([null, `${FIRST}# mine\n# more\n`]);
  await clicks("Save");
  await waitFor(() => {
    expect(console.argsOf("save_rule").map((args) => args.seenVersion)).toEqual([3, 4]);
  });
});

it("the same change by somebody else is not a conflict, and leaves the editor as it is", async () => {
  const list = [ruleRow()];
  const console = await rules(list);
  await typed("# mine\n");
  const field = await editor();
  console.answers.rule_text = () => text({ version: 4, text: `${FIRST}# mine\n` });
  list[0] = ruleRow({ version: 4 });
  await version(4);
  await waitFor(() => {
    expect(screen.queryByText("Save")).toBeNull();
  });
  expect(screen.queryByTestId("conflict")).toBeNull();
  expect(await editor()).toBe(field);
});

it("a rule that cannot be read again stays under the hands that type into it, until it can", async () => {
  const list = [ruleRow()];
  const console = await rules(list);
  await typed("# mine\n");
  const field = await editor();
  console.answers.rule_text = (): RuleText => {
    throw new CallError("failed", "the store is busy");
  };
  list[0] = ruleRow({ version: 4 });
  await screen.findByTestId("unread", undefined, { timeout: 8_000 });
  await typed("# more\n");
  expect(await shownText()).toBe(`${FIRST}# mine\n# more\n`);
  expect(await editor()).toBe(field);
  console.answers.rule_text = () => text({ version: 4, text: `${FIRST}# theirs\n` });
  const conflict = await screen.findByTestId("conflict", undefined, AGAIN);
  expect([conflict.textContent?.includes("# theirs"), screen.queryByTestId("unread")]).toEqual([true, null]);
  expect(await editor()).toBe(field);
  fireEvent.click(within(conflict).getByText("Use theirs"));
  await waitFor(async () => {
    expect(await shownText()).toBe(`${FIRST}# theirs\n`);
  });
});
