import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";
import { card } from "../../../test/build";
import { fakeConsole, type FakeConsole } from "../../../test/fakeTransport";
import { createDesk } from "../../desk/desk";
import { DeskProvider } from "../../desk/DeskContext";
import type { Card, DecideArgs } from "../../ipc/generated";
import { useSentVerdicts } from "./useSent";

const CARDS = ["a/b/1", "a/b/2"].map((key) => card({ key }));
const argsOf = ({ key }: Card): DecideArgs => ({
  key,
  verdict: "approve",
  seenRequestDigest: "",
  seenArgsDigest: null,
  edited: null,
  seenEditDigest: null,
  message: null,
  answer: null,
  typed: null,
  revealed: [],
});
const faultyArgs = (one: Card): DecideArgs => {
  if (one === CARDS[1]) throw new Error("no such card");
  return argsOf(one);
};
const open = (answers: FakeConsole["answers"]) => {
  const console = fakeConsole({
    answers: { decide: () => ({ state: "holding", verdict: "approve", releaseMs: 3_000 }), ...answers },
  });
  const desk = createDesk(console);
  const { result } = renderHook(() => useSentVerdicts(), {
    wrapper: ({ children }) => <DeskProvider desk={desk}>{children}</DeskProvider>,
  });
  return { console, sent: result };
};

it("a batch whose answers cannot be made sends none, and keeps no other one from being sent", async () => {
  const { console, sent } = open({});
  await act(async () => {
    await expect(sent.current.decideAll(CARDS, faultyArgs)).rejects.toThrow("no such card");
  });
  expect([console.argsOf("decide"), sent.current.sending]).toEqual([[], false]);
  await act(async () => {
    expect(await sent.current.decideAll(CARDS, argsOf)).toEqual({ begun: 2 });
  });
});

it("an approval that is on its way back is not asked for again: the one before it is", async () => {
  const answers: (() => void)[] = [];
  const { console, sent } = open({
    undo: () =>
      new Promise((done) => {
        answers.push(() => {
          done({});
        });
      }),
  });
  await act(async () => {
    await Promise.all(CARDS.map((one) => sent.current.decide(one, argsOf(one))));
  });
  const both = [sent.current.undo(), sent.current.undo(), sent.current.undo()];
  for (const give of answers) give();
  let taken: (readonly string[] | null)[] = [];
  await act(async () => {
    taken = await Promise.all(both);
  });
  expect(taken).toEqual([["a/b/2"], ["a/b/1"], null]);
  expect(console.argsOf("undo").map(({ key }) => key)).toEqual(["a/b/2", "a/b/1"]);
});
