/**
 * The NATS connection of one agent. Knows subjects and acknowledgements, judges nothing.
 *
 * Refuses to send while the connection is down: what is kept would leave much later. Never subscribes to `decision.>`,
 * never makes a consumer, never sends a message id (protocol, section 1).
 */
import * as nats from "@nats-io/transport-node";
import type { ConnectionOptions, Msg, NatsConnection } from "@nats-io/transport-node";

import { sleep, ticks, within } from "./clock.js";
import type { Enrolment } from "./enrolment.js";
import * as errors from "./errors.js";
import { member, parsed } from "./json.js";
import { storedMessage, type Answered, type StoredMessage } from "./log.js";
import { hungUp, loginFault, loginOf, type Login } from "./login.js";
import { kindOf, note, warn } from "./notices.js";

/** JetStream: the subject already holds a message. */
const ALREADY_STORED = 10071;
/** JetStream says these while it is busy, full or electing. */
const PASSING = new Set([10008, 10023, 10047, 10077]);
/** Of one attempt to connect: where the server hangs up before the login is sent, the library waits for nothing. */
const ATTEMPT_SECONDS = 5;
const EXPECTED_LAST = "Nats-Expected-Last-Subject-Sequence";

interface Pending {
  readonly subject: string;
  readonly resolve: (answered: Answered) => void;
  readonly reject: (error: errors.CountersignError) => void;
}

/** Who hears of the connection. */
export interface Listener {
  reconnected(): unknown;
  /** It is closed for good (`ended`). */
  over(): void;
}

/** One connection. Every method has a limit of time; none retries. */
export class Bus {
  private nc!: NatsConnection;
  private readonly pending = new Map<string, Pending>();
  private readonly inbox: string;
  private count = 0;
  private open = false;
  private back = new AbortController();
  private refusal: errors.BusTlsError | errors.BusLoginError | null = null;
  private end: errors.CountersignError | null = null;

  private constructor(inboxPrefix: string) {
    this.inbox = `${inboxPrefix}.${nats.nuid.next()}.`;
  }

  /** Connects within `seconds` or throws a bus error; later losses reconnect automatically, without end. */
  static async connect(enrolment: Enrolment, name: string, seconds: number, listener: Listener): Promise<Bus> {
    const login = loginOf(enrolment);
    const bus = new Bus(login.inboxPrefix);
    bus.nc = await dial(login, name, seconds);
    bus.open = true;
    bus.nc.subscribe(`${bus.inbox}*`, { callback: (error, msg) => bus.received(error, msg) });
    void bus.watch(listener);
    void bus.nc.closed().then((error) => {
      bus.open = false;
      bus.end =
        loginFault(error) ??
        new errors.BusRefusedError(`the bus ended the connection: ${kindOf(error)}; open the gate again`, "bus_closed");
      listener.over();
    });
    return bus;
  }

  /** Whether it is connected right now. */
  get connected(): boolean {
    return this.open;
  }

  /** Whether the connection will never come back; `away` then says why. */
  get ended(): boolean {
    return this.end !== null;
  }

  /** Why nothing can be sent now. */
  away(): errors.CountersignError {
    return this.end ?? this.refusal ?? new errors.NotSentError("the connection to the bus is down");
  }

  /** Waits so long, or until the connection comes back. */
  async pause(seconds: number, signal?: AbortSignal): Promise<void> {
    await sleep(seconds, signal === undefined ? this.back.signal : AbortSignal.any([signal, this.back.signal]));
  }

  /** Calls `heard(subject)` for each message. The content is a hint and is not even read. */
  subscribe(subject: string, heard: (subject: string) => void): void {
    this.nc.subscribe(subject, {
      callback: (error, msg) => {
        if (error === null) heard(msg.subject);
      },
    });
  }

  /** Sends without waiting for anything; lost while the connection is down. */
  publish(subject: string, payload: Uint8Array): void {
    if (this.open) this.nc.publish(subject, payload);
  }

  /**
   * Publishes and waits for the stream's acknowledgement. With `first` the message must be the subject's first: false
   * means that one is already there.
   *
   * Throws `BusRefusedError` where trying again is in vain, `NotSentError` where the message surely is not stored, and
   * `BusUnreachableError` where it may be or where the bus may take it a moment later. While the bus refuses the login,
   * `BusLoginError`.
   */
  async store(subject: string, payload: Uint8Array, seconds: number, first = false): Promise<boolean> {
    const reply = await this.exchange(subject, payload, seconds, first);
    const ack = parsed(reply.payload);
    const error = member(ack, "error");
    if (error === undefined && typeof member(ack, "seq") === "number") return true;
    const code = Number(member(error, "err_code") ?? 0);
    // Somebody else than JetStream answered; that proves nothing.
    if (error === undefined) throw new errors.BusUnreachableError("the bus sent an unreadable acknowledgement");
    if (first && code === ALREADY_STORED) return false;
    const text = `${String(member(error, "description") ?? "")} (${code})`;
    if (PASSING.has(code)) throw new errors.BusUnreachableError(`the bus does not take the message now: ${text}`);
    throw new errors.BusRefusedError(`the bus refused the message: ${text}`, `bus_${code}`);
  }

  /** The message of `CS_DECISIONS` that is stored on `subject`, null if there is none. Throws `BusUnreachableError`. */
  async directGet(subject: string, seconds: number): Promise<StoredMessage | null> {
    const reply = await this.exchange(`$JS.API.DIRECT.GET.CS_DECISIONS.${subject}`, new Uint8Array(), seconds, false);
    try {
      return storedMessage(subject, reply);
    } catch (error) {
      throw new errors.BusUnreachableError((error as Error).message);
    }
  }

  /** Sends what is buffered and closes. Never throws, never takes longer than two seconds. */
  async close(): Promise<void> {
    try {
      if (this.open) await within(1, this.nc.flush());
      await within(1, this.nc.close());
    } catch (error) {
      note(`the connection did not close cleanly: ${kindOf(error)}`);
    }
  }

  private async watch(listener: Listener): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === "disconnect") {
        this.open = false;
      } else if (status.type === "reconnect") {
        this.open = true;
        this.refusal = null;
        this.back.abort();
        this.back = new AbortController();
        listener.reconnected();
      } else if (status.type === "error") {
        this.report(status.error);
      }
    }
  }

  /** A forbidden publish is answered only by an event: it is handed to whoever waits for that subject. */
  private report(error: Error): void {
    if (!(error instanceof nats.errors.PermissionViolationError)) {
      const fault = loginFault(error);
      if (fault !== null && this.refusal === null) warn(fault.message);
      this.refusal = fault ?? this.refusal;
      note(`bus: ${error.message}`);
      return;
    }
    warn(`the bus forbids ${error.operation} on ${error.subject}`);
    for (const [token, pending] of this.pending) {
      if (pending.subject !== error.subject) continue;
      this.pending.delete(token);
      const text = `this agent may not publish on ${error.subject}; enrol it again`;
      pending.reject(new errors.BusRefusedError(text, "permission"));
    }
  }

  private received(error: Error | null, msg: Msg): void {
    if (error !== null) return;
    const token = msg.subject.slice(this.inbox.length);
    const pending = this.pending.get(token);
    if (pending === undefined) return;
    this.pending.delete(token);
    const answer = read(msg);
    // Another's stored message may name a status of its own: then it has a sequence.
    if (answer.status === "503" && answer.payload.length === 0 && !answer.headers.has("Nats-Sequence")) {
      pending.reject(new errors.NotSentError(`no stream answers on ${pending.subject}; is a console running?`));
    } else {
      pending.resolve(answer);
    }
  }

  private async exchange(subject: string, payload: Uint8Array, seconds: number, first: boolean): Promise<Answered> {
    if (!this.open) throw this.away();
    const token = (this.count += 1).toString(36);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.pending.set(token, { subject, resolve, reject });
        timer = setTimeout(
          () => reject(new errors.BusUnreachableError("no answer from the bus: timeout")),
          seconds * 1000,
        );
        const sent = nats.headers();
        if (first) sent.set(EXPECTED_LAST, "0");
        this.nc.publish(subject, payload, { reply: this.inbox + token, ...(first && { headers: sent }) });
      });
    } catch (error) {
      if (error instanceof nats.errors.InvalidArgumentError) {
        throw new errors.BusRefusedError("the message is larger than the bus allows", "too_large");
      }
      if (error instanceof Error && !("code" in error))
        throw new errors.BusUnreachableError(`no answer from the bus: ${error.name}`);
      throw error;
    } finally {
      clearTimeout(timer);
      this.pending.delete(token);
    }
  }
}

/** Logs in, again while nobody is there, until `seconds` have passed. */
async function dial(login: Login, name: string, seconds: number): Promise<NatsConnection> {
  const until = ticks() + seconds;
  let pause = 100;
  const options: ConnectionOptions = {
    ...login.options,
    name,
    timeout: Math.min(seconds, ATTEMPT_SECONDS) * 1000,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => 250 + Math.random() * 750,
    pingInterval: 10_000,
    maxPingOut: 2,
  };
  for (;;) {
    try {
      return await nats.connect(options);
    } catch (error) {
      const fault = loginFault(error);
      if (fault !== null) throw fault;
      if (ticks() + pause / 1000 >= until) {
        if (login.shook.hands) throw hungUp();
        // Neither the address nor what the library says of it: both may hold a password.
        throw new errors.BusUnreachableError(`cannot reach the bus: ${kindOf(error)}`);
      }
    }
    await sleep(pause / 1000);
    pause = Math.min(pause * 2, 1000);
  }
}

/**
 * What an answer holds. Its headers are read here and leniently: a login can store any bytes as headers, and the
 * library throws at some of them, which would end its reading of the whole connection.
 */
function read(msg: Msg): Answered {
  const raw = msg as unknown as { _rdata?: Uint8Array; _msg?: { hdr?: number } };
  const size = raw._msg?.hdr ?? -1;
  const found = new Map<string, string[]>();
  if (raw._rdata === undefined || size < 0) return { status: null, headers: found, payload: msg.data };
  const [first = "", ...lines] = Buffer.from(raw._rdata.subarray(0, size)).toString().split("\r\n");
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
    found.set(name, [...(found.get(name) ?? []), value]);
  }
  return { status: /^NATS\/1\.0 +(\d{3})/.exec(first)?.[1] ?? null, headers: found, payload: msg.data };
}
