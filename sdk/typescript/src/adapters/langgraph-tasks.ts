/**
 * Interrupts whose answer could reach another tool: LangGraph has one interrupt id a task, and a ToolNode runs all calls
 * of its task at once.
 */
import { NotAllowedError } from "../errors.js";

/** A compiled graph, as far as it is read here. */
export interface AnyGraph {
  getState(config: object, options?: { subgraphs?: boolean }): Promise<unknown>;
  getSubgraphsAsync?(): AsyncIterable<[string, unknown]>;
  nodes?: object;
}

interface Task {
  name: string;
  interrupts: { id?: string }[];
  path?: unknown;
  state?: unknown;
}

export interface Snapshot {
  values: unknown;
  tasks: Task[];
}

interface Message {
  type?: string;
  tool_call_id?: string;
  tool_calls?: { id?: string; name: string }[];
}

/** Throws `NotAllowedError` where one of these interrupts was raised by a tool beside other calls of its task. */
export async function refuseAmbiguous(
  graph: Partial<AnyGraph>,
  state: Snapshot,
  asking: ReadonlySet<string>,
): Promise<void> {
  for (const task of state.tasks) {
    if (!task.interrupts.some(({ id }) => asking.has(id ?? ""))) continue;
    const inner = task.state as Snapshot | undefined;
    // A call of its own task, by `Send`, is alone there.
    const sent = Array.isArray(task.path) && task.path[0] === "__pregel_push";
    const names =
      sent || !isToolNode((graph.nodes as Record<string, unknown> | undefined)?.[task.name]) ? null : pending(state);
    if (names !== null && names.length !== 1) {
      const tools = names.length > 0 ? `the tools ${names.join(", ")} run` : "several tools may run";
      throw new NotAllowedError(
        `a question was not asked: ${tools} in one task of LangGraph, so the answer could reach another of them; ` +
          "give each call a task of its own (Send)",
        "deny",
      );
    }
    if (inner === undefined || !Array.isArray(inner.tasks)) continue;
    for await (const [name, subgraph] of graph.getSubgraphsAsync?.() ?? []) {
      if (name === task.name) await refuseAmbiguous(subgraph as Partial<AnyGraph>, inner, asking);
    }
  }
}

/** A ToolNode, also one with a configuration or in a sequence. */
function isToolNode(step: unknown, depth = 0): boolean {
  if (typeof step !== "object" || step === null || depth > 5) return false;
  if (step.constructor.name === "ToolNode") return true;
  const { bound, steps } = step as { bound?: unknown; steps?: unknown[] };
  return isToolNode(bound, depth + 1) || (Array.isArray(steps) && steps.some((one) => isToolNode(one, depth + 1)));
}

/** The tools of the model's last message that have no result yet. */
function pending(state: Snapshot): string[] {
  const messages = ((state.values as { messages?: Message[] } | null)?.messages ?? []) as Message[];
  const calls = messages.findLast(({ type }) => type === "ai")?.tool_calls ?? [];
  const done = new Set(messages.filter(({ type }) => type === "tool").map(({ tool_call_id }) => tool_call_id));
  return calls.filter(({ id }) => !done.has(id)).map(({ name }) => name);
}
