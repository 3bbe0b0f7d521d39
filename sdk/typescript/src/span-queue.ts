/**
 * Spans on their way to the bus: in order, one at a time, never more than a thousand waiting.
 *
 * Refuses to hold up the agent: what does not fit, or is not taken after a second try, is dropped and a warning says so.
 * Nothing that decides anything travels here.
 */
import type { Bus } from "./bus.js";
import { within } from "./clock.js";
import { BusUnreachableError } from "./errors.js";
import { warn } from "./notices.js";
import { IO_SECONDS } from "./outbox.js";

const MAX_QUEUED = 1000;

export class SpanQueue {
  private readonly queue: Uint8Array[] = [];
  private readonly closing = new AbortController();
  private sending: Promise<void> | null = null;
  private dropped = 0;

  constructor(
    private readonly bus: Bus,
    private readonly subject: string,
  ) {}

  /** Queues one message; drops it when the queue is full or closed. */
  put(payload: Uint8Array): void {
    const closed = this.closing.signal.aborted;
    if (closed || this.queue.length >= MAX_QUEUED) {
      this.drop(closed ? "the gate is closed" : "the bus is too slow");
      return;
    }
    this.queue.push(payload);
    this.sending ??= this.sendAll();
  }

  /** Sends what is queued for at most `seconds`, then stops and drops the rest. */
  async close(seconds: number): Promise<void> {
    if (this.sending !== null) await within(seconds, this.sending);
    this.closing.abort();
    if (this.queue.length > 0)
      warn(`${this.queue.length} messages for ${this.subject} dropped: the gate was closed before`);
  }

  private drop(why: string): void {
    this.dropped += 1;
    // One line for each power of two: a flood of spans is no flood of warnings.
    if ((this.dropped & (this.dropped - 1)) === 0) warn(`${this.dropped} messages for ${this.subject} dropped: ${why}`);
  }

  private async sendAll(): Promise<void> {
    while (this.queue.length > 0 && !this.closing.signal.aborted) {
      while (!this.bus.connected && !this.bus.ended && !this.closing.signal.aborted) {
        await this.bus.pause(5, this.closing.signal);
      }
      const payload = this.queue[0];
      try {
        if (payload !== undefined) await this.send(payload);
      } catch {
        this.drop("not taken");
      }
      this.queue.shift();
    }
    this.sending = null;
  }

  private async send(payload: Uint8Array): Promise<void> {
    try {
      await this.bus.store(this.subject, payload, IO_SECONDS);
    } catch (error) {
      if (!(error instanceof BusUnreachableError)) throw error;
      await this.bus.pause(0.5, this.closing.signal);
      await this.bus.store(this.subject, payload, IO_SECONDS);
    }
  }
}
