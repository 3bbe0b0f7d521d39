/** What is installed from the packed file: types, both kinds of import, the program, Bun, and no browser. */
import { execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { check } from "../src/protocol-check.js";
import { benchOfFile } from "./kit/bench.js";
import { CONTRACT } from "./kit/contract.js";

const run = promisify(execFile);
const SDK = fileURLToPath(new URL("..", import.meta.url));
const BUN = `${SDK}node_modules/bun/bin/bun.exe`;
const folder = mkdtempSync(`${tmpdir()}/countersign-pack-`);
const app = `${folder}/app`;
const bench = benchOfFile();

beforeAll(async () => {
  await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], { cwd: SDK });
  mkdirSync(`${app}/node_modules`, { recursive: true });
  // What the package depends on is there already: nothing is fetched.
  for (const name of ["@nats-io", "libsodium", "libsodium-wrappers", "tweetnacl"]) {
    cpSync(`${SDK}node_modules/${name}`, `${app}/node_modules/${name}`, { recursive: true });
  }
  writeFileSync(`${app}/package.json`, '{"name":"app","private":true,"type":"module"}');
  const file = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", `${folder}/${file}`], { cwd: app });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("it depends on two packages, runs no script, and holds no test", () => {
  const installed = JSON.parse(readFileSync(`${app}/node_modules/countersign-sdk/package.json`, "utf8"));
  expect(Object.keys(installed.dependencies)).toEqual(["@nats-io/transport-node", "libsodium-wrappers"]);
  expect(Object.keys(installed.scripts).filter((name) => name.includes("install"))).toEqual([]);
  const files = readdirSync(`${app}/node_modules/countersign-sdk`, { recursive: true }).map(String);
  expect(files.filter((name) => /test|\.ts$/.test(name) && !name.endsWith(".d.ts"))).toEqual([]);
  for (const name of Object.keys(installed.peerDependencies)) {
    expect(installed.peerDependenciesMeta[name]).toEqual({ optional: true });
  }
});

test("its types check strictly, without those of Node", async () => {
  writeFileSync(
    `${app}/own.ts`,
    `import { Gate, refusalText, type Decision } from "countersign-sdk"
const gate = await Gate.connect("agent.json", { framework: "own", journal: "./pending" })
const run = (args: { n: number }): void => void args
const signal = new AbortController().signal
try {
  const d = await gate.ask({ name: "pay", args: { n: 1 }, risk: "high" }, { timeout: 60, key: "thread/call", signal })
  if (d.allowed) { run(d.args); await gate.receipt(d, "executed", { executedArgsDigest: d.argsDigest }) }
  else console.log(refusalText("pay", d satisfies Decision))
  const pay = gate.guard("pay", { risk: "high" }, async (args: { n: number }) => args.n)
  const paid: number = await pay({ n: 1 })
  console.log(paid)
} finally { await gate.close() }
`,
  );
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "own.ts"];
  await run(`${SDK}node_modules/.bin/tsc`, options, { cwd: app }).catch(({ stdout }) => expect(stdout).toBe(""));
});

test("ES modules alone, and require works", async () => {
  const script = 'const m = require("countersign-sdk"); console.log(typeof m.Gate.connect, m.argsDigest({}))';
  const { stdout } = await run(process.execPath, ["--no-warnings", "--input-type=commonjs", "-e", script], {
    cwd: app,
  });
  expect(stdout.trim()).toMatch(/^function sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a$/);
});

test.each(["browser", "edge-light", "workerd"])("importing for %s throws with words", async (condition) => {
  const script = 'import("countersign-sdk").catch((error) => console.log(error.message))';
  const { stdout } = await run(process.execPath, [`--conditions=${condition}`, "-e", script], { cwd: app });
  expect(stdout).toContain("no browser, no edge runtime");
});

test.each(["realm-log", "devices"])("npx --no countersign-protocol-check reads %s.json", async (name) => {
  const file = `${CONTRACT}/vectors/${name}.json`;
  const { stdout } = await run("npx", ["--no", "countersign-protocol-check", file], { cwd: app });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toEqual(JSON.parse(JSON.stringify(await check(JSON.parse(readFileSync(file, "utf8"))))));
});

test.each(["", "{}", "[]", '{"kind":"realm-log"}', '{"kind":"commands","rows":[]}', "3", null])(
  "another file (%s) is no file of vectors",
  async (text) => {
    const file = `${folder}/vectors.json`;
    if (text !== null) writeFileSync(file, text);
    const program = `${app}/node_modules/.bin/countersign-protocol-check`;
    const failed = await run(program, text === null ? [`${folder}/absent`] : [file]).catch((error) => error);
    expect(failed).toMatchObject({ code: 2, stdout: "" });
    expect(failed.stderr).toContain("usage");
  },
);

test("Bun asks, with a journal, and its lock holds", { timeout: 60_000 }, async () => {
  expect(existsSync(BUN)).toBe(true);
  writeFileSync(
    `${app}/smoke.ts`,
    `import { Gate } from "countersign-sdk"
const gate = await Gate.connect(process.argv[2], { journal: process.argv[3] })
const asking = gate.ask({ name: "pay", args: { n: 1 }, requestId: "bun" }, { key: "k" })
const second = await gate.ask({ name: "pay", args: { n: 1 } }, { key: "k" }).catch((error) => error.code)
const decision = await asking
console.log(second, decision.verdict, JSON.stringify(decision.args))
await gate.receipt(decision, "executed", { executedArgsDigest: decision.argsDigest })
await gate.close()
`,
  );
  const child = spawn(BUN, ["run", "smoke.ts", bench().file(), bench().folderFor("bun")], { cwd: app });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += data));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await bench().console.decide("bun");
  expect([await ended, said]).toEqual([0, expect.stringContaining('already_waiting approve {"n":1}')]);
  await bench().console.receipt("bun", "executed");
});
