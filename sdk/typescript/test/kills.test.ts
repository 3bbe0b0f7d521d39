/**
 * Agents that ask with a key and are killed at any moment: nothing runs twice, unapproved, or is asked twice.
 *
 * `COUNTERSIGN_KILLS` says how often (25).
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { benchOfFile } from "./kit/bench.js";
import { pause, until } from "./kit/until.js";

const KILLS = Number(process.env["COUNTERSIGN_KILLS"] ?? 25);
/** So many are killed side by side: each mostly starts. */
const AGENTS = 4;
const bench = benchOfFile();

/** Answers every request a little later, and sees to it that none is asked while the same call still waits. */
class Person {
  readonly answered = new Map<string, string>();
  readonly askedTwice: string[] = [];
  private readonly waiting = new Map<string, string>();
  private readonly answers: Promise<void>[] = [];
  private seen = 0;

  look(): void {
    const requests = bench().console.of("request");
    for (; this.seen < requests.length; this.seen += 1) {
      const { args, request_id } = requests[this.seen]?.body ?? {};
      if (this.answered.has(request_id) || this.waiting.get(args.key) === request_id) continue;
      if (this.waiting.has(args.key)) this.askedTwice.push(args.key);
      this.waiting.set(args.key, request_id);
      this.answers.push(this.answer(args.key, request_id));
    }
  }

  async done(): Promise<void> {
    await Promise.all(this.answers);
  }

  private async answer(key: string, requestId: string): Promise<void> {
    await pause(Math.random() * 200);
    const verdict = Math.random() < 2 / 3 ? "approve" : "deny";
    this.answered.set(requestId, verdict);
    await bench().console.decide(requestId, verdict);
    this.waiting.delete(key);
  }
}

function run(agentJson: string, folder: string): { kill: () => Promise<void> } {
  const child = spawn(process.execPath, ["test/kit/kill-me.mjs", agentJson, folder], {
    stdio: "ignore",
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

/** Milliseconds in which an agent starts and asks several times: on a busy machine a start takes longer. */
async function windowOf(agentJson: string, person: Person): Promise<number> {
  const folder = bench().folderFor("first");
  const begun = Date.now();
  const first = run(agentJson, folder);
  await until(() => person.answered.size > 0, 300);
  const took = Date.now() - begun;
  await first.kill();
  return Math.max(1500, Math.min(3 * took, 20_000));
}

test(`${KILLS} kills at random moments`, { timeout: 900_000 + KILLS * 12_000 }, async () => {
  const agentJson = bench().file();
  const folders = Array.from({ length: AGENTS }, (_, number) => `${bench().folderFor("killed")}/agent-${number}`);
  for (const folder of folders) mkdirSync(folder);
  const person = new Person();
  const looking = setInterval(() => person.look(), 5);
  const window = await windowOf(agentJson, person);
  await Promise.all(
    folders.map(async (folder) => {
      for (let count = 0; count < KILLS / AGENTS; count += 1) {
        const agent = run(agentJson, folder);
        // From before it has a connection to after several calls.
        await pause(Math.random() * window);
        await agent.kill();
      }
    }),
  );
  const last = folders.map((folder) => run(agentJson, folder));
  await until(() => folders.every((folder) => existsSync(`${folder}/done`)), 300);
  for (const agent of last) await agent.kill();
  clearInterval(looking);
  person.look();
  await person.done();
  // The first agent ran nothing that counts here: it was killed at its first answer.
  const files = folders.map((folder) => `${folder}/ran`).filter((file) => existsSync(file));
  const ran = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(Boolean));
  process.stdout.write(`${KILLS} kills: ${person.answered.size} requests, ${ran.length} calls ran\n`);
  expect(person.askedTwice).toEqual([]);
  expect(new Set(ran).size).toBe(ran.length);
  expect(ran.filter((id) => person.answered.get(id) !== "approve")).toEqual([]);
  expect(person.answered.size).toBeGreaterThan(0);
});
