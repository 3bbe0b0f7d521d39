/** A function that asks before it runs, and runs with the approved arguments and nothing else. */
import type { ToolCallFields } from "./calls.js";
import type { AllowedDecision } from "./decision.js";
import { ArgumentsChangedError, NotAllowedError } from "./errors.js";
import type { AskOptions, Gate } from "./gate.js";
import { isObject } from "./json.js";
import { kindOf } from "./notices.js";
import { refusalText } from "./refusal.js";
import { checkWords } from "./request.js";

/** What is said of every call of a guarded function, and how it is asked. */
export type GuardOptions = ToolCallFields & AskOptions;

/** What is guarded: a function of one object. */
export type Work<A, R> = (args: A) => R | Promise<R>;

/** What `Gate.guard` returns. Throws as `ask` does, and `NotAllowedError` unless the call may run. */
export function guarded<A extends object, R>(
  gate: Gate,
  name: string,
  options: GuardOptions,
  work: Work<A, R>,
): (args: A) => Promise<R> {
  checkWords({ ...options, name });
  const { timeout, key, signal, degraded, ...about } = options;
  return async (args) => {
    const decision = await gate.ask<A>({ ...about, name, args }, { timeout, key, signal, degraded });
    if (!decision.allowed) throw new NotAllowedError(refusalText(name, decision), decision.verdict, decision);
    if (!isObject(decision.args)) {
      gate.receiptLater(decision, "refused", { message: "invalid_args" });
      throw new ArgumentsChangedError(`${name} was not run: it takes one object of arguments`, "invalid_args");
    }
    return run(gate, decision, work);
  };
}

async function run<A, R>(gate: Gate, decision: AllowedDecision<A>, work: (args: A) => R | Promise<R>): Promise<R> {
  const executedArgsDigest = decision.argsDigest;
  try {
    const result = await work(structuredClone(decision.args));
    gate.receiptLater(decision, "executed", { executedArgsDigest });
    return result;
  } catch (error) {
    gate.receiptLater(decision, "failed", { executedArgsDigest, message: kindOf(error) });
    throw error;
  }
}
