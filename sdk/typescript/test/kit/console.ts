/** A console that tests play: it founds the realm, lets people in, answers, and remembers what arrived. */
import { randomUUID } from "node:crypto";
import {
  connect,
  headers as natsHeaders,
  nkeyAuthenticator,
  type Msg,
  type NatsConnection,
} from "@nats-io/transport-node";
import { canonicalDigest, Key, sha256 } from "./key.js";
import { SOON, until } from "./until.js";

const ROOM = "countersign.v1.realm";
const KINDS = ["request", "withdraw", "tighten", "receipt", "hello", "alive", "event"];

export interface Received {
  subject: string;
  payload: Uint8Array;
  body: any;
  headers: Map<string, string[]>;
}

export class Console {
  readonly realm = randomUUID();
  readonly human = new Key();
  readonly auto = new Key();
  readonly received = new Map<string, Received[]>(KINDS.map((kind) => [kind, []]));
  nc!: NatsConnection;
  /** Of the log: number, digest and the next free slot. */
  n = 0;
  root = "";
  head = "";
  slot = 1;

  async connect(url: string, login: Key, more: object = {}): Promise<void> {
    const options = {
      servers: url.replace("nats://", ""),
      authenticator: nkeyAuthenticator(new TextEncoder().encode(login.seed)),
      timeout: 5000,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
      ignoreAuthErrorAbort: true,
      ...more,
    };
    // A busy machine needs more than one try.
    this.nc = await until(() => connect(options).catch(() => null));
    this.nc.subscribe("countersign.v1.*.>", { callback: (error, msg) => this.keep(error, msg) });
    await this.nc.flush();
  }

  private keep(error: Error | null, msg: Msg): void {
    const kept = this.received.get(msg.subject.split(".")[2] ?? "");
    if (error !== null || kept === undefined) return;
    const found = new Map<string, string[]>();
    for (const [name, values] of msg.headers ?? []) found.set(name, values);
    let body: unknown = null;
    try {
      body = msg.json();
    } catch {
      // Kept as it is.
    }
    kept.push({ subject: msg.subject, payload: msg.data, body, headers: found });
  }

  async api(subject: string, body: object = {}, timeout = 20_000): Promise<any> {
    const reply = await this.nc.request(`$JS.API.${subject}`, JSON.stringify(body), { timeout });
    const found: any = reply.json();
    if (found.error) throw new Error(JSON.stringify(found.error));
    return found;
  }

  async createStreams(): Promise<void> {
    const subjects = (...kinds: string[]): string[] => kinds.map((kind) => `countersign.v1.${kind}.>`);
    const stream = (name: string, more: object): Promise<unknown> =>
      this.api(`STREAM.CREATE.${name}`, { name, storage: "file", retention: "limits", num_replicas: 1, ...more });
    const once = { max_msgs_per_subject: 1, discard: "new", discard_new_per_subject: true };
    await stream("CS_REQUESTS", { subjects: subjects("request", "withdraw", "tighten"), ...once });
    await stream("CS_RECEIPTS", { subjects: subjects("receipt"), max_msgs_per_subject: 8 });
    await stream("CS_EVENTS", { subjects: subjects("event") });
    await stream("CS_AGENTS", { subjects: subjects("hello"), max_msgs_per_subject: 1 });
    await this.createDecisions();
  }

  async createDecisions(): Promise<void> {
    await this.api("STREAM.CREATE.CS_DECISIONS", {
      name: "CS_DECISIONS",
      subjects: ["countersign.v1.decision.>", "countersign.v1.vote.>", `${ROOM}.*`],
      storage: "file",
      retention: "limits",
      num_replicas: 1,
      max_msgs_per_subject: 1,
      discard: "new",
      discard_new_per_subject: true,
      deny_purge: false,
      allow_direct: true,
      republish: { src: "countersign.v1.decision.>", dest: "countersign.v1.decided.>" },
    });
  }

  /** Ada founds the realm, with her desk key and her console's. */
  async found(): Promise<void> {
    await this.entry({
      operators: [this.record(this.human, { name: "Ada", admin: true, autos: [this.auto] })],
      realm: { acceptance: false },
    });
  }

  /** A record of an operator whose desk key this is. */
  record(
    desk: Key,
    about: { name?: string; admin?: boolean; limits?: object; autos?: Key[]; keys?: object[] } = {},
  ): object {
    const { name = "somebody", admin, limits, autos = [], keys = [] } = about;
    const own = (key: Key, role: string): object => ({
      key: key.public,
      role,
      proof: key.sign("key", this.realm, ROOM, `${desk.public}\n${role}`),
    });
    return {
      id: desk.public,
      name,
      keys: [own(desk, "human"), ...autos.map((key) => own(key, "auto")), ...keys],
      ...(admin && { admin }),
      ...(limits && { limits }),
    };
  }

  /** The bytes of the next entry. */
  signedEntry(changes: object, signer: Key = this.human): string {
    const payload = JSON.stringify({
      v: 1,
      n: this.n + 1,
      prev: this.n === 0 ? null : this.head,
      at: "2026-11-25T12:00:00.000Z",
      by: signer.public,
      policy: null,
      ...changes,
    });
    const sig = signer.sign("realm", this.realm, ROOM, payload);
    return JSON.stringify({ payload: Buffer.from(payload).toString("base64url"), key: signer.public, sig });
  }

  /** Writes an entry into the next free slot. */
  async entry(changes: object, signer: Key = this.human): Promise<void> {
    const message = this.signedEntry(changes, signer);
    await this.fill(message);
    this.head = sha256(Buffer.from(JSON.parse(message).payload, "base64url"));
    this.n += 1;
    if (this.n === 1) this.root = this.head;
  }

  /** Stores anything in the next free slot. */
  async fill(message: string | Uint8Array, headers?: Record<string, string>): Promise<void> {
    await this.store(`${ROOM}.${this.slot}`, Buffer.from(message), headers ?? {});
    this.slot += 1;
  }

  letIn(desk: Key, about: { name?: string; admin?: boolean; limits?: object } = {}): Promise<void> {
    return this.entry({ operators: [this.record(desk, about)] });
  }

  /** Ends an operator. */
  retire(desk: Key): Promise<void> {
    return this.entry({ operators: [{ id: desk.public, keys: [] }] });
  }

  of(kind: string): Received[] {
    return this.received.get(kind) ?? [];
  }

  /** The first message of its kind that fits. */
  heard(kind: string, fits: (message: Received) => boolean): Promise<Received> {
    return until(() => this.of(kind).find(fits));
  }

  request(requestId: string): Promise<Received> {
    return this.heard("request", ({ subject }) => subject.endsWith(`.${requestId}`));
  }

  async receipt(requestId: string, stage: string): Promise<any> {
    const fits = ({ subject, body }: Received): boolean => subject.endsWith(`.${requestId}`) && body.stage === stage;
    return (await this.heard("receipt", fits)).body;
  }

  /** What a console would write; `undefined` leaves a field out. */
  decision(seen: Received, verdict = "approve", changes: object = {}): any {
    return {
      v: 1,
      decision_id: randomUUID(),
      request_id: seen.body.request_id,
      request_digest: sha256(seen.payload),
      verdict,
      origin: "operator",
      decided_by: { name: "Ada", key: this.human.public },
      decided_at: "2026-11-21T12:00:00.000Z",
      ...(verdict === "approve" && { args_digest: seen.body.args_digest }),
      ...changes,
    };
  }

  vote(seen: Received, key: Key, changes: object = {}): object {
    const payload = JSON.stringify({
      v: 1,
      vote_id: randomUUID(),
      request_digest: sha256(seen.payload),
      verdict: "approve",
      args_digest: seen.body.args_digest,
      decided_by: { name: "x", key: key.public },
      decided_at: "2026-11-21T12:00:00.000Z",
      ...changes,
    });
    const subject = `${seen.subject.replace(".request.", ".vote.")}.${key.public}`;
    const sig = key.sign("vote", this.realm, subject, payload);
    return { key: key.public, subject, payload: Buffer.from(payload).toString("base64url"), sig };
  }

  signed(subject: string, body: object, key: Key = this.human, realm = this.realm): [string, Record<string, string>] {
    const payload = JSON.stringify(body);
    return [payload, { "CS-Key": key.public, "CS-Sig": key.sign("decision", realm, subject, payload) }];
  }

  async store(subject: string, payload: Uint8Array | string, headers: Record<string, string>): Promise<void> {
    const sent = natsHeaders();
    for (const [name, value] of Object.entries(headers)) sent.append(name, value);
    sent.set("Nats-Expected-Last-Subject-Sequence", "0");
    const reply = await this.nc.request(subject, payload, { headers: sent, timeout: SOON * 1000 });
    const ack: any = reply.json();
    if (ack.error) throw new Error(JSON.stringify(ack.error));
  }

  async decide(requestId: string, verdict = "approve", changes: Record<string, any> = {}): Promise<Received> {
    const seen = await this.request(requestId);
    const body = this.decision(seen, verdict, changes);
    const subject = seen.subject.replace(".request.", ".decision.");
    const key = body.decided_by?.key === this.auto.public ? this.auto : this.human;
    await this.store(subject, ...this.signed(subject, body, key));
    return seen;
  }

  edit(requestId: string, args: unknown, changes: object = {}): Promise<Received> {
    return this.decide(requestId, "modify", { edited_args: args, args_digest: canonicalDigest(args), ...changes });
  }

  byRule(requestId: string, verdict = "approve"): Promise<Received> {
    return this.decide(requestId, verdict, {
      origin: "rule",
      rule: { id: "r1", version: 1, name: "Lookups may go" },
      decided_by: { name: "console", key: this.auto.public },
    });
  }
}
