import { render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { operator } from "../../test/build";
import { fakeConsole } from "../../test/fakeTransport";
import { App } from "../app/App";
import type { ConnectHint } from "../ipc/generated";

describe("a command in a sentence", () => {
  it("is not drawn with the plain program before it is known how it begins here", async () => {
    window.location.hash = "#/operators";
    const asked: ((hint: ConnectHint) => void)[] = [];
    const console = fakeConsole({
      answers: {
        operators_list: () => ({
          operators: [operator({ key: "UWAIT", state: "waiting" })],
          approval: false,
          serverMs: 0,
        }),
        connect_hint: () => new Promise((answer) => asked.push(answer)),
      },
    });
    render(<App transport={console} />);
    const detail = await screen.findByTestId("operator");
    expect(detail.textContent).toContain("To accept the key, run ….");
    for (const answer of asked)
      answer({ natsUrl: "", agentJson: "", program: "/opt/countersign --data-dir /srv/desk", commands: [] });
    await waitFor(() => {
      expect(detail.textContent).toContain("run /opt/countersign --data-dir /srv/desk operators accept UWAIT.");
    });
  });
});
