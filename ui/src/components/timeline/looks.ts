/** How a line of a call tree is drawn and named. Never by colour alone: each look has a word. */
import type { LineKind, LineLook, LineRepair, TraceLine } from "../../ipc/generated";
import { plainText } from "../shown";
import { formatDuration } from "./scale";

const FILL: Record<LineLook, string> = {
  running: "bar bar-run",
  waiting: "bar bar-wait",
  ok: "bar",
  ended: "bar",
  error: "bar bar-bad",
  denied: "bar bar-none border-bad",
  timeout: "bar bar-none border-warn",
  cancelled: "bar bar-none border-text-3",
  incomplete: "bar bar-part",
  unfinished: "bar bar-none border-text-3",
};

/** The classes of a line's bar. */
export const barOf = (line: Pick<TraceLine, "look" | "kind">): string => {
  const plain = line.look === "ok" || line.look === "ended" || line.look === "running";
  if (line.kind === "approval" || line.kind === "request") return plain ? "bar bar-wait" : FILL[line.look];
  return plain && (line.kind === "llm" || line.kind === "embedding") ? `${FILL[line.look]} bar-llm` : FILL[line.look];
};

const WORD: Record<LineLook, string | null> = {
  running: "running",
  waiting: "waiting",
  ok: null,
  ended: null,
  error: "failed",
  denied: "denied",
  timeout: "timed out",
  cancelled: "cancelled",
  incomplete: "incomplete",
  unfinished: "no end",
};

const CODE_FITS = 9;

/** What the last column says: how it went, else how long it took. */
export const outcomeOf = (line: TraceLine): string => {
  const code = line.look === "error" && line.code !== null ? plainText(line.code) : "";
  // A name too long for its place says less than the word; the span's own page has it.
  const word = code !== "" && code.length <= CODE_FITS ? code : WORD[line.look];
  return word ?? formatDuration((line.endMs ?? line.startMs) - line.startMs);
};

const LOOK_WORDS: Record<LineLook, string> = {
  running: "running",
  waiting: "waiting",
  ok: "succeeded",
  ended: "ended, result not reported",
  error: "failed",
  denied: "was denied",
  timeout: "timed out",
  cancelled: "was cancelled",
  incomplete: "was stopped before its end",
  unfinished: "never ended, although its parent did: its agent may have crashed",
};

/** The state of a line, in words; what it waits for where that is known. */
export const standingOf = ({ look, wait, subchats }: Pick<TraceLine, "look" | "wait" | "subchats">): string => {
  if (look !== "waiting") return LOOK_WORDS[look];
  if (wait !== null && wait.verdict === null) return "waits for a decision";
  return subchats === 0 ? LOOK_WORDS.waiting : `waits for ${subchats} ${subchats === 1 ? "subchat" : "subchats"}`;
};

export const KIND_WORDS: Record<LineKind, string> = {
  tool: "tool",
  llm: "llm",
  agent: "agent",
  subchat: "subchat",
  chain: "chain",
  retriever: "retriever",
  embedding: "embedding",
  approval: "approval",
  request: "request",
};

export const REPAIR_WORDS: Record<LineRepair, string> = {
  parent_missing: "Its parent is not known here.",
  parent_of_another_agent: "Another agent wrote its parent.",
  loop: "It is its own ancestor; the loop is cut here.",
  ends_before_start: "It ends before it starts; it is drawn without length.",
  too_deep: "It is nested too deep to draw.",
};

/** Whether a person should look at it. */
export const isTrouble = (look: LineLook): boolean =>
  look === "error" || look === "denied" || look === "timeout" || look === "incomplete" || look === "unfinished";
