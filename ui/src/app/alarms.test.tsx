import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { alarm, batch, shown, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import type { AlarmItem, StatusView } from "../ipc/generated";
import { App } from "./App";

const reported = (alarms: readonly AlarmItem[]): StatusView["alarms"] =>
  alarms
    .filter(({ seen }) => seen === null)
    .map(({ id, code, subject, atMs }) => ({ id, code, subject, atMs, sentence: "" }));

const open = async (alarms: AlarmItem[]): Promise<FakeConsole> => {
  const console = fakeConsole({
    status: status({ alarms: reported(alarms) }),
    answers: { alarms_list: () => ({ alarms }) },
  });
  render(<App transport={console} />);
  fireEvent.click(await screen.findByTestId("alarms"));
  await screen.findByTestId(alarms.length > 0 ? "alarm-list" : "alarms-empty");
  return console;
};
const item = (code: string): HTMLElement =>
  screen.getAllByTestId("alarm").find((one) => one.dataset["code"] === code) as HTMLElement;

describe("alarms", () => {
  it("are counted in the status bar and listed with what happened and what to do", async () => {
    await open([
      alarm({
        id: 2,
        code: "void_vote",
        subject: shown("acme/bot/r1⟨U+202E⟩"),
        happened: "It does not verify.",
        next: "Run `countersign doctor`.",
      }),
      alarm({ id: 1, code: "read_only", lasts: true }),
      alarm({ id: 3, code: "void_decision", seen: { atMs: 0, by: shown("ann"), keyTail: "7Q2F" } }),
    ]);
    expect(screen.getByTestId("alarms").textContent).toContain("2 alarms");
    expect(item("void_vote").textContent).toContain("It does not verify.");
    const command = await within(item("void_vote")).findByText("/opt/countersign --data-dir /srv/desk doctor");
    expect(command.tagName).toBe("CODE");
    expect(item("void_vote").querySelectorAll(".shown-mark")).toHaveLength(1);
    expect(within(item("read_only")).queryByRole("button")).toBeNull();
    expect(item("void_decision").textContent).toContain("by ann, key 7Q2F");
  });

  it("are acknowledged by their number, and stay in the list", async () => {
    const console = await open([alarm({ id: 7, code: "void_vote" })]);
    console.answers.acknowledge_alarm = () =>
      alarm({ id: 7, code: "void_vote", seen: { atMs: 5, by: shown("maria"), keyTail: "7Q2F" } });
    fireEvent.click(within(item("void_vote")).getByRole("button"));
    await waitFor(() => {
      expect(item("void_vote").dataset["seen"]).toBe("true");
    });
    expect(console.argsOf("acknowledge_alarm")).toEqual([{ id: 7 }]);
    expect(screen.getByText("Alarms: 0 to look at, 1 seen")).toBeTruthy();
  });

  it("say why one could not be acknowledged, and let it be tried again", async () => {
    const console = await open([alarm({ id: 7, code: "void_vote" })]);
    console.answers.acknowledge_alarm = () => {
      throw new CallError("read_only", "the disk is full");
    };
    fireEvent.click(within(item("void_vote")).getByRole("button"));
    expect(await within(item("void_vote")).findByRole("alert")).toBeTruthy();
    expect(within(item("void_vote")).getByRole<HTMLButtonElement>("button").disabled).toBe(false);
  });

  it("are read again when a new one is reported", async () => {
    const console = await open([]);
    console.answers.alarms_list = () => ({ alarms: [alarm({ id: 9, code: "operator_waits", request: null })] });
    console.send(batch(1, [], { status: status({ alarms: reported([alarm({ id: 9, code: "operator_waits" })]) }) }));
    await waitFor(() => {
      expect(item("operator_waits")).toBeTruthy();
    });
  });

  it("lead to the request that they are about", async () => {
    await open([alarm({ id: 7, request: "acme/bot/r1" })]);
    fireEvent.click(screen.getByText("acme/bot/r1"));
    await waitFor(() => {
      expect(window.location.hash).toContain("/history/request");
    });
    expect(screen.queryByTestId("alarm-list")).toBeNull();
  });
});
