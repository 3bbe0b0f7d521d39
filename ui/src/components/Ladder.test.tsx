import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { card, shown } from "../../test/build";
import type { Rung } from "../ipc/generated";
import { Ladder } from "./Ladder";

const executed = (more: Partial<Rung>): Rung => ({ rung: "executed", state: "open", atMs: null, detail: null, ...more });

it.each([
  ["may still run", executed({}), "Executed (not yet)"],
  ["never runs, as decided", executed({ state: "never" }), "Does not run (as decided)"],
  ["failed", executed({ state: "bad", detail: shown("no such file") }), "Failed no such file (went wrong)"],
  ["ran although nothing allowed it", executed({ state: "forbidden", detail: shown("without approval") }), "Executed without approval (not allowed)"],
])("the last rung of a call that %s reads so", (_, rung, words) => {
  render(<Ladder card={{ ...card(), ladder: [rung] }} />);
  expect(screen.getByTestId("ladder").textContent).toBe(words);
});
