/** The protocol's words that an agent says and hears (sections 2, 5 and 6). */
import { createHash } from "node:crypto";

import { InvalidRequestError } from "./errors.js";

/** From the lowest to the highest. */
export const RISKS = ["safe", "low", "medium", "high", "critical"] as const;
export type Risk = (typeof RISKS)[number];

/** What a tool does to the world. */
export type Effects = "read" | "write" | "irreversible" | "unknown";

/** What an operator may answer. */
export type Verdict = "approve" | "modify" | "deny" | "skip" | "respond" | "escalate" | "terminate";

/** What an agent may hear: a verdict, or a word of the system. */
export type Answer = Verdict | "expired" | "withdrawn" | "rejected";

/** How far an agent got with a decision. */
export const STAGES = ["received", "executed", "failed", "refused"] as const;
export type Stage = (typeof STAGES)[number];

/** Grammar of workspace and agent names. */
export const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** The risk by which a request is judged: a word that is not known is `critical`. */
export function effectiveRisk(word: unknown): Risk {
  return RISKS.find((risk) => risk === word) ?? "critical";
}

/**
 * A tool's name as requests and hellos spell it, the same in every SDK: itself where it is 1 to 64 of
 * `A-Z a-z 0-9 _ . -`, else what of it is, and 8 hexadecimal digits of its SHA-256.
 */
export function toolSlug(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(name)) return name;
  const plain = name
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 55);
  return `${plain || "tool"}-${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}

/** Throws `InvalidRequestError` (`wrong_type`) unless it is a stage: a console sets another one aside. */
export function checkStage(word: unknown): asserts word is Stage {
  if (!STAGES.some((stage) => stage === word)) {
    const given = JSON.stringify(word);
    throw new InvalidRequestError(
      `the stage of a receipt is ${given}; it has to be one of ${STAGES.join(", ")}`,
      "wrong_type",
    );
  }
}
