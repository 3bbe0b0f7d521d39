/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The gate: asks the console and waits for the one answer that counts.
 *
 * Refuses to answer "allowed" for anything but a verified decision in time. Never runs a call itself, except in `guard`,
 * and never after a withdraw.
 */
import { MAX_WAITING, Requests, type Degraded } from "./asking.js";
import { Bus } from "./bus.js";
import type { Ask, Introduction, Span } from "./calls.js";
import { ended, within } from "./clock.js";
import type { Decision } from "./decision.js";
import { Enrolment } from "./enrolment.js";
import * as errors from "./errors.js";
import { guarded, type GuardOptions, type Work } from "./guard.js";
import { Journal, sameCall } from "./journal.js";
import type { JsonObject } from "./json.js";
import { receipt, spanPayload, withdrawal, type Letter, type ReceiptDetails } from "./letters.js";
import { Looks } from "./looks.js";
import { note, warn } from "./notices.js";
import { IO_SECONDS, Outbox } from "./outbox.js";
import { Presence } from "./presence.js";
import { buildRequest, uuid7 } from "./request.js";
import { signaturesReady } from "./signature.js";
import { SpanQueue } from "./span-queue.js";
import type { Stage } from "./words.js";

/** What `Gate.connect` takes beside the enrolment. What the agent is and has is shown to operators. */
export interface ConnectOptions extends Introduction {
  /** Signatures are not checked. For a trial alone, and only where `agent.json` names no log. */
  insecure?: boolean | undefined;
  framework?: string | undefined;
  frameworkVersion?: string | undefined;
  agentType?: string | undefined;
  /** The agent that started this one. */
  parent?: string | undefined;
  /** Seconds, 5 without one. */
  connectTimeout?: number | undefined;
  /** A folder in which asks with a `key` survive this process (made if it is missing). */
  journal?: string | undefined;
}

/** How a call is asked. */
export interface AskOptions {
  /** Seconds until nobody is waited for any more; null is the longest, 30 days. 60 without one. */
  timeout?: number | null | undefined;
  /** On a gate with a journal: the request stays until its answer was handed out, also over restarts. */
  key?: string | undefined;
  /** Ends the waiting. Without a `key` the request is withdrawn. */
  signal?: AbortSignal | undefined;
  /** What of an answer cannot be honoured. */
  degraded?: Degraded | undefined;
}

/** An agent's connection to its console. Make one with `Gate.connect` and share it. */
export class Gate implements AsyncDisposable {
  readonly #agent: JsonObject;
  readonly #presence: Presence;
  readonly #looks: Looks;
  #bus!: Bus;
  #outbox!: Outbox;
  #requests!: Requests;
  #spans!: SpanQueue;
  #journal: Journal | null = null;
  #closed: Promise<void> | null = null;

  private constructor(
    /** Who this gate speaks as. */
    readonly enrolment: Enrolment,
    options: ConnectOptions,
  ) {
    const insecure = enrolment.log === null;
    const why = "agent.json names no log of operators; enrol again, or pass insecure: true for a trial";
    if (insecure && options.insecure !== true) throw new errors.EnrolmentError(why);
    if (insecure) warn("insecure: signatures of decisions are not checked");
    const { framework, frameworkVersion, agentType, parent, tools, setupSchema, credentials, skills } = options;
    const said = { framework, framework_version: frameworkVersion, type: agentType, parent };
    this.#agent = { instance_id: uuid7() };
    for (const [name, value] of Object.entries(said)) if (value !== undefined) this.#agent[name] = value;
    this.#presence = new Presence(enrolment, this.#agent, { tools, setupSchema, credentials, skills });
    this.#looks = new Looks(() => this.#bus, enrolment.realm, enrolment.log);
  }

  /**
   * An open gate. `enrolment` is the path of an `agent.json`, or an `Enrolment`; without one the file that
   * `COUNTERSIGN_AGENT_JSON` names. Throws `EnrolmentError`, `InvalidRequestError`, `JournalError` or a bus error.
   */
  static async connect(enrolment?: Enrolment | string | URL, options: ConnectOptions = {}): Promise<Gate> {
    const known = enrolment instanceof Enrolment ? enrolment : Enrolment.load(enrolment);
    const gate = new Gate(known, options);
    await signaturesReady();
    if (options.journal !== undefined) {
      gate.#journal = new Journal(options.journal, known);
      await gate.#journal.removeOld();
    }
    await gate.#open(options.connectTimeout ?? 5);
    return gate;
  }

  /** Whether asks with a `key` survive this process. */
  get hasJournal(): boolean {
    return this.#journal !== null;
  }

  /**
   * Asks and waits. Returns every verified answer, a denial too: look at its `allowed`. Nobody answered in time: verdict
   * `expired`. Throws `InvalidRequestError`, `AlreadyAskedError`, `VoidDecisionError` or a bus error; none of them
   * allows the call. If it ends without an answer the request is withdrawn.
   *
   * With a `key`, on a gate with a journal, the request stays until its answer was handed out: the same key with the
   * same call waits for the same request, also in a later process, and `timeout` is that of its first ask. A key of
   * another call withdraws the former request.
   */
  async ask<A = unknown>(call: Ask<A>, options: AskOptions = {}): Promise<Decision<A>> {
    this.#checkOpen();
    const { timeout = 60, key, signal, degraded } = options;
    signal?.throwIfAborted();
    const request = buildRequest(call, this.enrolment, this.#agent, timeout);
    if (key === undefined || this.#journal === null) {
      return (await this.#requests.ask(request, { signal, degraded })) as Decision<A>;
    }
    const decision = await this.#journal.held(key, async (entry) => {
      if (entry.waiting !== null && !sameCall(entry.waiting, request)) {
        this.#post(withdrawal(entry.waiting, "the same key asks for another call"));
        await entry.end();
      }
      if (entry.waiting !== null) {
        return this.#requests.ask(entry.waiting, { entry, secondsLeft: entry.secondsLeft, signal, degraded });
      }
      await entry.begin(request);
      return this.#requests.ask(request, { entry, signal, degraded });
    });
    return decision as Decision<A>;
  }

  /**
   * Takes a waiting request back. Its `ask` ends with what was decided before, or `withdrawn`; it never allows: an
   * approval that came first throws `VoidDecisionError` (`withdrawn`).
   *
   * Both end when the bus has the withdrawal, or after two seconds; it is then sent again for ten minutes. On a gate
   * with a journal it also takes back a request that was kept for a later `ask` with its key. Throws `CountersignError`
   * (`not_found`) for any other.
   */
  async withdraw(requestId: string, reason = ""): Promise<void> {
    const wait = this.#requests.waiting(requestId);
    let told = wait === undefined ? null : this.#requests.takeBack(wait, reason);
    const kept = await (wait ??
      this.#journal?.kept(requestId, async (request, entry) => {
        told = this.#outbox.post(withdrawal(request, reason));
        await entry.end();
      }));
    if (!kept) throw new errors.CountersignError("no such request is waiting", "not_found");
    if (told !== null) await ended(IO_SECONDS, told);
  }

  /**
   * Reports to the console how far the call got. Does nothing for an answer that nobody stored. Throws
   * `BusUnreachableError` when the bus does not take it within two seconds, but goes on trying for ten minutes: do not
   * call it again. `BusRefusedError` is final.
   */
  async receipt(decision: Decision, stage: Stage, details: ReceiptDetails = {}): Promise<void> {
    const letter = this.#receiptLetter(decision, stage, details);
    if (letter === null) return;
    if (this.#outbox.size >= MAX_WAITING) {
      throw new errors.TooManyWaitingError(`${MAX_WAITING} receipts are already waiting for the bus`);
    }
    const stored = this.#outbox.post(letter).then(() => true);
    if (await within(IO_SECONDS, stored)) return;
    throw new errors.BusUnreachableError("the bus has not taken the receipt yet; it is sent again for ten minutes");
  }

  /** `receipt`, without waiting for it; closing the gate waits for it (up to two seconds). A warning says what is lost. */
  receiptLater(decision: Decision, stage: Stage, details: ReceiptDetails = {}): void {
    const letter = this.#receiptLetter(decision, stage, details);
    if (letter === null) return;
    if (this.#outbox.size >= MAX_WAITING) {
      warn(`not delivered on ${letter.subject}: ${MAX_WAITING} receipts are already waiting`);
      return;
    }
    this.#post(letter);
  }

  /**
   * Says hello again because something changed. A part that is named replaces what was said of it before (null takes it
   * back); the others stay. Ends when the bus has the hello, or after two seconds; it is then sent again for ten
   * minutes and at each reconnect.
   */
  async introduce(parts: Introduction): Promise<void> {
    this.#checkOpen();
    await this.#presence.introduce(MAX_WAITING, parts);
  }

  /**
   * Queues one step of a trace; a later one with the same ids replaces it. Never waits, never blocks a call. Throws
   * `InvalidRequestError` for a span that is no JSON or larger than 900 KiB.
   */
  span(span: Span): void {
    this.#spans.put(spanPayload(span));
  }

  /**
   * A function that asks before each call and runs with the approved arguments: one object. It throws as `ask` does, and
   * `NotAllowedError` unless the call may run.
   */
  guard<A extends object, R>(name: string, options: GuardOptions, work: Work<A, R>): (args: A) => Promise<R> {
    return guarded(this, name, options, work);
  }

  /**
   * Closes the connection. Withdraws what waits without a key, leaves what has one; their `ask`s throw
   * `GateClosedError`. Receipts that are on their way have two seconds. Call it as often as you like.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #open(seconds: number): Promise<void> {
    const { workspace, agent } = this.enrolment;
    const bus = await Bus.connect(this.enrolment, `${workspace}/${agent}`, seconds, {
      over: () => this.#requests.lookAgain(),
      reconnected: () => [this.#requests.lookAgain(), this.#presence.reconnected()],
    });
    this.#bus = bus;
    this.#outbox = new Outbox(bus);
    this.#requests = new Requests(bus, this.#outbox, this.#looks);
    this.#spans = new SpanQueue(bus, `countersign.v1.event.${workspace}.${agent}`);
    try {
      bus.subscribe(`countersign.v1.decided.${workspace}.${agent}.*`, (subject) => this.#requests.hint(subject));
      // The server answers in order: once this is answered the subscription is active (flush proves nothing).
      await bus.directGet(`countersign.v1.decision.${workspace}.${agent}.${uuid7()}`, seconds);
      // It is read again for each decision, and nothing is believed before.
      await this.#looks.start().catch((error) => {
        if (!(error instanceof errors.BusUnreachableError)) throw error;
        note(`the realm log could not be read yet: ${error.message}`);
      });
    } catch (error) {
      await bus.close();
      throw error;
    }
    this.#presence.begin(bus);
  }

  async #close(): Promise<void> {
    await this.#requests.close();
    await this.#spans.close(1);
    await this.#requests.closeWatched(1);
    const limit = this.#bus.connected ? 2 : 0.1;
    await Promise.all([this.#outbox.close(limit), this.#presence.close(limit)]);
    await this.#bus.close();
  }

  #receiptLetter(decision: Decision, stage: Stage, details: ReceiptDetails): Letter | null {
    const { workspace, agent } = this.enrolment;
    const subject = `countersign.v1.receipt.${workspace}.${agent}.${decision.requestId}`;
    const letter = receipt(subject, decision.decisionId ?? "", stage, details);
    return decision.decisionId === null ? null : letter;
  }

  /** What is not delivered is said in a warning. */
  #post(letter: Letter): void {
    this.#outbox.post(letter).catch(() => undefined);
  }

  #checkOpen(): void {
    if (this.#closed !== null) throw new errors.GateClosedError("the gate is closed");
  }
}
