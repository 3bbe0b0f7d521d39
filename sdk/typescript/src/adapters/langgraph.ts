/** The gate of LangGraph's interrupts (integrations, section 6). */
import { Command } from "@langchain/langgraph";

import type { Ask, ToolCall } from "../calls.js";
import type { Decision } from "../decision.js";
import { NotAllowedError } from "../errors.js";
import type { Gate } from "../gate.js";
import { responseText } from "../refusal.js";
import type { Verdict } from "../words.js";
import {
  GatedCall,
  group,
  jsonOf,
  lastMessages,
  Selection,
  textOf,
  unreported,
  type Answer,
  type Common,
} from "./gating.js";
import { refuseAmbiguous, type AnyGraph, type Snapshot } from "./langgraph-tasks.js";

export type { Common } from "./gating.js";

/** What the framework's decisions are to a person. */
const VERDICTS = new Map<string, readonly Verdict[]>([
  ["approve", ["approve"]],
  ["edit", ["modify"]],
  ["reject", ["deny", "skip"]],
]);

interface Interrupt {
  id?: string;
  value?: unknown;
  response_schema?: unknown;
}

/** What `humanInTheLoopMiddleware` asks. */
interface Review {
  actionRequests: { name: string; args: unknown; description?: string }[];
  reviewConfigs: { allowedDecisions: string[]; argsSchema?: object }[];
}

/** Messages of LangChain, as far as they are read here. */
interface Message {
  type?: string;
  content?: unknown;
  tool_calls?: { id?: string; name: string; args: unknown }[];
}

interface Card {
  readonly call: Ask;
  readonly name: string;
  readonly key: string;
  readonly allowed: readonly string[];
}

/** The cards of one interrupt. */
interface Waiting {
  readonly id: string;
  readonly review: boolean;
  readonly cards: readonly Card[];
}

/**
 * Asks about every interrupt of the thread at once. The command that resumes the graph; null where nothing waits.
 *
 * Resumable on a gate with a journal. Throws `NotAllowedError` for a question that got no answer, and, before anybody is
 * asked, for a question of a tool that runs beside others in one task: nothing is sent then, and the thread stays
 * interrupted.
 */
export async function answerInterrupts(
  graph: AnyGraph,
  config: { configurable?: Record<string, unknown> },
  gate: Gate,
  common: Common = {},
): Promise<Command | null> {
  const selection = new Selection(common);
  const state = (await graph.getState(config, { subgraphs: true })) as Snapshot;
  const threadId = String(config.configurable?.["thread_id"]);
  const found = state.tasks.flatMap(({ interrupts }) => interrupts as Interrupt[]);
  const waiting = found.map((one) => waitingOf(one, state, threadId, selection)).filter((one) => one !== null);
  await refuseAmbiguous(graph, state, new Set(waiting.map(({ id }) => id)));
  const asked = waiting.map(({ cards }) =>
    cards.map(({ call, name, key }) => {
      return new GatedCall(gate, call, name, { timeout: selection.timeout, key, degraded });
    }),
  );
  const answers = await Promise.all(asked.map((calls) => Promise.all(calls.map((call) => call.ask()))));
  try {
    const resumes = waiting.map((one, at) => [one.id, resumeOf(one, answers[at] ?? [], asked[at] ?? [])] as const);
    return resumes.length > 0 ? new Command({ resume: Object.fromEntries(resumes) }) : null;
  } catch (error) {
    for (const call of asked.flat()) if (call.answer?.allowed) call.refused("not_started");
    throw error;
  }
}

/** What a person is asked for this interrupt; null where it is about calls that do not ask. */
function waitingOf(interrupt: Interrupt, state: Snapshot, threadId: string, selection: Selection): Waiting | null {
  const { id = "", value, response_schema: schema } = interrupt;
  const messages = ((state.values as { messages?: Message[] } | null)?.messages ?? []) as Message[];
  const said = messages.map(({ type, content }): [string, unknown] => [ROLES.get(type ?? "") ?? String(type), content]);
  const last = messages.findLast(({ type }) => type === "ai");
  const common = {
    threadId,
    agent: { framework: "langgraph" },
    reason: textOf(last?.content) || undefined,
    history: lastMessages(said),
  };
  const key = `${threadId}/${id}`;
  if (!isReview(value)) {
    const text = typeof value === "string" ? value : jsonOf(value);
    const call: Ask =
      typeof schema === "object" && schema !== null
        ? { kind: "form", responseSchema: schema, preview: text, ...common }
        : { kind: "question", text, ...common };
    return { id, review: false, cards: [{ call, name: "question", key: `${key}/0`, allowed: [] }] };
  }
  const { actionRequests, reviewConfigs } = value;
  if (!actionRequests.some(({ name }) => selection.asks(name))) return null;
  const turn = [...(last?.tool_calls ?? [])];
  const cards = actionRequests.map(({ name, args, description }, index): Card => {
    const { allowedDecisions = [], argsSchema } = reviewConfigs[index] ?? {};
    const at = turn.findIndex((call) => call.name === name && jsonOf(call.args) === jsonOf(args));
    const [called] = at < 0 ? [] : turn.splice(at, 1);
    const call: ToolCall = {
      name,
      args,
      argsSchema,
      description,
      effects: selection.effects(name),
      risk: selection.risk(name),
      allowedVerdicts: allowedDecisions.flatMap((word) => VERDICTS.get(word) ?? []),
      callId: called?.id,
      group: group(id, index, actionRequests.length),
      ...common,
    };
    return { call, name, key: `${key}/${index}`, allowed: allowedDecisions };
  });
  return { id, review: true, cards };
}

/** The middleware puts an edit in the place of the model's own call, and nobody says what became of it. */
function degraded(decision: Decision): string[] | null {
  const edited = decision.verdict === "modify" ? ["edit_notice"] : [];
  const found = [...edited, ...(unreported(decision) ?? [])];
  return found.length > 0 ? found : null;
}

const ROLES = new Map([
  ["human", "user"],
  ["ai", "assistant"],
]);

function isReview(value: unknown): value is Review {
  const found = value as Partial<Review> | null | undefined;
  return Array.isArray(found?.actionRequests) && Array.isArray(found.reviewConfigs);
}

/** The value that resumes the interrupt. Throws `NotAllowedError` where there is none. */
function resumeOf(waiting: Waiting, answers: readonly Answer[], asked: readonly GatedCall[]): unknown {
  if (!waiting.review) {
    const [answer] = answers;
    if (answer?.verdict === "respond" && answer.decision !== null) {
      return answer.decision.response?.content ?? responseText(answer.decision);
    }
    throw refused(answer);
  }
  const decisions = answers.map((answer, index) => {
    const { name = "", allowed = [] } = waiting.cards[index] ?? {};
    if (answer.verdict === "modify") return { type: "edit", editedAction: { name, args: answer.args } };
    if (answer.allowed) return { type: "approve" };
    if (allowed.includes("reject")) return { type: "reject", message: answer.words };
    throw refused(answer);
  });
  // Where one of them is a reject, langchain runs none of that turn.
  const none = decisions.some(({ type }) => type === "reject");
  for (const call of none ? asked : []) if (call.answer?.allowed) call.refused("not_started");
  return { decisions };
}

function refused(answer: Answer | undefined): NotAllowedError {
  return new NotAllowedError(answer?.words ?? "", answer?.decision?.verdict ?? "deny", answer?.decision ?? null);
}
