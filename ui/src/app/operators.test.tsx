import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { alarm, operator, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { limitsOf, operatorsOf } from "../features/operators/operators";
import type { OperatorLine } from "../ipc/generated";
import { App } from "./App";

const press = (key: string): void => {
  fireEvent.keyDown(document.activeElement ?? document.body, { key });
};

const open = async (operators: OperatorLine[], approval = false, hash = "#/operators"): Promise<FakeConsole> => {
  window.location.hash = hash;
  const console = fakeConsole({ answers: { operators_list: () => ({ operators, approval, serverMs: 100_000 }) } });
  render(<App transport={console} />);
  return console;
};
const rows = (): readonly string[] => screen.queryAllByTestId("operator-row").map((row) => row.textContent ?? "");

describe("the operators", () => {
  it("are a row for each key, who waits first, and show who, since when, by whom and how far", async () => {
    await open([
      operator({ key: "UGONE", name: shown("gone"), fromMs: 1, untilMs: 5, by: shown("maria"), state: "ended" }),
      operator({ mine: true, admin: true, joined: true, by: shown("maria"), seenMs: 99_000 }),
      operator({
        key: "ULENA",
        name: shown("lena⟨U+202E⟩"),
        fromMs: 5,
        by: shown("maria"),
        workspaces: ["acme"],
        maxRisk: "medium",
        seenMs: 40_000,
      }),
      operator({ key: "UWAIT", name: shown("zoe"), state: "waiting" }),
    ]);
    await waitFor(() => {
      expect(rows()).toHaveLength(4);
    });
    expect(rows()[3]).toContain("gone");
    expect(rows()[1]).toContain("administrator");
    expect(rows()[0]).toContain("zoe");
    expect(screen.getByTestId("operators-count").textContent).toBe("2 active, 1 pending");
    const detail = screen.getByTestId("operator");
    // Never the plain name first: a command that is copied must lead to this console's folder.
    expect(detail.textContent).not.toContain("countersign operators accept");
    await waitFor(() => {
      expect(detail.textContent).toContain("/opt/countersign --data-dir /srv/desk operators accept UWAIT");
    });
    expect(detail.textContent).toContain("nobody yet");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("operator").textContent).toContain("maria’s console, without a person");
    });
    expect(screen.getByTestId("operator-seen").textContent).toContain("is connected now");
    press("j");
    await waitFor(() => {
      expect(screen.getByTestId("operator").textContent).toContain("in acme");
    });
    const lena = screen.getByTestId("operator");
    expect(lena.textContent).toContain("in acme, up to medium");
    expect(lena.textContent).toContain("last seen 1 min ago");
    expect(lena.textContent).toContain("/opt/countersign --data-dir /srv/desk operators retire ULENA");
    expect(lena.querySelectorAll(".shown-mark").length).toBeGreaterThan(0);
  });

  it("of a large realm are drawn as far as they are on screen, and found by their names", async () => {
    const many = Array.from({ length: 2_000 }, (_, place) =>
      operator({ key: `U${place}`, name: shown(`operator ${place}`) }),
    );
    await open(many, true);
    await waitFor(() => {
      expect(rows().length).toBeGreaterThan(0);
    });
    expect(rows().length).toBeLessThan(100);
    expect(screen.getByText("A newcomer’s key becomes active once an administrator accepts it.")).toBeTruthy();
    fireEvent.change(screen.getByLabelText(/^Filter/), { target: { value: "operator 1999" } });
    await waitFor(() => {
      expect(rows()).toHaveLength(1);
    });
  });

  it("say so where the list was not read yet, and are reached by their keys", async () => {
    await open([], false, "#/history");
    await screen.findByTestId("history-empty");
    press("g");
    press("p");
    await waitFor(() => {
      expect(screen.getByTestId("operators-empty").textContent).toContain("has not been read from the bus");
    });
  });
});

describe("an operator", () => {
  it("who waits comes first, and who has ended last", () => {
    const all = operatorsOf(["ended", "in_force", "waiting", "in_force"].map((state) => operator({ state })));
    expect(all.map((one) => one.now.state)).toEqual(["waiting", "in_force", "in_force", "ended"]);
  });

  it.each([
    [{}, "everything"],
    [{ workspaces: [] }, "in no workspace"],
    [{ workspaces: ["acme", "labs"], maxRisk: "low" as const }, "in acme, labs, up to low"],
  ])("with %j may decide %s", (more, words) => {
    expect(limitsOf(operator(more))).toBe(words);
  });
});

describe("who joins", () => {
  it("is an alarm with name and day until somebody has read it, and leads to the operators", async () => {
    const joined = alarm({
      id: 4,
      code: "operator_joined",
      subject: shown("ULENA"),
      request: null,
      joined: { name: shown("lena⟨U+200B⟩"), fromMs: new Date(2020, 10, 25, 12).getTime() },
    });
    const console = fakeConsole({
      status: status({ alarms: [{ id: 4, code: "operator_joined", subject: shown("ULENA"), atMs: 0, sentence: "" }] }),
      answers: { alarms_list: () => ({ alarms: [joined] }) },
    });
    render(<App transport={console} />);
    fireEvent.click(await screen.findByTestId("alarms"));
    const item = await screen.findByTestId("alarm");
    expect(item.textContent).toContain("joined on 25 Nov 2020 and may decide here.");
    expect(item.querySelectorAll(".shown-mark")).toHaveLength(1);
    fireEvent.click(within(item).getByRole("link"));
    await waitFor(() => {
      expect(window.location.hash).toBe("#/operators");
    });
  });
});
