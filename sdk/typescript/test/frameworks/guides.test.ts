/** The guides' examples as a reader runs them, and what `tsc --strict` says of each. */
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, readdirSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { guide } from "../kit/guide.js";
import { ModelServer } from "../kit/model-server.js";
import { NEWER, OTHERS } from "../kit/node.js";

const bench = benchOfFile();

/** The example's card is answered; what it printed, line by line. */
async function answered(
  name: string,
  verdict: string,
  tool: string,
  env = {},
  folder = bench().folderFor("guide"),
): Promise<string[]> {
  const asked = new Asked(bench().console);
  const working = guide(name, bench().file(), folder, env);
  const card = await asked.card(working);
  expect(card).toMatchObject({ tool: { name: tool }, risk: "high" });
  await bench().console.decide(card.request_id, verdict, verdict === "deny" ? { message: "too early" } : {});
  return (await working).trim().split("\n");
}

if (NEWER) {
  test.each(["approve", "deny"])("ai: %s", async (verdict) => {
    const refused = "NotAllowedError: deleteInvoice was not run, denied by Ada: too early";
    const first = verdict === "approve" ? "deleting INV-42" : refused;
    expect(await answered("ai", verdict, "deleteInvoice")).toEqual([first, "It is done."]);
  });

  test.each(["approve", "deny"])("mastra: %s", async (verdict) => {
    const deleted = verdict === "approve" ? ["deleting INV-42"] : [];
    const printed = await answered("mastra", verdict, "deleteInvoice");
    expect(printed.filter((line) => /^deleting|done/.test(line))).toEqual([...deleted, "It is done."]);
  });
}

if (OTHERS) {
  test.each(["approve", "deny"])("langgraph-js: %s", async (verdict) => {
    const printed = await answered("langgraph-js", verdict, "delete_invoice");
    const words = "tool: delete_invoice was not run, denied by Ada: too early";
    expect(printed).toContain("tool: INV-42: 120 EUR, unpaid");
    expect(printed).toContain(verdict === "approve" ? "tool: deleted INV-42" : words);
    expect(printed.includes("deleting INV-42")).toBe(verdict === "approve");
  });

  test.each(["approve", "deny"])("openai-agents-js: %s", async (verdict) => {
    const call = (name: string) => ({
      type: "function_call",
      call_id: name,
      name,
      arguments: '{"invoiceId":"INV-42"}',
    });
    const said = {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "It is done.", annotations: [] }],
    };
    const turns: object[] = [call("lookup_invoice"), call("delete_invoice"), said];
    let read = "";
    const server = createServer((request, response) => {
      let text = "";
      request.on("data", (data) => (text += data));
      request.on("end", () => {
        read = text;
        const output = [{ id: `item_${turns.length}`, status: "completed", ...turns.shift() }];
        const about = { id: "resp", object: "response", created_at: 0, status: "completed", model: "m", tools: [] };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ ...about, output, parallel_tool_calls: true, tool_choice: "auto" }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const env = { OPENAI_BASE_URL: url, OPENAI_API_KEY: "none", OPENAI_AGENTS_DISABLE_TRACING: "1" };
    const deleted = verdict === "approve" ? ["deleting INV-42"] : [];
    expect(await answered("openai-agents-js", verdict, "delete_invoice", env)).toEqual([...deleted, "It is done."]);
    expect(read).toContain(
      verdict === "approve" ? "deleted INV-42" : "delete_invoice was not run, denied by Ada: too early",
    );
    server.closeAllConnections();
    server.close();
  });

  test.each(["approve", "deny"])("claude-agent-sdk-ts: %s", async (verdict) => {
    const folder = bench().folderFor("claude");
    const [home, work] = [`${folder}/home`, `${folder}/office`];
    for (const made of [home, work]) mkdirSync(made);
    const command = { command: "touch report.txt", description: "makes the file" };
    const model = await new ModelServer([["Bash", command]], "It is done.").start();
    const env = {
      HOME: home,
      CLAUDE_CONFIG_DIR: `${home}/.claude`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      ANTHROPIC_BASE_URL: model.address,
      ANTHROPIC_API_KEY: "none",
    };
    try {
      expect(await answered("claude-agent-sdk-ts", verdict, "Bash", env, work)).toEqual(["It is done."]);
      expect(readdirSync(work)).toEqual(verdict === "approve" ? ["report.txt"] : []);
      expect(model.results().join().includes("denied by Ada: too early")).toBe(verdict === "deny");
    } finally {
      model.stop();
    }
  });
}

test("the examples' types check strictly", async () => {
  const others = ["openai-agents-js", "claude-agent-sdk-ts", "langgraph-js"];
  const names = [...(OTHERS ? others : []), ...(NEWER ? ["ai", "mastra"] : [])];
  const files = names.map((name) => `test/.guides/${name}-${process.pid}.ts`);
  const options = [
    "--ignoreConfig",
    "--strict",
    "--noEmit",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    ...files,
  ];
  await promisify(execFile)("node_modules/.bin/tsc", options).catch((error) => {
    throw new Error(error.stdout);
  });
});
