import { act, render, screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { batch, card, row, status, story, traceLine, traceTree } from "../../test/build";
import { fakeConsole, type FakeConsole } from "../../test/fakeTransport";
import { CallError } from "../ipc/transport";
import { App } from "./App";

const fails = (): never => {
  throw new CallError("failed", "the store is busy");
};

it.each(["why", "tool_record", "led_here"] as const)(
  "a card says why %s could not be read, and does not leave it out",
  async (name) => {
    const FAR = 600_000;
    const answers = { [name]: fails };
    render(
      <App
        transport={fakeConsole({ rows: [row({ deadlineMs: FAR })], cards: [card({ deadlineMs: FAR })], answers })}
      />,
    );
    const body = await screen.findByTestId("card-body");
    const reported = await within(body).findByRole("alert");
    expect(reported.textContent).toBe("Could not be read: the store is busy");
    await waitFor(() => {
      expect(within(body).getAllByRole("alert")).toHaveLength(1);
    });
  },
);

const KEY = "acme/billing-bot/r1";
it.each<[string, string, keyof FakeConsole["answers"], FakeConsole["answers"]]>([
  ["card", "#/", "card", {}],
  ["story", `#/history/request?key=${encodeURIComponent(KEY)}`, "request_story", { request_story: () => story() }],
  [
    "tree",
    `#/traces/tree?key=${encodeURIComponent(KEY)}`,
    "trace_tree",
    { trace_tree: () => traceTree([traceLine({ look: "running", endMs: null })]), span: fails },
  ],
])(
  "a %s that could not be read again says so, and does not pass for what it is now",
  async (place, hash, name, answers) => {
    window.location.hash = hash;
    const console = fakeConsole({
      rows: [row({ deadlineMs: 600_000 })],
      cards: [card({ deadlineMs: 600_000 })],
      answers,
    });
    render(<App transport={console} />);
    await screen.findByTestId(place);
    expect(screen.queryByTestId("unread")).toBeNull();
    console.answers[name] = fails;
    act(() => {
      console.send(batch(1, [], { touched: [{ key: KEY, verdict: null, by: null, mine: false }] }));
    });
    expect((await screen.findByTestId("unread")).textContent).toBe("Could not be read: the store is busy");
    expect(screen.queryByTestId(place)).not.toBeNull();
  },
);

it("the inbox says that its list could not be read, and the status bar that the status could not be", async () => {
  const console = fakeConsole({ answers: { inbox_snapshot: fails } });
  render(<App transport={console} />);
  expect((await screen.findByTestId("unread")).textContent).toBe("Could not be read: the store is busy");
  console.answers.status = fails;
  // With the next beat.
  await waitFor(
    () => {
      expect(screen.getByTestId("connection").textContent).toBe("The status could not be read: the store is busy");
    },
    { timeout: 8_000 },
  );
});

it.each([
  ["the list is not read yet", { inbox_snapshot: () => new Promise<never>(() => {}) }, {}],
  ["the console still reads what the bus holds", {}, { status: status({ caughtUp: false }) }],
])("the inbox gives no number while %s", async (_, answers, more) => {
  window.location.hash = "#/";
  render(<App transport={fakeConsole({ answers, ...more })} />);
  await screen.findByText("Reading the waiting calls…");
  expect(screen.getByTestId("waiting").textContent).toBe("reading…");
  expect(screen.queryByTestId("empty")).toBeNull();
});
