/**
 * Looks at the realm log and at decisions, so that everything that is seen was there at one moment (protocol, section
 * 8.10).
 *
 * A look gets decisions, the slot that was read last and every slot that was not read yet, and is made twice: what two
 * looks do not show alike is not believed. Decisions that are asked for meanwhile are looked for together.
 */
import type { Bus } from "./bus.js";
import { BusUnreachableError } from "./errors.js";
import { Log, sameMessage, subjectOf, type LogHead, type StoredMessage } from "./log.js";
import { warn } from "./notices.js";
import { IO_SECONDS } from "./outbox.js";
import type { Trust } from "./verify.js";

/** Slots that are asked for at once where many are new. */
const AT_ONCE = 64;
/** Decisions of one look. */
const TOGETHER = 256;
/** Looks that may differ before it counts as unreadable. */
const TRIES = 8;

interface Wanted {
  readonly subject: string;
  readonly resolve: (found: StoredMessage | null) => void;
  readonly reject: (error: unknown) => void;
}

interface Look {
  readonly last: StoredMessage | null;
  readonly fresh: readonly StoredMessage[];
  readonly decisions: readonly (StoredMessage | null)[];
}

export class Looks {
  private readonly log: Log | null;
  private readonly waiting: Wanted[] = [];
  private looking = false;
  private said: string | null = null;

  /** Without a `head` nothing is checked. */
  constructor(
    private readonly bus: () => Bus,
    private readonly realm: string,
    head: LogHead | null,
  ) {
    this.log = head === null ? null : new Log(realm, head);
  }

  /** Whom to believe, as of the last look. */
  get trust(): Trust {
    return { realm: this.realm, state: this.log?.state ?? null };
  }

  /** Why nothing that lets a call run may be believed; null where it may. */
  get fault(): string | null {
    return this.log?.fault ?? null;
  }

  /** Reads the log. Throws a bus error. */
  async start(): Promise<void> {
    if (this.log !== null) await this.look([]);
  }

  /** The decision that is stored on `subject`, and the log of that moment in `trust`. Throws a bus error. */
  async decision(subject: string, hinted: boolean, seconds = IO_SECONDS): Promise<StoredMessage | null> {
    // Mostly there is nothing: one message says so.
    if (!hinted || this.log === null) {
      const found = await this.bus().directGet(subject, seconds);
      if (found === null || this.log === null) return found;
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ subject, resolve, reject });
      void this.lookForAll();
    });
  }

  private async lookForAll(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    while (this.waiting.length > 0) {
      const wanted = this.waiting.splice(0, TOGETHER);
      try {
        const found = await this.look(wanted.map(({ subject }) => subject));
        // Each is judged before the next look changes what the log says: its waiter goes on at once.
        for (const [index, { resolve }] of wanted.entries()) resolve(found[index] ?? null);
        await new Promise((resolve) => setImmediate(resolve));
      } catch (error) {
        for (const { reject } of wanted) reject(error);
      }
    }
    this.looking = false;
  }

  private async look(subjects: readonly string[]): Promise<readonly (StoredMessage | null)[]> {
    const log = this.log;
    if (log === null) return [];
    let whole = log.last === null || log.fault !== null;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const one = await this.once(log, whole, subjects);
      const other = await this.once(log, whole, subjects);
      if (!same(one, other)) continue;
      if (whole) log.restart(one.fresh);
      else if (!log.extend(one.last, one.fresh)) {
        whole = true;
        continue;
      }
      this.say(log);
      // What only the second look found was not there for both: it is looked for again.
      return one.decisions.map((found, index) => (sameMessage(found, other.decisions[index] ?? null) ? found : null));
    }
    throw new BusUnreachableError("the realm log changes faster than it can be read");
  }

  private async once(log: Log, whole: boolean, subjects: readonly string[]): Promise<Look> {
    const bus = this.bus();
    const from = whole ? 1 : log.state.nextSlot;
    const last = whole ? null : (log.last?.subject ?? null);
    const [decisions, stored, fresh] = await Promise.all([
      Promise.all(subjects.map((subject) => bus.directGet(subject, IO_SECONDS))),
      last === null ? null : bus.directGet(last, IO_SECONDS),
      slotsFrom(bus, from, whole),
    ]);
    return { last: stored, fresh, decisions };
  }

  private say(log: Log): void {
    if (log.fault !== null && log.fault !== this.said) {
      warn(
        `the realm log lacks the entry that this agent knows (${log.fault}): no approval is believed until it is there`,
      );
    }
    this.said = log.fault;
  }
}

/** Every slot from `from` on, until one is free. */
async function slotsFrom(bus: Bus, from: number, many: boolean): Promise<StoredMessage[]> {
  const found: StoredMessage[] = [];
  for (let size = many ? AT_ONCE : 1; ; size = AT_ONCE) {
    const start = from + found.length;
    const slots = Array.from({ length: size }, (_, index) => bus.directGet(subjectOf(start + index), IO_SECONDS));
    const answers = await Promise.all(slots);
    const free = answers.indexOf(null);
    found.push(...(free < 0 ? answers : answers.slice(0, free)).filter((stored) => stored !== null));
    if (free >= 0) return found;
  }
}

/** Whether both show the same log. Decisions are compared one by one: each is stored once. */
function same(one: Look, other: Look): boolean {
  if (!sameMessage(one.last, other.last) || one.fresh.length !== other.fresh.length) return false;
  return one.fresh.every((stored, index) => sameMessage(stored, other.fresh[index] ?? null));
}
