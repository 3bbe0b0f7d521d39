/** A real nats-server, configured as protocol section 1 says: accounts CORE and AGENTS. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { REPOSITORY } from "./contract.js";
import { SOON, until } from "./until.js";

const SERVICES = [
  ...["request", "withdraw", "tighten", "receipt", "event", "hello", "alive"].map((what) => `countersign.v1.${what}.>`),
  "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.>",
  "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.realm.*",
];

/** The order that every part of the project uses. */
function findNatsServer(): string {
  const named = process.env["COUNTERSIGN_NATS_SERVER"];
  if (named) return named;
  const own = `${REPOSITORY}.setup/bin/nats-server`;
  if (existsSync(own)) return own;
  if (spawnSync("nats-server", ["-v"]).status === 0) return "nats-server";
  throw new Error("no nats-server; run `make setup` or set COUNTERSIGN_NATS_SERVER");
}

function agentPermissions(name: string, nkey: string, forbidden: string | null): object {
  const publish = [
    ...["request", "withdraw", "tighten", "receipt"].map((what) => `countersign.v1.${what}.${name}.*`),
    ...["event", "hello", "alive"].map((what) => `countersign.v1.${what}.${name}`),
    `$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.${name}.*`,
    "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.realm.*",
  ];
  return {
    publish: publish.filter((subject) => forbidden === null || !subject.includes(forbidden)),
    subscribe: [`countersign.v1.decided.${name}.*`, `_INBOX_${nkey}.>`],
  };
}

/** `start` and `stop` keep the port and the store. */
export class NatsServer {
  port = -1;
  /** Agents may not publish to subjects with this part, from the next start on. */
  forbidden: string | null = null;
  private process: ChildProcess | null = null;

  constructor(
    private readonly folder: string,
    private readonly consoleKey: string,
    /** Keys of agents by their names, `ws.agent`. */
    readonly agents: Map<string, string>,
    private readonly more: object = {},
  ) {}

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const file = `${this.folder}/nats.json`;
    writeFileSync(file, JSON.stringify(this.config()));
    const log = openSync(`${this.folder}/nats.log`, "a");
    this.process = spawn(findNatsServer(), ["-c", file], { stdio: ["ignore", log, log] });
    closeSync(log);
    const ports = `${this.folder}/nats-server_${this.process.pid}.ports`;
    await until(() => {
      if (this.process?.exitCode !== null) throw new Error(readFileSync(`${this.folder}/nats.log`, "utf8"));
      return existsSync(ports) && readFileSync(ports, "utf8").trim() !== "";
    });
    this.port = Number(/:(\d+)"/.exec(readFileSync(ports, "utf8"))?.[1]);
  }

  async stop(): Promise<void> {
    const ending = this.process;
    if (ending === null) return;
    this.process = null;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill("SIGTERM");
    await ended;
  }

  /** Takes the agents as they are now. */
  reload(): void {
    writeFileSync(`${this.folder}/nats.json`, JSON.stringify(this.config()));
    this.process?.kill("SIGHUP");
  }

  private config(): object {
    const imports = SERVICES.map((subject) => ({ service: { account: "CORE", subject } }));
    return {
      listen: `127.0.0.1:${this.port}`,
      ports_file_dir: this.folder,
      max_payload: 4 * 1024 * 1024,
      // On a busy machine a login comes late.
      authorization: { timeout: SOON },
      jetstream: { store_dir: `${this.folder}/store` },
      accounts: {
        CORE: {
          jetstream: "enabled",
          users: [{ nkey: this.consoleKey }],
          exports: [...SERVICES.map((service) => ({ service })), { stream: "countersign.v1.decided.>" }],
        },
        AGENTS: {
          users: [...this.agents].map(([name, nkey]) => ({
            nkey,
            permissions: agentPermissions(name, nkey, this.forbidden),
          })),
          imports: [...imports, { stream: { account: "CORE", subject: "countersign.v1.decided.>" } }],
        },
      },
      ...this.more,
    };
  }
}
