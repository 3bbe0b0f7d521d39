import { describe, expect, it } from "vitest";
import { card, shown } from "../../../test/build";
import { lookOf, noted, wordsOf, type Look } from "./haste";

const look = (id: string, frontMs: number, atMs: number): Look => ({ id, frontMs, readMs: 1_000, atMs });
const after = (looks: readonly Look[]): string | null => wordsOf(looks.reduce<readonly Look[]>(noted, []));
const quick = (ids: string): Look[] => [...ids].map((id, place) => look(id, 500, 1_000 + place * 1_000));

const of = (more: Partial<Parameters<typeof lookOf>[0]>): string => lookOf(card(more), 0, 0).id;

describe("cards that are decided in haste", () => {
  it.each([
    ["five unlike ones are reported, with their time", quick("abcde"), "You decided 5 cards in 5 s"],
    ["more are reported as the last five", quick("abcdefgh"), "You decided 5 cards in 5 s"],
    ["four are not", quick("abcd"), null],
    ["alike ones are one", quick("abcda"), null],
    ["one that was read ends them", [...quick("abcde"), look("f", 1_000, 9_000)], null],
    ["and begins anew", [...quick("abc"), look("f", 1_000, 9_000), ...quick("de")], null],
  ])("%s", (_, looks, words) => {
    expect(after(looks)).toBe(words);
  });

  it("are alike where agent, tool and arguments are the same", () => {
    const one = card();
    const ids = [
      of({}),
      of({ key: "acme/billing-bot/r2" }),
      of({ agent: "other" }),
      of({ origin: { ...one.origin, argsDigest: "sha256:1" } }),
      of({ tool: one.tool === null ? null : { ...one.tool, name: shown("other") } }),
    ];
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(4);
  });
});
