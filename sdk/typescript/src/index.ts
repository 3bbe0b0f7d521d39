/**
 * Ask a person before an agent's tool call runs. The TypeScript client of Countersign (protocol v1).
 *
 * Anything that goes wrong here means "do not run": every error is a `CountersignError`, none of them allows.
 */
export type { Degraded } from "./asking.js";
export type { Ask, Effective, Form, Introduction, Question, Span, ToolCall, ToolCallFields } from "./calls.js";
export type { AllowedDecision, Decision, RefusedDecision } from "./decision.js";
export { argsDigest, payloadDigest } from "./digest.js";
export { Enrolment } from "./enrolment.js";
export * from "./errors.js";
export { Gate, type AskOptions, type ConnectOptions } from "./gate.js";
export type { GuardOptions } from "./guard.js";
export type { ReceiptDetails } from "./letters.js";
export { editNotice, refusalText } from "./refusal.js";
export type { Answer, Effects, Risk, Stage, Verdict } from "./words.js";
