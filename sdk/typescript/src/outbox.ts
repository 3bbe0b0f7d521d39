/**
 * Receipts and withdrawals on their way to the bus.
 *
 * Refuses to lose one silently: each is tried again, with growing pauses, until a stream has it, the bus refuses it for
 * good, or ten minutes have passed. Letters of one subject arrive in the order of `post`.
 */
import type { Bus } from "./bus.js";
import { sleep, ticks, within } from "./clock.js";
import { BusLoginError, BusTlsError, BusUnreachableError, GateClosedError } from "./errors.js";
import type { Letter } from "./letters.js";
import { note, warn } from "./notices.js";

const TRIED_FOR = 600;
const SHORTEST_PAUSE = 0.1;
const LONGEST_PAUSE = 5;
const LONGEST_CLOSE = 30;
/** Seconds until one try counts as unanswered. */
export const IO_SECONDS = 2;

/** Where letters are handed in. Its owner sees to it that no more than a limit wait (`size`). */
export class Outbox {
  private readonly unsent = new Set<Promise<void>>();
  private readonly last = new Map<string, Promise<void>>();
  private readonly closing = new AbortController();

  /** `quiet` where an end of the gate that cuts letters off is nothing to warn of. */
  constructor(
    private readonly bus: Bus,
    private readonly quiet = false,
  ) {}

  /** How many letters are neither stored nor given up. */
  get size(): number {
    return this.unsent.size;
  }

  /** Hands in a letter. What it returns ends when it is stored, and throws when it was given up; waiting is optional. */
  post(letter: Letter): Promise<void> {
    const delivery = this.deliver(letter, this.last.get(letter.subject), ticks() + TRIED_FOR);
    this.unsent.add(delivery);
    this.last.set(letter.subject, delivery);
    void delivery
      .catch((error: unknown) => {
        const say = this.quiet && error instanceof GateClosedError ? note : warn;
        say(`not delivered on ${letter.subject}: ${(error as Error).message}`);
      })
      .finally(() => {
        this.unsent.delete(delivery);
        if (this.last.get(letter.subject) === delivery) this.last.delete(letter.subject);
      });
    return delivery;
  }

  /**
   * Delivers what is handed in. Gives up what is left once `seconds` pass without a delivery, or after half a minute in
   * all.
   */
  async close(seconds: number): Promise<void> {
    const until = ticks() + LONGEST_CLOSE;
    while (this.unsent.size > 0 && ticks() < until) {
      const before = this.unsent.size;
      const ended = [...this.unsent].map((delivery) => delivery.catch(() => undefined));
      await within(seconds, Promise.race(ended));
      await Promise.resolve();
      if (this.unsent.size === before) break;
    }
    this.closing.abort();
  }

  private async deliver(letter: Letter, before: Promise<void> | undefined, until: number): Promise<void> {
    await before?.catch(() => undefined);
    for (let pause = SHORTEST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      if (this.closing.signal.aborted) throw new GateClosedError("the gate was closed before");
      try {
        await this.bus.store(letter.subject, letter.payload, IO_SECONDS, letter.first);
        return;
      } catch (error) {
        const passing = [BusUnreachableError, BusLoginError, BusTlsError].some((kind) => error instanceof kind);
        if (!passing || ticks() >= until) throw error;
      }
      await this.bus.pause(pause, this.closing.signal);
      // A little apart from the others.
      await sleep(pause * (0.1 + Math.random() * 0.4), this.closing.signal);
    }
  }
}
