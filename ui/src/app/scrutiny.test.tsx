import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { arg, shown } from "../../test/build";
import { one } from "../../test/desk";
import { localized } from "../components/amounts";
import { plainText } from "../components/shown";
import type { ArgPart, ComparedView, DiffKind, FindingView } from "../ipc/generated";

const finding = (more: Partial<FindingView> = {}): FindingView => ({
  code: "near_miss",
  weight: "stop",
  at: shown("/to"),
  message: shown("nordwind-logistlk.example is one letter from nordwind-logistik.example, used in 4 earlier calls."),
  ...more,
});
const text = (words: string, findings: number[] | null = null, letters = false): ArgPart => ({
  type: "text",
  text: shown(words),
  ...(findings === null ? {} : { mark: { findings, letters } }),
});
const compared = (more: Partial<ComparedView> = {}): ComparedView => ({
  key: "acme/billing-bot/r0",
  atMs: 0,
  by: shown("Ann"),
  differs: [],
  same: 11,
  ...more,
});
const line = (kind: DiffKind, words: string) => ({ kind, text: shown(words) });
const marks = (): (string | undefined)[] =>
  [...document.querySelectorAll<HTMLElement>("[data-mark]")].map((mark) => mark.dataset["mark"]);

describe("a card with findings", () => {
  const to = {
    name: shown("to"),
    value: [text('"ada@nordwind-logist', [0]), text("l", [0], true), text('k.example"', [0])],
  };

  it("is read in order: effect, first finding, arguments with marks, what differs, the agent's words", async () => {
    await one({
      effect: shown("Sends 1 mail to 1 address"),
      findings: [finding()],
      args: [to],
      compared: compared({ differs: [{ place: shown("to"), was: [text("a")], is: [text("b")], lines: [] }] }),
      history: [{ role: shown("user"), content: shown("Send it.") }],
    });
    const body = screen.getByTestId("card-body").textContent;
    const places = ["Sends 1 mail", "is one letter from", "ada@nordwind", "What differs", "is a duplicate", "Send it."];
    expect(places.map((words) => body.indexOf(words))).toEqual(
      places.map((words) => body.indexOf(words)).toSorted((a, b) => a - b),
    );
    expect(body.indexOf(places[0] ?? "")).toBeGreaterThanOrEqual(0);
  });

  it("marks the value beside it, its letters, and says the sentence of the first one only above", async () => {
    const other = finding({ code: "new_value", weight: "look", at: shown("/cc/1"), message: shown("x is new here.") });
    await one({
      findings: [finding(), other],
      args: [to, { name: shown("cc"), value: [text('["a", '), text('"x"', [1]), text("]")] }],
    });
    expect(document.querySelector("[data-letters]")?.textContent).toBe("l");
    expect(screen.getAllByText(/is one letter from/)).toHaveLength(1);
    expect(marks()).toEqual(["near_miss", "new_value"]);
    const values = screen.getAllByRole("definition").map((value) => value.textContent);
    expect(values[0]).toMatch(/^"ada@nordwind-logistlk\.example" Stop: close to a known one$/);
    expect(values[1]).toBe('["a", "x" Look: x is new here.]');
  });

  it("shows findings of the whole call as lines, and names a mark once where another one is inside of its value", async () => {
    const whole = finding({ code: "presses", weight: "look", at: [], message: shown("Asks you not to check.") });
    await one({
      findings: [finding(), whole, finding({ code: "wider", at: shown("/to") })],
      args: [{ name: shown("to"), value: [text('"a', [0]), text("b", [0, 2]), text('c"', [0])] }],
    });
    expect([...screen.getByTestId("findings").children].map((child) => child.getAttribute("data-finding"))).toEqual([
      "near_miss",
      "presses",
    ]);
    expect(marks()).toEqual(["wider", "near_miss"]);
  });

  it("has no line, no mark and no effect where there is nothing to say", async () => {
    await one();
    expect([screen.queryByTestId("effect"), screen.queryByTestId("findings"), marks()]).toEqual([null, null, []]);
  });
});

describe("what differs from the right call", () => {
  it("is listed alone, by letters and by lines, and the rest is counted", async () => {
    const body = [...Array.from({ length: 9 }, () => line("same", "as ever")), line("old", "10"), line("new", "90")];
    await one({
      compared: compared({
        differs: [
          {
            place: shown("iban"),
            was: [text("DE8"), text("9", [], true)],
            is: [text("DE8"), text("1", [], true)],
            lines: [],
          },
          { place: shown("cc"), was: null, is: [text('"x"')], lines: [] },
          { place: shown("body"), was: null, is: null, lines: body },
        ],
      }),
    });
    const list = screen.getByTestId("compared");
    const letters = [...list.querySelectorAll("[data-letters]")].map((letter) => letter.textContent);
    expect(letters).toEqual(["9", "1"]);
    expect(screen.getAllByTestId("was")[1]?.textContent).toBe("absent");
    expect(
      within(screen.getByTestId("diff"))
        .getAllByRole("listitem")
        .map((item) => item.textContent),
    ).toEqual(["8 lines are the same", " as ever", "before: −10", "after: +90"]);
    expect(list.textContent).toContain("11 arguments are the same");
    expect(screen.getByRole("heading", { name: /What differs from the call that Ann approved on/ })).toBeTruthy();
  });

  it("is distinguished in red where a person denied a like call", async () => {
    const denied = { key: "acme/billing-bot/r0", atMs: -172_800_000, by: shown("lena"), why: shown("wrong account") };
    await one({ denied });
    expect(screen.getByTestId("denied-before").textContent).toBe("lena denied a call like this 2 d ago: wrong account");
    expect(document.querySelectorAll("[data-finding=denied_before]")).toHaveLength(1);
    expect(screen.getByTestId("denied-before").querySelector("[data-ticks]")?.textContent).toBe("2 d ago");
  });
});

describe("an amount of the console's sentence", () => {
  it.each([
    ["Pays 12,490.00 EUR to x", "de-DE", "Pays 12.490,00 EUR to x"],
    ["Pays 12,490.00 EUR to x", "en", "Pays 12,490.00 EUR to x"],
    ["/srv/1.25 is new; 10.0.0.1, 1.25 times", "de-DE", "/srv/1.25 is new; 10.0.0.1, 1.25 times"],
  ])("%s in %s", (words, locale, read) => {
    expect(plainText(localized(shown(words), locale))).toBe(read);
  });
});

describe("arguments that are not marked", () => {
  it("look as ever", async () => {
    await one({ args: [arg("a", "1")] });
    expect(document.querySelector(".marked")).toBeNull();
  });
});
