/** The Vercel AI SDK: version 6, and version 7 from Node 22 on. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { gateTools, settleApprovals, toolApproval } from "../../src/adapters/ai.js";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { SOON } from "../kit/until.js";
import { NEWER, OTHERS } from "../kit/node.js";
import { promises, SECRET, type Office } from "../kit/promises.js";

const VERSIONS = [...(OTHERS ? ["ai6"] : []), ...(NEWER ? ["ai"] : [])];
const bench = benchOfFile();

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

for (const version of VERSIONS) {
  const ai: any = await import(version);
  const { MockLanguageModelV3, MockLanguageModelV4 }: any = await import(`${version}/test`);
  const Model = version === "ai" ? MockLanguageModelV4 : MockLanguageModelV3;

  /** Calls `pay` with each of these in its first turn, then says done; `prompts` are what it read. */
  const modelOf = (calls: object[], prompts: any[]): any =>
    new Model({
      doGenerate: async ({ prompt }: any) => {
        prompts.push(prompt);
        const asks = !prompt.some((message: any) => message.role === "tool");
        return {
          content: asks
            ? calls.map((input, at) => ({
                type: "tool-call",
                toolCallId: `call_${at}_${JSON.stringify(input)}`,
                toolName: "pay",
                input: JSON.stringify(input),
              }))
            : [{ type: "text", text: "done" }],
          finishReason: { unified: asks ? "tool-calls" : "stop", raw: undefined },
          usage,
          warnings: [],
        };
      },
    });

  const payTool = (ran: unknown[], failing = false): any =>
    ai.tool({
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

  const office = (failing: boolean): Office => ({
    run: async (gate, calls, options) => {
      const [ran, prompts]: [unknown[], any[]] = [[], []];
      const tools = gateTools(gate, { pay: payTool(ran, failing) }, options);
      await ai.generateText({ model: modelOf(calls, prompts), tools, prompt: "pay Ada", stopWhen: ai.stepCountIs(3) });
      return { ran, read: read(prompts) };
    },
  });

  promises(
    `${version}: gateTools`,
    { framework: "ai", edits: true, notice: true, responds: true, reports: true, groups: true },
    office,
  );

  /** `generateText` until it asks, and again with the answers. */
  const settled = (failing: boolean): Office => ({
    run: async (gate, calls, { ask, unasked, ...options }) => {
      const [ran, prompts]: [unknown[], any[]] = [[], []];
      const asks = ask === undefined || ask.includes("p[a-c]y");
      const needs = asks && unasked?.[0] !== "pa?";
      const pay = payTool(ran, failing);
      const tools = { pay: version === "ai" ? pay : { ...pay, needsApproval: needs } };
      const approval = version === "ai" && needs ? { toolApproval: { pay: "user-approval" } } : {};
      const common = { model: modelOf(calls, prompts), tools, stopWhen: ai.stepCountIs(3), ...approval };
      const messages: any[] = [{ role: "user", content: "pay Ada" }];
      const first = await ai.generateText({ ...common, messages });
      messages.push(...first.response.messages);
      const answers = await settleApprovals(gate, first.content, {
        threadId: randomUUID(),
        tools,
        messages,
        ...options,
      });
      if (answers.content.length > 0) {
        messages.push(answers);
        await ai.generateText({ ...common, messages });
      }
      return { ran, read: read(prompts) };
    },
  });

  promises(
    `${version}: settleApprovals`,
    { framework: "ai", edits: false, notice: false, responds: false, reports: false, groups: true },
    settled,
  );

  if (version === "ai") {
    promises(
      "ai: toolApproval",
      {
        framework: "ai",
        edits: false,
        notice: false,
        responds: false,
        reports: false,
        groups: false,
        sequential: true,
      },
      (failing) => ({
        run: async (gate, calls, options) => {
          const [ran, prompts]: [unknown[], any[]] = [[], []];
          await ai.generateText({
            model: modelOf(calls, prompts),
            tools: { pay: payTool(ran, failing) },
            toolApproval: toolApproval(gate, options),
            prompt: "pay Ada",
            stopWhen: ai.stepCountIs(3),
          });
          return { ran, read: read(prompts) };
        },
      }),
    );
  }

  test(`${version}: an interrupted ask is found again by its thread and call`, async () => {
    const folder = bench().folderFor("pending");
    const gate = await bench().gate({ journal: folder });
    const [ran, prompts]: [unknown[], any[]] = [[], []];
    const run = (own: typeof gate): Promise<unknown> =>
      ai.generateText({
        model: modelOf([{ n: 1 }], prompts),
        tools: gateTools(own, { pay: payTool(ran) }, { threadId: "thread", timeout: SOON }),
        prompt: "pay",
        stopWhen: ai.stepCountIs(3),
      });
    const asked = new Asked(bench().console);
    const first = run(gate);
    const card = await asked.card(first);
    await gate.close();
    await first;
    expect(ran).toEqual([]);
    await bench().console.decide(card.request_id);
    await run(await bench().gate({ journal: folder }));
    expect(ran).toEqual([{ n: 1 }]);
    await asked.noneCame();
  });

  test(`${version}: a tool's own toModelOutput stays, behind the notice`, async () => {
    const gate = await bench().gate();
    const [ran, prompts]: [unknown[], any[]] = [[], []];
    const own = payTool(ran);
    own.toModelOutput = ({ output }: any) => ({ type: "content", value: [{ type: "text", text: `<${output}>` }] });
    const asked = new Asked(bench().console);
    const running = ai.generateText({
      model: modelOf([{ n: 1 }], prompts),
      tools: gateTools(gate, { pay: own }),
      prompt: "pay",
      stopWhen: ai.stepCountIs(3),
    });
    await bench().console.edit((await asked.card(running)).request_id, { n: 2 });
    await running;
    expect(read(prompts).join()).toMatch(/A person changed this call.*<paid 2>/);
  });

  test(`${version}: arguments that are no JSON ask nobody and run nothing`, async () => {
    const gate = await bench().gate();
    const [ran, prompts]: [unknown[], any[]] = [[], []];
    const own = { ...payTool(ran), inputSchema: z.object({ n: z.number().transform((n) => new Date(n)) }) };
    const asked = new Asked(bench().console);
    await ai.generateText({
      model: modelOf([{ n: 1 }], prompts),
      tools: gateTools(gate, { pay: own }),
      prompt: "pay",
      stopWhen: ai.stepCountIs(3),
    });
    expect(ran).toEqual([]);
    expect(read(prompts).join()).toContain("(wrong_type)");
    await asked.noneCame();
  });

  test(`${version}: tools that run elsewhere come back as they are`, async () => {
    const gate = await bench().gate();
    const elsewhere = { description: "x", inputSchema: z.object({}) };
    const given = { elsewhere, free: payTool([]) };
    const tools = gateTools(gate, given, { unasked: ["free"] });
    expect(tools.elsewhere).toBe(elsewhere);
    expect(tools.free).toBe(given.free);
    expect(() => gateTools(gate, given, { ask: "pay_*" as never })).toThrow("globs");
  });
}
