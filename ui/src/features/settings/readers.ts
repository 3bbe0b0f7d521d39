import type { ReaderFound } from "../../ipc/generated";

/** The query of what the second reader is and did. */
export const READER = ["reader"];

const NAMES: Record<string, string> = { "claude-code": "Claude Code", ollama: "Ollama", "lm-studio": "LM Studio" };

export const nameOf = (reader: ReaderFound): string => NAMES[reader.name] ?? reader.name;
