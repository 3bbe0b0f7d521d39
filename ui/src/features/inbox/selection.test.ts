import { describe, expect, it } from "vitest";
import { row, shown } from "../../../test/build";
import type { InboxRow } from "../../ipc/generated";
import { BATCH_MAX, extended, kept, toggled, whyNot, without } from "./selection";

const call = (key: string, more: Partial<InboxRow> = {}): InboxRow => row({ key, ...more });

describe("a selection", () => {
  it.each<[string, Partial<InboxRow>]>([
    ["high", { risk: "high", path: "high" }],
    ["critical", { risk: "critical", path: "critical" }],
    ["irreversible", { risk: "low", path: "critical" }],
    ["a question", { kind: "question" }],
    ["a form", { kind: "form" }],
    ["held", { state: "holding" }],
    ["on its way", { state: "queued" }],
    ["for several operators", { votes: { required: 2, given: 0, apart: 0, mine: false } }],
  ])("never holds a call that is %s", (_, more) => {
    const rows = [call("a"), call("b", more), call("c")];
    expect(whyNot(call("b", more))).not.toBeNull();
    expect(toggled([], rows, "b").picked).toEqual([]);
    expect(kept(["a", "b"], rows)).toEqual(["a"]);
    expect(extended([], rows, "a", 1)).toEqual({ picked: ["a", "c"], refusal: null, cursor: "c" });
    expect(extended([], rows, "b", 1).picked).toEqual([]);
  });

  it.each<[string, Partial<InboxRow>]>([
    ["tool", { tool: shown("other") }],
    ["agent", { agent: "other" }],
    ["workspace", { workspace: "other" }],
    ["look-alike tool", { tool: shown("delete_invoice⟨U+200B⟩") }],
  ])("holds calls of one tool and agent only: another %s is refused", (_, more) => {
    const rows = [call("a"), call("b", more), call("c")];
    const refused = toggled(["a"], rows, "b");
    expect([refused.picked, refused.refusal === null]).toEqual([["a"], false]);
    expect(extended(["a"], rows, "a", 1).picked).toEqual(["a", "c"]);
    expect(extended([], [call("a"), call("b", more)], "a", 1)).toMatchObject({ picked: ["a"], cursor: "a" });
  });

  it("goes in and out with the same key, grows both ways, and stays in the order of the list", () => {
    const rows = [call("a"), call("b"), call("c")];
    expect(toggled(["a", "b"], rows, "a").picked).toEqual(["b"]);
    expect(extended(["c"], rows, "c", -1)).toEqual({ picked: ["b", "c"], refusal: null, cursor: "b" });
    expect(extended(["a", "b"], rows, "a", 1)).toEqual({ picked: ["a", "b"], refusal: null, cursor: "b" });
    expect(toggled(["c"], rows, "a").picked).toEqual(["a", "c"]);
  });

  it("loses what left the list, and holds no more than a person reads", () => {
    const many = Array.from({ length: BATCH_MAX + 1 }, (_, place) => call(`k${String(place).padStart(3, "0")}`));
    const full = many.slice(0, BATCH_MAX).map(({ key }) => key);
    expect(kept(["gone", "k001"], many)).toEqual(["k001"]);
    expect(toggled(full, many, "k050")).toMatchObject({ picked: full, refusal: "No more than 50 at once." });
  });

  it("lets go of what was answered, and keeps what was selected meanwhile", () => {
    expect(without({ picked: ["a", "b", "c"], refusal: "no" }, ["a", "b", "gone"])).toEqual({
      picked: ["c"],
      refusal: null,
    });
  });
});
