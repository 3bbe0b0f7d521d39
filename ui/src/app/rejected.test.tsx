import { act, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { batch, shown, status } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { App } from "./App";

const pause = (ms: number): Promise<void> =>
  new Promise((done) => {
    setTimeout(done, ms);
  });

it("rejected messages are listed while they never cease to come", async () => {
  window.location.hash = "#/rejected";
  const console = fakeConsole({
    answers: {
      rejected_list: () => ({ rows: [], next: null }),
      rejected_detail: () => {
        throw new Error("not looked at");
      },
    },
  });
  render(<App transport={console} />);
  await screen.findByText("No message was rejected.");
  console.answers.rejected_list = async () => {
    await pause(300);
    return { rows: [{ key: "rejected:1", atMs: 0, code: "not_json", detail: shown("no"), subject: null }], next: null };
  };
  for (let number = 1; number <= 15; number += 1) {
    act(() => {
      console.send(batch(number, [], { status: status({ rejected: number }) }));
    });
    // oxlint-disable-next-line no-await-in-loop -- one after the other, each before the reading for the first has ended
    await act(() => pause(100));
  }
  expect(screen.queryAllByTestId("rejected-row")).toHaveLength(1);
});
