/** What a test needs to be agent and console at once. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll } from "vitest";
import { Enrolment, Gate, type ConnectOptions } from "../../src/index.js";
import { Console } from "./console.js";
import { Key } from "./key.js";
import { NatsServer } from "./nats-server.js";
import { SOON } from "./until.js";

export const WORKSPACE = "acme";
export const AGENT = "billing-bot";

export class Bench {
  readonly folder = mkdtempSync(`${tmpdir()}/countersign-ts-`);
  readonly login = new Key();
  readonly agentKey = new Key();
  readonly otherKey = new Key();
  readonly console = new Console();
  readonly server: NatsServer;
  private readonly gates: Gate[] = [];

  constructor(more: object = {}) {
    const agents = new Map([
      [`${WORKSPACE}.${AGENT}`, this.agentKey.public],
      [`${WORKSPACE}.other-bot`, this.otherKey.public],
    ]);
    this.server = new NatsServer(this.folder, this.login.public, agents, more);
  }

  async start(login: object = {}): Promise<this> {
    await this.server.start();
    await this.console.connect(this.server.url, this.login, login);
    await this.console.createStreams();
    await this.console.found();
    return this;
  }

  async stop(): Promise<void> {
    for (const gate of this.gates) await gate.close();
    await this.console.nc?.close();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  agentJson(changes: object = {}): Record<string, unknown> {
    const { root, n, head, realm } = this.console;
    return {
      nats_url: this.server.url,
      workspace: WORKSPACE,
      agent: AGENT,
      nkey_seed: this.agentKey.seed,
      inbox_prefix: `_INBOX_${this.agentKey.public}`,
      realm,
      log: { root, n, digest: head },
      ...changes,
    };
  }

  enrolment(changes: object = {}): Enrolment {
    return Enrolment.parse(this.agentJson(changes));
  }

  /** The path of an agent.json. */
  file(changes: object = {}): string {
    const path = `${mkdtempSync(`${this.folder}/agent-`)}/agent.json`;
    writeFileSync(path, JSON.stringify(this.agentJson(changes)), { mode: 0o600 });
    return path;
  }

  /** A gate that is closed at the end. */
  async gate(options: ConnectOptions = {}, changes: object = {}): Promise<Gate> {
    const gate = await Gate.connect(this.enrolment(changes), { connectTimeout: SOON, ...options });
    this.gates.push(gate);
    return gate;
  }

  folderFor(name: string): string {
    return mkdtempSync(`${this.folder}/${name}-`);
  }
}

/** One server and one console for the tests of a file. */
export function benchOfFile(): () => Bench {
  let bench: Bench;
  beforeAll(async () => {
    bench = new Bench();
    await bench.start();
  });
  afterAll(() => bench.stop());
  return () => bench;
}
