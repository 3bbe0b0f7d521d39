import { act, cleanup, render, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { CommandId } from "../hotkeys";
import { CommandProvider, useCommand, useOpenSequence } from "./CommandContext";

let ran: CommandId[] = [];
const Command = ({ id }: { readonly id: CommandId }) => {
  useCommand(id, () => {
    ran.push(id);
  });
  return null;
};
const Open = () => <output>{useOpenSequence()}</output>;
const COMMANDS: readonly CommandId[] = ["approve", "approvePath", "agents", "rejected", "next", "back"];
const open = (): string => screen.getByRole("status").textContent;

/** Sends the window an event at a moment of the page's clock; whether the browser would go on with it. */
const at = (ms: number, event: Event): boolean => {
  Object.defineProperty(event, "timeStamp", { value: ms });
  let goesOn = true;
  act(() => {
    goesOn = window.dispatchEvent(event);
  });
  return goesOn;
};
const key = (ms: number, pressed: string, more: KeyboardEventInit = {}): boolean =>
  at(
    ms,
    new KeyboardEvent("keydown", { key: pressed, code: `Key${pressed.toUpperCase()}`, cancelable: true, ...more }),
  );
const focus = (ms: number): void => {
  at(ms, new FocusEvent("focus"));
};

beforeEach(() => {
  cleanup();
  ran = [];
  render(
    <CommandProvider>
      {COMMANDS.map((id) => (
        <Command key={id} id={id} />
      ))}
      <Open />
    </CommandProvider>,
  );
});

describe("after the window gained focus", () => {
  it("no key that belongs to a sequence approves, whenever its second half comes", () => {
    focus(0);
    key(280, "g");
    expect(open()).toBe("G");
    key(500, "a");
    expect(ran).toEqual([]);
    key(900, "a");
    expect(ran).toEqual(["agents"]);
    focus(10_000);
    key(10_390, "g");
    key(10_800, "a");
    expect(ran).toEqual(["agents", "agents"]);
  });

  it("a sentence that was meant for another window means nothing, however long it is", () => {
    focus(0);
    [..."hhm, a jar of jam"].forEach((letter, place) => {
      key(200 + place * 130, letter);
    });
    expect(ran).toEqual([]);
  });

  it("keys count again once none went down for a moment", () => {
    focus(0);
    key(399, "j");
    key(798, "j");
    key(1_198, "j");
    expect(ran).toEqual(["next"]);
  });
});

describe("a sequence", () => {
  it("waits for its second key as long as it takes, and that key is nothing else", () => {
    key(0, "g");
    key(60_000, "a");
    expect(ran).toEqual(["agents"]);
    expect(open()).toBe("");
    key(120_000, "G", { shiftKey: true });
    key(120_100, "x");
    expect(open()).toBe("");
    key(120_200, "a");
    expect(ran).toEqual(["agents", "approve"]);
  });

  it("swallows a second key that makes none, for the browser too, and its repeats while it is held", () => {
    key(0, "g");
    expect(key(100, "k", { code: "KeyK" })).toBe(false);
    key(200, "g");
    key(300, "j");
    for (let ms = 800; ms < 1_200; ms += 30) key(ms, "j", { repeat: true });
    expect(ran).toEqual(["rejected"]);
    key(2_000, "j");
    expect(ran).toEqual(["rejected", "next"]);
  });

  it.each<[string, () => void]>([
    [
      "a click",
      () => {
        at(100, new Event("pointerdown"));
      },
    ],
    [
      "Escape",
      () => {
        key(100, "Escape");
      },
    ],
  ])("is ended by %s, which does nothing else", (_, end) => {
    key(0, "g");
    end();
    expect(open()).toBe("");
    expect(ran).toEqual([]);
    key(200, "a");
    expect(ran).toEqual(["approve"]);
  });
});
