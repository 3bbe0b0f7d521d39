/**
 * One request's wait for its answer, exactly per "How an agent waits" (protocol, section 1).
 *
 * Believes only what is stored: a message on `decided` merely says when to look. Never returns an answer after the
 * deadline or after a withdraw.
 */
import type { Bus } from "./bus.js";
import { ended, sleep, ticks } from "./clock.js";
import type { Decision } from "./decision.js";
import * as errors from "./errors.js";
import type { StoredMessage } from "./log.js";
import type { Looks } from "./looks.js";
import { note } from "./notices.js";
import { IO_SECONDS } from "./outbox.js";
import { BOUND } from "./realm.js";
import { requestSubject, type SentRequest } from "./request.js";
import { judge } from "./verify.js";

/** Faults of a key that is new: a replica may lag. */
const MAY_BE_NEW = new Set(["unknown_key", "too_few_votes", "beyond_limit"]);
const UNKNOWN_KEY_PATIENCE = 2;
/** Until a look that the bus did not answer is made again. */
const UNANSWERED_PAUSE = 1;

/** A verified decision with the message that it came from. */
export interface Found {
  readonly decision: Decision;
  readonly stored: StoredMessage;
}

/** A decision that does not verify, with the message that was judged. */
export class Faulty extends Error {
  constructor(
    readonly fault: errors.VoidDecisionError,
    readonly stored: StoredMessage,
  ) {
    super(fault.message);
  }
}

interface Publishing {
  readonly done: boolean;
  readonly failure: unknown;
}

/** Seconds after publishing at which to look without a hint: 1, 2, 5, then every 15. */
function nextPoll(passed: number): number {
  return [1, 2, 5].find((at) => at > passed) ?? 5 + 15 * (Math.floor((passed - 5) / 15) + 1);
}

/** The wait for one request. `run` may be called once. */
export class Wait {
  withdrawn = false;
  /** Whether the bus acknowledged the request. */
  placed = false;
  /** Whether the request may be on the bus, acknowledged or not. */
  mayStand: boolean;
  /** Seconds from the start of the timer to the acknowledgement; by no more is the server's deadline later. */
  travelled = 0;

  private alarm = new AbortController();
  private stopped: { reason: unknown } | null = null;
  private hinted = false;
  private echoes = 0;
  private lookAt = Infinity;
  private unknownSince: number | null = null;
  private told: Promise<void> | null = null;
  private readonly started = ticks();
  private readonly resumed: boolean;
  private readonly deadline: number;

  /** `secondsLeft` is what is left of the timer of a request that an earlier ask may have placed. */
  constructor(
    readonly request: SentRequest,
    private readonly bus: Bus,
    private readonly looks: Looks,
    secondsLeft?: number,
  ) {
    const whole = request.lifetime / 1000;
    this.resumed = secondsLeft !== undefined;
    this.mayStand = this.resumed;
    this.deadline = this.started + Math.min(whole, secondsLeft ?? whole);
  }

  /** Something arrived on this request's `decided` subject. */
  hint(): void {
    this.hinted = true;
    if (this.echoes === 0) this.wake();
  }

  /** The connection came back, or ended for good. */
  wake(): void {
    this.alarm.abort();
  }

  /**
   * The request was withdrawn; `told` is the withdrawal on its way, null where the bus never had the request. Ends the
   * wait after one last look: of what was decided before, the console still waits to hear.
   */
  takeBack(told: Promise<void> | null): void {
    this.withdrawn = true;
    this.told = told;
    this.wake();
  }

  /** Ends the wait: `run` throws `reason`. */
  stop(reason: unknown): void {
    this.stopped ??= { reason };
    this.wake();
  }

  close(): void {
    this.stop(new errors.GateClosedError("the gate was closed while the request waited"));
  }

  /** Until the agent's own timer runs out; negative afterwards. */
  get secondsLeft(): number {
    return this.deadline - ticks();
  }

  /**
   * The verified decision; null when nobody answered in time, or before the request was withdrawn. Throws `Faulty`, or a
   * bus error if the request could not be placed.
   */
  async run(): Promise<Found | null> {
    // Its time ran out while nobody waited: nothing is published any more.
    if (this.resumed && this.secondsLeft <= 0) return this.look(true);
    const ending = new AbortController();
    const publishing: Publishing = { done: false, failure: null };
    const over = (failure: unknown = null): void => {
      Object.assign(publishing, { done: true, failure });
      this.wake();
    };
    this.publish(ending.signal).then(() => over(), over);
    try {
      return await this.untilAnswered(publishing);
    } finally {
      ending.abort();
    }
  }

  /** What is stored by now, for a request that was withdrawn or whose time is up. Throws as `run`. */
  async lookBack(): Promise<Found | null> {
    if (this.told !== null) await ended(IO_SECONDS, this.told);
    return this.mayStand ? this.look(true) : null;
  }

  private async untilAnswered(publishing: Publishing): Promise<Found | null> {
    let poll = this.started + nextPoll(0);
    for (;;) {
      await sleep(Math.min(poll, this.lookAt, this.deadline) - ticks(), this.alarm.signal);
      if (this.alarm.signal.aborted) this.alarm = new AbortController();
      if (this.stopped !== null) throw this.stopped.reason;
      if (this.withdrawn) return this.lookBack();
      if (this.bus.ended) throw this.bus.away();
      if (publishing.failure !== null) throw publishing.failure;
      if (poll <= ticks()) poll = this.started + nextPoll(ticks() - this.started);
      this.lookAt = Infinity;
      const last = this.secondsLeft <= 0;
      try {
        const found = await this.look(last);
        if (found !== null) return found;
      } catch (error) {
        // An answer to another request of this id: that this one is not the first is said in a moment.
        const another = error instanceof Faulty && error.fault.code === "wrong_request_digest";
        if (!another || publishing.done || last) throw error;
        continue;
      }
      if (!last) continue;
      if (this.placed || this.resumed) return null;
      throw new errors.BusUnreachableError("the bus took no request before the deadline");
    }
  }

  /** The message on the decision's subject, if it can be read. One reading per wake. */
  private async look(last: boolean): Promise<Found | null> {
    // The reconnect wakes this wait again.
    if (!this.bus.connected) return null;
    const hinted = this.hinted;
    this.hinted = false;
    let stored: StoredMessage | null;
    try {
      const seconds = last ? Math.min(IO_SECONDS, 1) : IO_SECONDS;
      stored = await this.looks.decision(requestSubject(this.request, "decision"), hinted, seconds);
    } catch (error) {
      if (error instanceof errors.BusRefusedError || !(error instanceof errors.CountersignError)) throw error;
      note(`could not look for the decision of ${this.request.requestId}: ${error.message}`);
      // What it would have found is still there to be found, and nothing more may be heard of it.
      this.hinted ||= hinted;
      this.lookAt = ticks() + UNANSWERED_PAUSE;
      return null;
    }
    if (stored === null) {
      if (hinted || this.echoes > 0) this.expectMore();
      return null;
    }
    return this.judge(stored, last);
  }

  private judge(stored: StoredMessage, last: boolean): Found | null {
    const lacking = this.looks.fault;
    try {
      const decision = judge(stored, this.request, this.looks.trust, this.secondsLeft <= 0);
      if (lacking === null || !BOUND.has(decision.verdict)) return { decision, stored };
    } catch (error) {
      if (!(error instanceof errors.VoidDecisionError)) throw error;
      this.unknownSince ??= ticks();
      const patient = lacking !== null || ticks() - this.unknownSince < UNKNOWN_KEY_PATIENCE;
      if (last || !patient || !MAY_BE_NEW.has(error.code)) {
        const unsure = lacking !== null && MAY_BE_NEW.has(error.code);
        const why = "the realm log lacks the entry that this agent knows";
        throw new Faulty(unsure ? new errors.VoidDecisionError(lacking, why) : error, stored);
      }
    }
    this.lookAt = ticks() + (lacking === null ? 0.25 : UNANSWERED_PAUSE);
    return null;
  }

  /**
   * A hint without a decision: a replica that lags behind, or nothing. Five looks, ever further apart. Until they are
   * done further hints wake nobody, so that empty ones cannot keep the agent busy.
   */
  private expectMore(): void {
    this.echoes = (this.echoes + 1) % 6;
    if (this.echoes > 0) this.lookAt = ticks() + 0.025 * 2 ** this.echoes;
    else note(`hints for ${this.request.requestId} have nothing stored behind them`);
  }

  /**
   * Places the request, again after a loss, until the deadline. The bytes never change.
   *
   * The answer "something is there already" ends it. After a try without an answer that is most likely this request; if
   * not, its decision has another `request_digest` and does not verify. Without one it is another's.
   */
  private async publish(ending: AbortSignal): Promise<void> {
    for (let pause = 0.25; !ending.aborted; pause = Math.min(pause * 2, 5)) {
      const before = this.mayStand;
      this.mayStand = true;
      try {
        const own = await this.bus.store(
          requestSubject(this.request, "request"),
          this.request.payload,
          IO_SECONDS,
          true,
        );
        if (!own && !before) {
          this.mayStand = false;
          throw new errors.AlreadyAskedError(
            `a request ${this.request.requestId} was made before; use a new id for each call`,
          );
        }
        this.placed = true;
        this.travelled = ticks() - this.started;
        return;
      } catch (error) {
        if (error instanceof errors.NotSentError || !(error instanceof errors.BusUnreachableError))
          this.mayStand = before;
        if (!(error instanceof errors.BusUnreachableError)) throw error;
        note(`could not place ${this.request.requestId} yet: ${error.message}`);
      }
      await this.bus.pause(Math.min(pause, Math.max(0, this.secondsLeft)), ending);
      if (this.secondsLeft <= 0) return;
    }
  }
}
