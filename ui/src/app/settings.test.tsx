import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { settings, status } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import type { SettingsView, StatusView } from "../ipc/generated";
import { App } from "./App";

const open = async (more: Partial<SettingsView> = {}, bus: Partial<StatusView["bus"]> = {}): Promise<FakeConsole> => {
  window.location.hash = "#/settings";
  const base = status();
  const console = fakeConsole({
    status: { ...base, bus: { ...base.bus, ...bus } },
    answers: { settings: () => settings(more) },
  });
  render(<App transport={console} />);
  await screen.findByLabelText("Bus");
  return console;
};
const choose = (name: string, label: string): void => {
  fireEvent.click(within(screen.getByTestId(`setting-${name}`)).getByLabelText(label));
};

describe("settings of the window", () => {
  it("take effect at once and are kept", async () => {
    const console = await open();
    choose("theme", "Light");
    expect(document.documentElement.dataset["theme"]).toBe("light");
    choose("notifications", "High and critical");
    await waitFor(() => {
      expect(console.argsOf("notify").at(-1)).toEqual({ level: "urgent" });
    });
    choose("singleKeys", "Off");
    fireEvent.keyDown(document.body, { key: "?" });
    expect(screen.queryByText("Palette")).toBeNull();
    expect(await screen.findByText("Single keys are off")).toBeTruthy();
    expect(["theme", "notifications", "singleKeys"].map((name) => localStorage.getItem(`countersign.${name}`))).toEqual(
      ["light", "urgent", "off"],
    );
  });
});

it("single keys work on a radio button, and its arrows move nothing else", async () => {
  await open();
  const dark = within(screen.getByTestId("setting-theme")).getByLabelText("Dark");
  dark.focus();
  expect(fireEvent.keyDown(dark, { key: "ArrowDown" })).toBe(true);
  fireEvent.keyDown(dark, { key: "g" });
  fireEvent.keyDown(dark, { key: "h" });
  await waitFor(() => {
    expect(window.location.hash).toBe("#/history");
  });
});

describe("settings of the console", () => {
  it("show which bus it is and what is insecure about it", async () => {
    await open(
      { ownServer: false, login: "creds", allowSingleAccount: true },
      { url: "nats://bus.example:4222", insecure: ["no_tls"] },
    );
    const bus = await screen.findByLabelText("Bus");
    for (const part of [
      "An outside server",
      "nats://bus.example:4222",
      "with a .creds file",
      "the connection is not encrypted",
      "allow_single_account",
    ]) {
      expect(bus.textContent).toContain(part);
    }
  });

  it("show who signs", async () => {
    await open();
    expect((await screen.findByLabelText("Operator and keys")).textContent).toContain("UHUMAN");
  });

  it("show how long what is kept, and hold no control that does nothing", async () => {
    await open({
      retention: [
        { kind: "requests", days: 400, mib: null },
        { kind: "receipts", days: null, mib: 50 },
        { kind: "quarantine", days: null, mib: null },
      ],
    });
    const kept = (await screen.findByLabelText("Retention")).textContent ?? "";
    for (const part of ["400 days", "at most 50 MiB", "for ever", "config.toml"]) expect(kept).toContain(part);
    for (const part of [
      "Bus",
      "OpenTelemetry",
      "Metrics",
      "Operator and keys",
      "Retention",
      "Alarms and limits",
      "Folders",
    ]) {
      expect(screen.getByLabelText(part).querySelectorAll("button, input, select, textarea")).toHaveLength(0);
    }
  });
});
