/** Mastra, which wants Node 22.13; its model is the AI SDK's mock. */
import { expect, test } from "vitest";
import { z } from "zod";
import { gateTools } from "../../src/adapters/mastra.js";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { SOON } from "../kit/until.js";
import { NEWER } from "../kit/node.js";
import { promises, SECRET, type Office } from "../kit/promises.js";

const bench = benchOfFile();

if (!NEWER) {
  test("Mastra wants Node 22.13", () => expect(process.versions.node).toMatch(/^20\./));
} else {
  const { Agent }: any = await import("@mastra/core/agent");
  const { createTool }: any = await import("@mastra/core/tools");
  const { MockLanguageModelV3 }: any = await import("ai6/test");

  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };

  const modelOf = (calls: object[], prompts: any[]): any =>
    new MockLanguageModelV3({
      doGenerate: async ({ prompt }: any) => {
        prompts.push(prompt);
        const asks = !prompt.some((message: any) => message.role === "tool");
        const content = calls.map((input, at) => ({
          type: "tool-call",
          toolCallId: `call_${at}`,
          toolName: "pay",
          input: JSON.stringify(input),
        }));
        return {
          content: asks ? content : [{ type: "text", text: "done" }],
          finishReason: { unified: asks ? "tool-calls" : "stop", raw: undefined },
          usage,
          warnings: [],
        };
      },
    });

  const payTool = (ran: unknown[], failing = false): any =>
    createTool({
      id: "pay",
      description: "Pays somebody",
      inputSchema: z.object({ n: z.number() }),
      execute: async (args: { n: number }) => {
        ran.push(args);
        if (failing) throw new Error(SECRET);
        return `paid ${args.n}`;
      },
    });

  const read = (prompts: any[]): string[] =>
    (prompts.at(-1) as any[])
      .filter((message) => message.role === "tool")
      .flatMap((message) => message.content)
      .map((part) => JSON.stringify(part.output ?? part));

  const run = async (
    gate: any,
    calls: object[],
    { thread, ...options }: any,
    ran: unknown[],
    failing = false,
  ): Promise<any[]> => {
    const prompts: any[] = [];
    const tools = gateTools(gate, { pay: payTool(ran, failing) }, options);
    const agent = new Agent({ id: "clerk", name: "clerk", instructions: "pay", model: modelOf(calls, prompts), tools });
    await agent.generate("pay Ada", { maxSteps: 3, memory: thread && { thread, resource: "Ada" } });
    return prompts;
  };

  promises(
    "mastra: gateTools",
    { framework: "mastra", edits: true, notice: false, responds: true, reports: true, groups: true },
    (failing): Office => ({
      run: async (gate, calls, options) => {
        const ran: unknown[] = [];
        const prompts = await run(gate, calls, options, ran, failing);
        return { ran, read: read(prompts) };
      },
    }),
  );

  test("an interrupted ask is found again by its thread and call", async () => {
    const folder = bench().folderFor("pending");
    const ran: unknown[] = [];
    const gate = await bench().gate({ journal: folder });
    const asked = new Asked(bench().console);
    const options = { thread: "thread", timeout: SOON };
    const first = run(gate, [{ n: 1 }], options, ran).catch(() => undefined);
    const card = await asked.card(first);
    await gate.close();
    await first;
    expect(ran).toEqual([]);
    await bench().console.decide(card.request_id);
    await run(await bench().gate({ journal: folder }), [{ n: 1 }], options, ran);
    expect(ran).toEqual([{ n: 1 }]);
    await asked.noneCame();
  });

  test("tools that do not ask come back as they are, and a copy is still a tool of Mastra", async () => {
    const gate = await bench().gate();
    const pay = payTool([]);
    const tools = gateTools(gate, { pay, free: pay }, { unasked: ["free"] });
    expect(tools.free).toBe(pay);
    expect(tools.pay).not.toBe(pay);
    expect(Object.getPrototypeOf(tools.pay)).toBe(Object.getPrototypeOf(pay));
    const asked = new Asked(bench().console);
    await asked.noneCame();
  });
}
