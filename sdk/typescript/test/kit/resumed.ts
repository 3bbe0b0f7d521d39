/** A program that is killed while its call waits, and started again: `resumed FRAMEWORK AGENT_JSON FOLDER`. */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { z } from "zod";
import { Gate } from "../../src/index.js";

const [framework, agentJson = "", folder = ""] = process.argv.slice(2);
const gate = await Gate.connect(agentJson, { journal: `${folder}/pending`, connectTimeout: 120 });
const kept = `${folder}/kept`;
const schema = z.object({ n: z.number() });
const pay = async ({ n }: { n: number }): Promise<string> => {
  appendFileSync(`${folder}/ran`, `${n}\n`);
  return "paid";
};

function keep(text: string | Uint8Array): void {
  writeFileSync(`${kept}.new`, text);
  renameSync(`${kept}.new`, kept);
}

async function modelOf(): Promise<any> {
  const { MockLanguageModelV3 } = await import("ai6/test");
  const usage: any = { inputTokens: {}, outputTokens: {} };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }: any) => {
      const asks = !prompt.some((message: any) => message.role === "tool");
      const call = { type: "tool-call", toolCallId: "a", toolName: "pay", input: '{"n":1}' };
      const content: any = [asks ? call : { type: "text", text: "done" }];
      return {
        content,
        finishReason: { unified: asks ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      } as any;
    },
  });
}

if (framework === "openai-agents") {
  const { Agent, Runner, RunState, setTracingDisabled, tool } = await import("@openai/agents");
  const { ScriptedModel, assistantMessage, functionCall } = await import("@openai/agents-core/testing");
  const { run } = await import("../../src/adapters/openai-agents.js");
  setTracingDisabled(true);
  const turns: any[] = existsSync(kept) ? [] : [[functionCall("pay", { n: 1 } as never, { callId: "a" })]];
  const model: any = new ScriptedModel([...turns, [assistantMessage("done")]]);
  const tools = [tool({ name: "pay", description: "Pays", parameters: schema, needsApproval: true, execute: pay })];
  const agent: any = new Agent({ name: "clerk", model, tools });
  if (!existsSync(kept)) keep((await new Runner().run(agent, "pay")).state.toString());
  const state: any = await RunState.fromString(agent, readFileSync(kept, "utf8"));
  await run(agent, state, { gate, threadId: "t" });
} else if (framework === "langgraph") {
  const { AIMessage } = await import("@langchain/core/messages");
  const { MemorySaver } = await import("@langchain/langgraph");
  const { createAgent, fakeModel, humanInTheLoopMiddleware, tool }: any = await import("langchain");
  const { answerInterrupts } = await import("../../src/adapters/langgraph.js");
  const checkpointer = new MemorySaver();
  const model = fakeModel();
  if (existsSync(kept)) Object.assign(checkpointer, deserialize(readFileSync(kept)));
  else model.respond(new AIMessage({ content: "", tool_calls: [{ name: "pay", args: { n: 1 }, id: "a" }] }));
  model.respond(new AIMessage("done"));
  const tools = [tool(pay, { name: "pay", description: "Pays", schema })];
  const review = humanInTheLoopMiddleware({ interruptOn: { pay: { allowedDecisions: ["approve", "reject"] } } });
  const agent = createAgent({ model, tools, middleware: [review], checkpointer });
  const config = { configurable: { thread_id: "t" } };
  if (!existsSync(kept)) {
    await agent.invoke({ messages: [{ role: "user", content: "pay" }] }, config);
    const { storage, writes } = checkpointer;
    keep(serialize({ storage, writes }));
  }
  const command = await answerInterrupts(agent, config, gate);
  await agent.invoke(command, config);
} else if (framework === "mastra") {
  const { Agent }: any = await import("@mastra/core/agent");
  const { createTool }: any = await import("@mastra/core/tools");
  const { gateTools } = await import("../../src/adapters/mastra.js");
  const model = await modelOf();
  const tools = gateTools(gate, { pay: createTool({ id: "pay", description: "", inputSchema: schema, execute: pay }) });
  const agent = new Agent({ id: "clerk", name: "clerk", instructions: "pay", model, tools });
  await agent.generate("pay", { maxSteps: 3, memory: { thread: "t", resource: "Ada" } });
} else {
  const { generateText, tool, stepCountIs } = await import("ai6");
  const { settleApprovals } = await import("../../src/adapters/ai.js");
  const model = await modelOf();
  const tools = { pay: tool({ description: "Pays", inputSchema: schema, needsApproval: true, execute: pay }) };
  const common: any = { model, tools, stopWhen: stepCountIs(3) };
  if (!existsSync(kept)) {
    const messages = [{ role: "user", content: "pay" }];
    const { response, content } = await generateText({ ...common, messages });
    keep(JSON.stringify({ content, messages: [...messages, ...response.messages] }));
  }
  const { content, messages } = JSON.parse(readFileSync(kept, "utf8"));
  const answer = await settleApprovals(gate, content, { threadId: "t", tools, messages });
  await generateText({ ...common, messages: [...messages, answer] });
}
await gate.close();
