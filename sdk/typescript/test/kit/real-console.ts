/** `countersign serve` with a data folder of its own, and its command line. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { REPOSITORY } from "./contract.js";
import { until } from "./until.js";

const PROGRAM = process.env["COUNTERSIGN_BIN"] ?? `${REPOSITORY}target/debug/countersign`;

export class RealConsole {
  /** What it printed once it was ready. */
  ready: any = null;
  private readonly environment: NodeJS.ProcessEnv;
  private process: ChildProcess | null = null;

  constructor(
    readonly folder: string,
    operator: string,
    more: Record<string, string> = {},
  ) {
    mkdirSync(folder);
    const kept = Object.entries(process.env).filter(
      ([name]) => !name.startsWith("COUNTERSIGN_") || name === "COUNTERSIGN_NATS_SERVER",
    );
    // Never into the keychain of the person who runs the tests.
    const own = { COUNTERSIGN_DATA_DIR: folder, COUNTERSIGN_OPERATOR: operator, COUNTERSIGN_KEYS: "file" };
    this.environment = { ...Object.fromEntries(kept), ...own, ...more };
  }

  async start(): Promise<this> {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: cargo build -p countersign`);
    this.process = spawn(PROGRAM, ["serve"], { env: this.environment, stdio: ["ignore", "pipe", "inherit"] });
    let ended = false;
    this.process.once("exit", () => (ended = true));
    const { stdout } = this.process;
    if (stdout !== null) createInterface(stdout).once("line", (line) => (this.ready = JSON.parse(line)));
    await until(() => {
      if (ended) throw new Error("the console ended before it was ready");
      return this.ready !== null;
    });
    return this;
  }

  async stop(): Promise<void> {
    const ending = this.process;
    if (ending === null || ending.exitCode !== null) return;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill("SIGTERM");
    await ended;
  }

  /** What a command prints with `--json`, line by line. */
  async cli(...words: string[]): Promise<any[]> {
    const { stdout } = await promisify(execFile)(PROGRAM, [...words, "--json"], { env: this.environment });
    const lines = stdout.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line));
  }

  /** What `show` says of a request, once its `field` is `value`. */
  shown(requestId: string, field: string, value: string): Promise<any> {
    return until(async () => {
      const [found] = await this.cli("show", requestId).catch(() => []);
      return found?.[field] === value && found;
    });
  }
}
