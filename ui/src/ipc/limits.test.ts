import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { limited } from "./limits";
import { toCallError, type CallError, type CommandName } from "./transport";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const after = (ms: number): Promise<string> =>
  new Promise((done) => {
    setTimeout(() => {
      done("done");
    }, ms);
  });
const reported = async (name: CommandName | "subscribe", ms: number): Promise<string | CallError> => {
  const answer = limited(name, after(ms)).catch((thrown: unknown) => toCallError(thrown));
  await vi.advanceTimersByTimeAsync(Math.max(ms, 120_000));
  return answer;
};

describe("an answer", () => {
  it.each(["brake", "decide", "save_rule", "setup_save"] as const)(
    "of %s may take as long as the console itself waits for the past and for the bus",
    async (name) => {
      expect(await reported(name, 75_000)).toBe("done");
    },
  );

  it("that never comes is shown as such, and not as a lost console", async () => {
    expect(await reported("decide", 10_000_000)).toMatchObject({ code: "failed" });
  });

  it.each(["server_time", "status", "subscribe"] as const)(
    "of the heartbeat %s that does not come in 10 s means that the console is lost",
    async (name) => {
      expect(await reported(name, 9_900)).toBe("done");
      expect(await reported(name, 10_100)).toMatchObject({ code: "ipc_lost" });
    },
  );
});
