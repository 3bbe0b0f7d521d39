/** Claude Code's questions to its user as a form, and the answers as it takes them. */
import { isObject, member } from "../json.js";

export const QUESTIONS = "AskUserQuestion";
/** Behind a question's text: the name of the field beside its options. */
const OWN_WORDS = " (own words)";

interface Option {
  label: string;
  description?: unknown;
}

interface Question {
  question: string;
  header?: unknown;
  options: Option[];
  multiSelect?: unknown;
}

/** Title and schema of the form, as `countersign hook` makes them. Throws `TypeError` for what cannot be read. */
export function questionForm(args: unknown): { title: string; schema: object } {
  const fields: Record<string, object> = {};
  const headers: string[] = [];
  for (const { question, header, options, multiSelect } of questionsOf(args)) {
    const labels = options.map(({ label }) => label);
    if (question in fields || question + OWN_WORDS in fields) throw new TypeError("its questions cannot be read");
    const one = { type: "string", enum: labels };
    const described = options.filter(({ description }) => typeof description === "string");
    const description = described.map(({ label, description: text }) => `${label}: ${String(text)}`).join("\n");
    const choice = multiSelect === true ? { type: "array", items: one, uniqueItems: true } : one;
    fields[question] = { ...choice, description };
    fields[question + OWN_WORDS] = { type: "string", title: "Other answer", maxLength: 2000 };
    headers.push(typeof header === "string" ? header : question);
  }
  const schema = { type: "object", properties: fields, additionalProperties: false };
  return { title: `Claude Code asks: ${headers.join(", ")}`, schema };
}

/** The arguments with what was answered; null where nothing was. */
export function answeredQuestions(args: unknown, content: unknown): object | null {
  const answers: Record<string, string> = {};
  for (const { question } of questionsOf(args)) {
    const chosen = member(content, question);
    const words = [...(Array.isArray(chosen) ? chosen : [chosen]), member(content, question + OWN_WORDS)];
    const said = words.filter((word): word is string => typeof word === "string" && word.trim() !== "");
    if (said.length > 0) answers[question] = said.join(", ");
  }
  return Object.keys(answers).length > 0 ? { ...(args as object), answers } : null;
}

function questionsOf(args: unknown): Question[] {
  const questions = member(args, "questions");
  if (!Array.isArray(questions) || questions.length === 0 || !questions.every(isReadable)) {
    throw new TypeError("its questions cannot be read");
  }
  return questions as unknown as Question[];
}

function isReadable(one: unknown): boolean {
  const options = member(one, "options");
  if (typeof member(one, "question") !== "string" || !Array.isArray(options) || options.length === 0) return false;
  return options.every((option) => isObject(option) && typeof option["label"] === "string");
}
