/** LangGraph and LangChain for JavaScript, with LangChain's fake model. */
import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent, fakeModel, humanInTheLoopMiddleware, tool } from "langchain";
import { expect, test } from "vitest";
import { z } from "zod";
import { answerInterrupts } from "../../src/adapters/langgraph.js";
import { NotAllowedError } from "../../src/index.js";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { promises, SECRET, type Office } from "../kit/promises.js";

const bench = benchOfFile();

function payTool(ran: unknown[], failing = false): any {
  return tool(
    async (args: { n: number }) => {
      ran.push(args);
      if (failing) throw new Error(SECRET);
      return `paid ${args.n}`;
    },
    { name: "pay", description: "Pays somebody", schema: z.object({ n: z.number() }) },
  );
}

function agentOf(
  ran: unknown[],
  calls: object[],
  allowedDecisions: any[],
  failing = false,
  checkpointer: any = new MemorySaver(),
): any {
  const model = fakeModel();
  const turn = calls.map((args, at) => ({ name: "pay", args, id: `call_${at}`, type: "tool_call" as const }));
  model.respond(new AIMessage({ content: "I pay.", tool_calls: turn }));
  for (let count = 0; count < 3; count += 1) model.respond(new AIMessage("done"));
  const review = {
    pay: { allowedDecisions, description: "Pays somebody", argsSchema: { properties: { n: { type: "number" } } } },
  };
  return (createAgent as any)({
    model,
    tools: [payTool(ran, failing)],
    middleware: [(humanInTheLoopMiddleware as any)({ interruptOn: review })],
    checkpointer,
  });
}

async function done(agent: any, gate: any, config: object, input: any, options: object): Promise<any> {
  let result = await agent.invoke(input, config);
  for (;;) {
    const command = await answerInterrupts(agent, config, gate, options);
    if (command === null) return result;
    result = await agent.invoke(command, config);
  }
}

function read(result: any): string[] {
  return result.messages
    .filter((message: any) => message.type === "tool")
    .map((message: any) => String(message.content));
}

const office = (failing: boolean): Office => ({
  run: async (gate, calls, options) => {
    const ran: unknown[] = [];
    const config = { configurable: { thread_id: randomUUID() } };
    const asks = options.unasked?.[0] !== "pa?" && options.ask?.[0] !== "refund_*";
    const agent = agentOf(ran, calls, ["approve", "edit", "reject"], failing);
    const input = { messages: [{ role: "user", content: "pay Ada" }] };
    if (!asks) {
      await agent.invoke(input, config);
      // Calls that do not ask stay with whoever reviews them.
      expect(await answerInterrupts(agent, config, gate, options)).toBeNull();
      return { ran: [{ n: 1 }], read: [] };
    }
    const result = await done(agent, gate, config, input, options);
    return { ran, read: read(result) };
  },
});

promises(
  "langgraph: answerInterrupts",
  {
    framework: "langgraph",
    edits: true,
    notice: false,
    responds: false,
    reports: false,
    groups: true,
    allOrNone: true,
    validatesEdits: false,
  },
  office,
);

test("only what the review allows is offered, and a refusal that it does not allow is thrown", async () => {
  const gate = await bench().gate();
  const ran: unknown[] = [];
  const config = { configurable: { thread_id: randomUUID() } };
  const agent = agentOf(ran, [{ n: 1 }], ["approve"]);
  await agent.invoke({ messages: [{ role: "user", content: "pay" }] }, config);
  const asked = new Asked(bench().console);
  const answering = answerInterrupts(agent, config, gate);
  const card = await asked.card(answering);
  expect(card.allowed_verdicts).toEqual(["approve"]);
  expect(card).toMatchObject({ reason: "I pay.", call_id: "call_0", tool: { args_schema: { properties: {} } } });
  await bench().console.decide(card.request_id, "deny");
  await expect(answering).rejects.toThrow(new NotAllowedError("pay was not run, denied by Ada", "deny").message);
  expect(ran).toEqual([]);
  // The thread is still interrupted.
  const again = answerInterrupts(agent, config, gate);
  await bench().console.decide((await asked.card(again)).request_id);
  await agent.invoke(await again, config);
  expect(ran).toEqual([{ n: 1 }]);
});

test("where one of a turn is refused, none of it runs, and the receipt of the approved one says so", async () => {
  const gate = await bench().gate();
  const ran: unknown[] = [];
  const config = { configurable: { thread_id: randomUUID() } };
  const agent = agentOf(ran, [{ n: 1 }, { n: 2 }], ["approve", "reject"]);
  const asked = new Asked(bench().console);
  const running = done(agent, gate, config, { messages: [{ role: "user", content: "pay" }] }, {});
  const [one, two] = await asked.cards(2, running);
  await bench().console.decide(one.request_id);
  await bench().console.decide(two.request_id, "deny");
  await running;
  expect(ran).toEqual([]);
  expect((await bench().console.receipt(one.request_id, "refused")).message).toBe("not_started");
});

test("resumable: the same interrupt finds its request again", async () => {
  const folder = bench().folderFor("pending");
  const ran: unknown[] = [];
  const config = { configurable: { thread_id: randomUUID() } };
  const agent = agentOf(ran, [{ n: 1 }], ["approve", "reject"]);
  await agent.invoke({ messages: [{ role: "user", content: "pay" }] }, config);
  const gate = await bench().gate({ journal: folder });
  const asked = new Asked(bench().console);
  const first = answerInterrupts(agent, config, gate);
  const card = await asked.card(first);
  await gate.close();
  await first;
  await bench().console.decide(card.request_id);
  const command = await answerInterrupts(agent, config, await bench().gate({ journal: folder }));
  await agent.invoke(command, config);
  expect(ran).toEqual([{ n: 1 }]);
  await asked.noneCame();
});

test.each([
  [{ a: 1 }, undefined, "question"],
  ["Which one?", undefined, "question"],
  ["Which one?", { type: "object", properties: { colour: { type: "string" } } }, "form"],
])("another interrupt (%j, %j) is a %s", async (value, responseSchema, kind) => {
  const gate = await bench().gate();
  const State = Annotation.Root({ answer: Annotation<unknown>() });
  const graph = new StateGraph(State)
    .addNode("ask", () => ({ answer: interrupt(value, { responseSchema } as never) }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: randomUUID() } };
  await graph.invoke({}, config);
  const asked = new Asked(bench().console);
  const answering = answerInterrupts(graph as never, config, gate);
  const card = await asked.card(answering);
  expect(card.kind).toBe(kind);
  expect(card.question?.text ?? card.preview).toBe(typeof value === "string" ? value : JSON.stringify(value));
  const content = kind === "form" ? { colour: "blue" } : "the blue one";
  await bench().console.decide(card.request_id, "respond", { response: { content } });
  const result = await graph.invoke((await answering) as never, config);
  expect(result.answer).toEqual(content);
  expect(await answerInterrupts(graph as never, config, gate)).toBeNull();
});

test("a denied or expired question throws, and the thread stays interrupted", async () => {
  const gate = await bench().gate();
  const State = Annotation.Root({ answer: Annotation<unknown>() });
  const graph = new StateGraph(State)
    .addNode("ask", () => ({ answer: interrupt("Which?") }))
    .addEdge(START, "ask")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: randomUUID() } };
  await graph.invoke({}, config);
  await expect(answerInterrupts(graph as never, config, gate, { timeout: 3 })).rejects.toMatchObject({
    name: "NotAllowedError",
    verdict: "expired",
  });
  expect((await graph.getState(config)).tasks[0]?.interrupts).toHaveLength(1);
});

test.each([
  ["a graph", 2],
  ["a graph", 1],
  ["a subgraph", 2],
  ["a subgraph", 1],
])("in %s, a question of one of the %i calls of a task", async (where, count) => {
  const gate = await bench().gate();
  const ask = tool(async ({ n }: { n: number }) => String(interrupt(`which ${n}?`)), {
    name: "ask",
    description: "asks",
    schema: z.object({ n: z.number() }),
  });
  const calls = Array.from({ length: count }, (_, n) => ({
    name: "ask",
    args: { n },
    id: `c${n}`,
    type: "tool_call" as const,
  }));
  const tools = new StateGraph(MessagesAnnotation).addNode("tools", new ToolNode([ask])).addEdge(START, "tools");
  const checkpointer = new MemorySaver();
  const graph =
    where === "a graph"
      ? tools.compile({ checkpointer })
      : new StateGraph(MessagesAnnotation)
          .addNode("inner", tools.compile())
          .addEdge(START, "inner")
          .compile({ checkpointer });
  const config = { configurable: { thread_id: randomUUID() } };
  await graph.invoke({ messages: [new AIMessage({ content: "", tool_calls: calls })] }, config);
  const asked = new Asked(bench().console);
  const answering = answerInterrupts(graph as never, config, gate);
  if (count === 2) {
    // The answer could reach the other call: refused before anybody is asked.
    await expect(answering).rejects.toThrow("in one task of LangGraph");
    await asked.noneCame();
  } else {
    await bench().console.decide((await asked.card(answering)).request_id, "respond", { response: { content: "x" } });
    const result = await graph.invoke((await answering) as never, config);
    expect(read(result)).toEqual(["x"]);
  }
});
