/** That the agent is there, and what it is: hellos and heartbeats (protocol, section 6). */
import type { Bus } from "./bus.js";
import type { Introduction } from "./calls.js";
import { within } from "./clock.js";
import { TooManyWaitingError } from "./errors.js";
import type { JsonObject } from "./json.js";
import { hello, type Letter } from "./letters.js";
import { IO_SECONDS, Outbox } from "./outbox.js";
import { encode } from "./request.js";

const HEARTBEAT_MS = 10_000;

interface Who {
  readonly workspace: string;
  readonly agent: string;
}

/** Says hello at the start, on change and after a reconnect, and sends a heartbeat every ten seconds. */
export class Presence {
  private letter: Letter;
  private introduction: Introduction;
  private said: Promise<void> | null = null;
  private beating: NodeJS.Timeout | undefined;
  private outbox: Outbox | null = null;

  /** Throws `TypeError` or `InvalidRequestError` for what no hello can say. */
  constructor(
    private readonly who: Who,
    private readonly agent: JsonObject,
    introduction: Introduction,
  ) {
    this.letter = hello(who, agent, introduction);
    this.introduction = structuredClone(introduction);
  }

  /** Says hello, and sends heartbeats from now on. */
  begin(bus: Bus): void {
    this.outbox = new Outbox(bus, true);
    this.say();
    const subject = `countersign.v1.alive.${this.who.workspace}.${this.who.agent}`;
    const beat = encode({ v: 1, instance_id: this.agent["instance_id"] ?? "" });
    bus.publish(subject, beat);
    this.beating = setInterval(() => bus.publish(subject, beat), HEARTBEAT_MS).unref();
  }

  /** Says hello again. One that is still on its way is the newest. */
  reconnected(): void {
    if (this.said === null) this.say();
  }

  /** Says what changed. Ends when the bus has it, or after the time-out of one message. */
  async introduce(limit: number, parts: Introduction): Promise<void> {
    if ((this.outbox?.size ?? 0) >= limit) {
      throw new TooManyWaitingError(`${limit} hellos are already waiting for the bus`);
    }
    const introduction = { ...this.introduction, ...parts };
    this.letter = hello(this.who, this.agent, introduction);
    // What stays is what was said, whatever the caller does with its lists.
    this.introduction = structuredClone(introduction);
    await within(IO_SECONDS, this.say());
  }

  /** No more heartbeats; hellos that are on their way have so many seconds. */
  async close(seconds: number): Promise<void> {
    clearInterval(this.beating);
    await this.outbox?.close(seconds);
  }

  private say(): Promise<void> {
    const said = this.outbox?.post(this.letter) ?? Promise.resolve();
    this.said = said;
    void said
      .catch(() => undefined)
      .finally(() => {
        if (this.said === said) this.said = null;
      });
    return said;
  }
}
