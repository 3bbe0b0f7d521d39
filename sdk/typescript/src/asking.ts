/**
 * The requests of one gate that wait for their answers, and those whose answer comes when nobody waits any more.
 *
 * Refuses to answer "allowed" for anything but a verified decision in time, and never after a withdraw.
 */
import type { Bus } from "./bus.js";
import { sleep, ticks, within } from "./clock.js";
import { unanswered, type Decision } from "./decision.js";
import * as errors from "./errors.js";
import type { Entry } from "./journal.js";
import { refusal, responseTo, withdrawal, type Letter } from "./letters.js";
import type { StoredMessage } from "./log.js";
import type { Looks } from "./looks.js";
import { kindOf, note, warn } from "./notices.js";
import type { Outbox } from "./outbox.js";
import type { SentRequest } from "./request.js";
import { Faulty, Wait, type Found } from "./wait.js";

export const MAX_WAITING = 10_000;
/** How long to look on beyond the server's deadline, which is later than the agent's timer by the request's way. */
const PATIENCE = 2;

/** From a verified decision to the words of `degraded`: what of it cannot be honoured. */
export type Degraded = (decision: Decision) => readonly string[] | null | undefined | Promise<readonly string[] | null>;

/** How a request is asked. */
export interface Asking {
  readonly degraded?: Degraded | undefined;
  /** One with an entry of the journal stays where the wait ends without an answer; any other is withdrawn. */
  readonly entry?: Entry | undefined;
  /** Of the timer of one that was begun before. */
  readonly secondsLeft?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class Requests {
  /** By request id. */
  private readonly waits = new Map<string, Wait>();
  private readonly watched = new Set<Promise<void>>();
  private readonly closing = new AbortController();
  private closed = false;

  constructor(
    private readonly bus: Bus,
    private readonly outbox: Outbox,
    private readonly looks: Looks,
  ) {}

  /** Waits for a request's answer, and hands in its first receipt. */
  async ask(request: SentRequest, how: Asking): Promise<Decision> {
    how.signal?.throwIfAborted();
    if (this.closed) throw new errors.GateClosedError("the gate is closed");
    // Each request that ends hands in one letter, which always has to find room.
    if (this.waits.size + this.watched.size + this.outbox.size >= MAX_WAITING) {
      throw new errors.TooManyWaitingError(`${MAX_WAITING} requests and receipts are already waiting`);
    }
    if (this.waits.has(request.requestId)) {
      throw new errors.AlreadyAskedError(
        `request ${request.requestId} is already waiting; use a new id for each call`,
        "already_waiting",
      );
    }
    const wait = new Wait(request, this.bus, this.looks, how.secondsLeft);
    this.waits.set(request.requestId, wait);
    const aborted = (): void => wait.stop(how.signal?.reason);
    how.signal?.addEventListener("abort", aborted);
    try {
      return await this.answer(wait, how);
    } catch (error) {
      throw await this.failed(wait, how, error);
    } finally {
      how.signal?.removeEventListener("abort", aborted);
      this.waits.delete(request.requestId);
    }
  }

  /** The wait for a request. */
  waiting(requestId: string): Wait | undefined {
    return this.waits.get(requestId);
  }

  /** The withdrawal on its way; null where there is nothing to withdraw, or it was withdrawn already. */
  takeBack(wait: Wait, reason: string): Promise<void> | null {
    if (wait.withdrawn) return null;
    const told = wait.mayStand ? this.outbox.post(withdrawal(wait.request, reason)) : null;
    wait.takeBack(told);
    return told;
  }

  /** A message arrived on a `decided` subject. */
  hint(subject: string): void {
    this.waits.get(subject.slice(subject.lastIndexOf(".") + 1))?.hint();
  }

  /** The connection came back, or ended for good. */
  lookAgain(): void {
    for (const wait of this.waits.values()) wait.wake();
  }

  /** Ends every wait, and lets those who asked take their errors. */
  async close(): Promise<void> {
    this.closed = true;
    for (const wait of this.waits.values()) wait.close();
    const until = ticks() + 5;
    while (this.waits.size > 0 && ticks() < until) await sleep(0.005);
  }

  /** Looks once more for the answers that nobody waits for. */
  async closeWatched(seconds: number): Promise<void> {
    this.closing.abort();
    await within(seconds, Promise.all(this.watched));
  }

  private async answer(wait: Wait, how: Asking): Promise<Decision> {
    const found = await wait.run();
    // Before anything else: an answer is handed out once, whatever happens to this process from here on.
    await how.entry?.end();
    if (found === null) {
      this.watch(wait, how.degraded);
      const [verdict, origin] = wait.withdrawn ? (["withdrawn", "agent"] as const) : (["expired", "timeout"] as const);
      return unanswered(wait.request.requestId, verdict, origin);
    }
    this.outbox.post(await this.response(wait, found, how.degraded)).catch(() => undefined);
    return found.decision;
  }

  private async response(wait: Wait, found: Found, degraded: Degraded | undefined): Promise<Letter> {
    const words = await wordsOf(degraded, found.decision);
    try {
      return responseTo(wait.request, found.decision, found.stored, wait.withdrawn, words);
    } catch (error) {
      throw error instanceof errors.VoidDecisionError ? new Faulty(error, found.stored) : error;
    }
  }

  /** What `ask` throws, after the console was told what it has to know. */
  private async failed(wait: Wait, how: Asking, error: unknown): Promise<unknown> {
    if (error instanceof Faulty) {
      await how.entry?.end();
      this.refuse(wait.request, error);
      return error.fault;
    }
    if (how.entry !== undefined && !wait.withdrawn) return error;
    if (how.signal?.aborted !== true) {
      this.takeBack(wait, "the agent gave up");
      return error;
    }
    // At the very end the deadline has answered already; a withdraw would only hide that.
    if (wait.secondsLeft > 0 || !wait.placed) this.takeBack(wait, "the agent stopped waiting");
    this.watch(wait, how.degraded);
    return error;
  }

  private refuse(
    request: SentRequest,
    { fault, stored }: { fault: errors.VoidDecisionError; stored: StoredMessage },
  ): void {
    warn(`refused the decision of ${request.requestId}: ${fault.code}`);
    this.outbox.post(refusal(request, stored, fault.code)).catch(() => undefined);
  }

  /**
   * Looks on for a request that may be on the bus and whose wait ended without an answer. It runs nothing: the console
   * is informed what became of the answer, as it takes an agent that says nothing of an approval for one that hangs.
   */
  private watch(wait: Wait, degraded: Degraded | undefined): void {
    if (!wait.mayStand || this.closing.signal.aborted) return;
    const watching = this.lookOn(wait, degraded).finally(() => this.watched.delete(watching));
    this.watched.add(watching);
  }

  private async lookOn(wait: Wait, degraded: Degraded | undefined): Promise<void> {
    const until = ticks() + wait.travelled + PATIENCE;
    try {
      for (const pause of [0.3, 1.2, 2, 2]) {
        await sleep(pause, this.closing.signal);
        const last = this.closing.signal.aborted || ticks() >= until;
        const found = await wait.lookBack();
        if (found !== null) this.outbox.post(await this.response(wait, found, degraded)).catch(() => undefined);
        if (last || found !== null) return;
      }
    } catch (error) {
      if (error instanceof Faulty) this.refuse(wait.request, error);
      else note(`does not look on for a decision of ${wait.request.requestId}: ${kindOf(error)}`);
    }
  }
}

/** A fault of the caller's function does not hold the answer back. */
async function wordsOf(degraded: Degraded | undefined, decision: Decision): Promise<readonly string[] | null> {
  try {
    const words = (await degraded?.(decision)) ?? null;
    if (words === null || (Array.isArray(words) && words.every((word) => typeof word === "string"))) return words;
    warn("what of a decision cannot be honoured has to be a list of words");
  } catch (error) {
    warn(`could not determine what of a decision cannot be honoured: ${kindOf(error)}`);
  }
  return null;
}
