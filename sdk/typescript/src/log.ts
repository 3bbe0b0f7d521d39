/**
 * The realm log as an agent reads it: slot after slot, by direct gets (protocol, section 8.10). Pure.
 *
 * Refuses a log without the entry that is known to be in it: until it is there again, nothing that lets a call run is
 * believed.
 */
import { Realm } from "./realm.js";
import { SUBJECT, slotOf } from "./records.js";

const STREAM = "CS_DECISIONS";

/** The entry of the log that `agent.json` names, and the digest of its first. */
export interface LogHead {
  readonly root: string;
  readonly n: number;
  readonly digest: string;
}

/** A message of a stream as the server returned it. `stamp` is the server's, as it wrote it. */
export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly stamp: string;
  readonly payload: Uint8Array;
  /** Each value of each header, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
}

/** What a direct get returned. */
export interface Answered {
  readonly status: string | null;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly payload: Uint8Array;
}

/** What a slot is read by. */
export function subjectOf(slot: number): string {
  return `${SUBJECT}.${slot}`;
}

/**
 * The message that a direct get of `subject` returned; null where nothing is stored there. Throws `RangeError` for what
 * cannot be read.
 *
 * Of several headers the last counts: the server adds its own behind the publisher's, who may name a status and a
 * sequence, too. So a status counts only without a sequence.
 */
export function storedMessage(subject: string, answered: Answered): StoredMessage | null {
  const last = (name: string): string | null => answered.headers.get(name)?.at(-1) ?? null;
  const [sequence, stamp] = [last("Nats-Sequence"), last("Nats-Time-Stamp")];
  if (sequence === null && answered.status === "404") return null;
  const about = sequence !== null && stamp !== null && /^[1-9][0-9]{0,15}$/.test(sequence);
  if (!about || last("Nats-Subject") !== subject || last("Nats-Stream") !== STREAM) {
    throw new RangeError("the bus sent an unreadable answer");
  }
  return { subject, sequence: Number(sequence), stamp, payload: answered.payload, headers: answered.headers };
}

/** Whether two looks showed the same: subject, sequence, stamp and bytes. */
export function sameMessage(one: StoredMessage | null, other: StoredMessage | null): boolean {
  if (one === null || other === null) return one === other;
  return (
    one.subject === other.subject &&
    one.sequence === other.sequence &&
    one.stamp === other.stamp &&
    Buffer.from(one.payload).equals(other.payload)
  );
}

/** What an agent knows of the log. */
export class Log {
  state: Realm;
  /** Why nothing that lets a call run may be believed: `log_short`, `log_differs`, or null. */
  fault: string | null = "log_short";
  /** The slot with the highest sequence that was read: each look reads it again. */
  last: StoredMessage | null = null;
  private known: { n: number; digest: string };

  constructor(realm: string, head: LogHead) {
    this.state = new Realm(realm, head.root);
    this.known = head;
  }

  /** Takes a look at the last slot and at those from `state.nextSlot` on. False: look from slot 1 on. */
  extend(last: StoredMessage | null, fresh: readonly StoredMessage[]): boolean {
    const highest = this.last;
    if (this.fault !== null || highest === null || !sameMessage(last, highest)) return false;
    if (fresh.some((stored) => stored.sequence <= highest.sequence)) return false;
    apply(this.state, fresh);
    this.know(fresh);
    return true;
  }

  /** Takes a look at every slot, from the first one on. Without the known entry the old state stays. */
  restart(slots: readonly StoredMessage[]): void {
    const state = new Realm(this.state.realm, this.state.root);
    apply(state, slots);
    if (!state.holds(this.known.n, this.known.digest)) {
      this.fault = state.chain.length < this.known.n ? "log_short" : "log_differs";
      return;
    }
    this.state = state;
    this.last = null;
    this.fault = null;
    this.know(slots);
  }

  private know(read: readonly StoredMessage[]): void {
    for (const stored of read) {
      if (this.last === null || stored.sequence > this.last.sequence) this.last = stored;
    }
    const head = this.state.chain.at(-1);
    if (head !== undefined) this.known = { n: head.n, digest: head.digest };
  }
}

function apply(state: Realm, slots: readonly StoredMessage[]): void {
  for (const stored of slots) state.apply(slotOf(stored.subject) ?? 0, stored.sequence, stored.payload);
}
