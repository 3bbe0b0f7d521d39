/** The Claude Agent SDK before the real Claude Code; the model is played. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { beforeAll, expect, test } from "vitest";
import { argsDigest, type Gate } from "../../src/index.js";
import { claudeGate, type Common } from "../../src/adapters/claude-agent-sdk.js";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { SOON } from "../kit/until.js";
import { ModelServer, type Turn } from "../kit/model-server.js";

const bench = benchOfFile();
let gate: Gate;

beforeAll(async () => {
  gate = await bench().gate();
});

const bash = (command: string): Turn => [["Bash", { command, description: "does it" }]];

interface Outcome {
  read: string[];
  made: string[];
  last: string;
}

/** One run of Claude Code, with settings and a home of its own. */
async function session(turns: Turn[], common: Common = {}, options: object = {}, own: Gate = gate): Promise<Outcome> {
  const folder = bench().folderFor("claude");
  const [home, work] = [`${folder}/home`, `${folder}/office`];
  for (const made of [home, work]) mkdirSync(made);
  const model = await new ModelServer(...turns).start();
  async function* prompt(): AsyncGenerator<any> {
    yield { type: "user", message: { role: "user", content: "go" }, parent_tool_use_id: null, session_id: "" };
  }
  try {
    const running = query({
      prompt: prompt(),
      options: {
        cwd: work,
        model: "claude-sonnet-4-5",
        settingSources: [],
        env: {
          PATH: process.env["PATH"],
          HOME: home,
          CLAUDE_CONFIG_DIR: `${home}/.claude`,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
          ANTHROPIC_BASE_URL: model.address,
          ANTHROPIC_API_KEY: "none",
        },
        ...claudeGate(own, { timeout: SOON, ...common }),
        ...options,
      },
    });
    for await (const _ of running) void _;
  } finally {
    model.stop();
  }
  return { read: model.results(), made: readdirSync(work), last: JSON.stringify(model.asked.at(-1)) };
}

test("approve, modify, deny, and a rule whose call fails", async () => {
  const { console } = bench();
  const asked = new Asked(console);
  const working = session([bash("touch one"), bash("touch two"), bash("touch three"), bash("ls no-such-file")], {
    risks: { Bash: "high" },
    effects: { "*": "write" },
  });
  const one = await asked.card(working);
  expect(one).toMatchObject({
    tool: { name: "Bash", effects: "write" },
    args: { command: "touch one" },
    reason: "does it",
    risk: "high",
    allowed_verdicts: ["approve", "modify", "deny", "skip", "terminate"],
    agent: { framework: "claude-agent-sdk" },
  });
  expect(one.call_id).toMatch(/^toolu_/);
  expect(one.native.cwd).toContain("office");
  await console.decide(one.request_id);
  const two = await asked.card(working);
  expect(two.thread_id).toBe(one.thread_id);
  const edited = { ...two.args, command: "touch edited" };
  await console.edit(two.request_id, edited);
  const three = await asked.card(working);
  await console.decide(three.request_id, "deny", { message: "not that one" });
  const four = await asked.card(working);
  await console.byRule(four.request_id);
  const { made, read, last } = await working;
  expect(made.toSorted()).toEqual(["edited", "one"]);
  expect(read[2]).toContain("Bash was not run, denied by Ada: not that one");
  expect(last.replaceAll("\\", "")).toContain("A person changed this call before it ran.");
  expect((await console.receipt(one.request_id, "executed")).executed_args_digest).toBe(argsDigest(one.args));
  expect((await console.receipt(two.request_id, "executed")).executed_args_digest).toBe(argsDigest(edited));
  expect((await console.receipt(four.request_id, "failed")).message).toBe("tool_error");
  await asked.span(one, "ok");
  await asked.span(three, "denied");
  await asked.span(four, "error");
});

test("a tool that fails: no secret is anywhere", async () => {
  const { console, agentKey } = bench();
  const asked = new Asked(console);
  const working = session([bash("cat secret-place/*; echo hunter2; exit 3")]);
  const card = await asked.card(working);
  await console.edit(card.request_id, { ...card.args, command: "echo $((1300 + 37)); exit 3" });
  expect((await working).last).toContain("1337");
  expect((await console.receipt(card.request_id, "failed")).message).toBe("tool_error");
  const sent = ["receipt", "hello", "event", "alive"].flatMap((kind) => console.of(kind).map(({ payload }) => payload));
  expect(Buffer.concat(sent).includes("1337")).toBe(false);
  const all = [...sent, ...console.of("request").map(({ payload }) => payload)];
  expect(Buffer.concat(all).includes(agentKey.seed)).toBe(false);
});

test("skip and terminate", async () => {
  const asked = new Asked(bench().console);
  const working = session([bash("touch one"), bash("touch two"), bash("touch three")]);
  await bench().console.decide((await asked.card(working)).request_id, "skip");
  await bench().console.decide((await asked.card(working)).request_id, "terminate");
  expect((await working).made).toEqual([]);
  await asked.noneCame();
});

test("nobody answers, a forgery, an unknown verdict", async () => {
  const asked = new Asked(bench().console);
  const working = session([bash("touch one"), bash("touch two"), bash("touch three")], { timeout: 12 });
  await asked.card(working);
  const forged = await asked.card(working);
  await asked.forge(forged);
  await bench().console.decide((await asked.card(working)).request_id, "nod");
  const { made, read } = await working;
  expect(made).toEqual([]);
  expect(read[0]).toContain("expired: nobody answered in time");
  expect(read[1]).toContain("could not get approval (unknown_key)");
  expect(read[2]).toContain("not allowed (nod)");
});

test("two calls of one turn, and what reads asks nobody", async () => {
  const asked = new Asked(bench().console);
  const turn: Turn = [
    ["Bash", { command: "touch one", description: "a" }],
    ["Bash", { command: "touch two", description: "b" }],
  ];
  const working = session([turn, [["Glob", { pattern: "*" }]]]);
  for (let count = 0; count < 2; count += 1) {
    const card = await asked.card(working);
    await bench().console.decide(card.request_id, card.args.command === "touch one" ? "approve" : "deny");
  }
  expect((await working).made).toEqual(["one"]);
  await asked.noneCame();
});

test("questions are one form, and its answers what Claude Code takes", async () => {
  const asked = new Asked(bench().console);
  const questions = [
    {
      question: "Which?",
      header: "Colour",
      options: [
        { label: "red", description: "warm" },
        { label: "blue", description: "cold" },
      ],
      multiSelect: false,
    },
  ];
  const working = session([[["AskUserQuestion", { questions }]]]);
  const card = await asked.card(working);
  expect(card).toMatchObject({ kind: "form", title: "Claude Code asks: Colour" });
  expect(card.response_schema.properties["Which?"]).toMatchObject({ enum: ["red", "blue"] });
  await bench().console.decide(card.request_id, "respond", { response: { content: { "Which?": "blue" } } });
  expect((await working).read.join()).toContain("blue");
});

test("a bus that is gone, and a closed gate", async () => {
  const closed = await bench().gate();
  await closed.close();
  const { made, read } = await session([bash("touch one")], {}, {}, closed);
  expect(made).toEqual([]);
  expect(read.join()).toContain("could not get approval (gate_closed)");
});

test("a call that a rule of the settings denies does not run, and its receipt says so", async () => {
  const asked = new Asked(bench().console);
  const working = session([bash("touch one")], {}, { disallowedTools: ["Bash(touch one)"] });
  const card = await Promise.race([asked.card(working).catch(() => null), working.then(() => null)]);
  if (card !== null) await bench().console.decide(card.request_id);
  expect((await working).made).toEqual([]);
  if (card !== null) expect((await bench().console.receipt(card.request_id, "refused")).message).toBe("not_started");
  expect(existsSync("one")).toBe(false);
});

test("a callback never throws", async () => {
  const { canUseTool, hooks } = claudeGate(gate, { timeout: 1 });
  const signal = new AbortController().signal;
  const broken = hooks.PreToolUse?.[0]?.hooks[0];
  const answer: any = await broken?.({ tool_name: "Bash", tool_input: { n: 1n } } as never, "toolu_x", { signal });
  expect(answer.hookSpecificOutput).toMatchObject({ permissionDecision: "deny" });
  expect(await canUseTool("Bash", { n: Number.NaN } as never, { signal, toolUseID: "x" } as never)).toMatchObject({
    behavior: "deny",
    message: expect.stringContaining("(non_finite_number)"),
  });
  expect(hooks.PreToolUse?.[0]).toMatchObject({ timeout: 31, onFailure: "block" });
  expect(claudeGate(gate, { timeout: null }).hooks.PreToolUse?.[0]?.timeout).toBe(2_000_030);
});
