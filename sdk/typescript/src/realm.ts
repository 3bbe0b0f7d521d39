/**
 * The realm log: who may sign (protocol, section 8). Pure: never reads the bus or a clock.
 *
 * Entries are folded into one state. A key counts between the entries that began and ended its term, by the sequences
 * of their messages; nothing else decides.
 */
import { isObject, member, type JsonObject } from "./json.js";
import { deviceMay, isMoment } from "./passkey.js";
import * as form from "./records.js";
import type { Entry, Limits, OperatorRecord, RealmKey } from "./records.js";
import { verify } from "./signature.js";
import type { Risk } from "./words.js";

/** What limits bind, and what an agent asks the head for, too. */
export const BOUND: ReadonlySet<string> = new Set(["approve", "modify", "skip", "respond", "escalate"]);

const ORIGINS: Record<string, string> = { expired: "timeout", withdrawn: "agent", rejected: "system" };
const DECIDING_ORIGINS: ReadonlySet<string> = new Set(["operator", "rule", "setup_key"]);
const KNOWN_ROLES: ReadonlySet<string> = new Set(["human", "auto", "device"]);
/** Whose key the recovery key is. */
const NOBODY = "";

/**
 * What a decision or a vote says, and of which request. `risk` is effective, `effects` the request's word; `at` is the
 * server's stamp as the protocol writes times.
 */
export interface Facts {
  readonly verdict: string;
  readonly origin: string;
  readonly workspace: string;
  readonly risk: Risk;
  readonly effects: string | null;
  readonly verifies: readonly string[];
  readonly at: string;
}

/** An entry of the chain, and where it is stored. */
export interface Linked {
  readonly n: number;
  readonly digest: string;
  readonly slot: number;
  readonly sequence: number;
}

/**
 * A stretch in which the limits of a key's operator and the fields of the key stay the same. It counts for what is
 * stored above `since`, up to `until`; null is the head.
 */
export interface Term {
  readonly n: number;
  readonly since: number;
  readonly operator: string;
  readonly limits: Limits | null;
  readonly key: RealmKey;
  until: number | null;
}

/** What an entry would make of the state. */
interface Draft {
  operators: Map<string, OperatorRecord>;
  owners: Map<string, string>;
  touched: string[];
  acceptance: boolean;
  recovery: string | null;
}

/** The state of a log. `root` is the digest of entry 1. */
export class Realm {
  readonly chain: Linked[] = [];
  acceptance = false;
  recovery: string | null = null;
  operators = new Map<string, OperatorRecord>();
  /** Each key that an entry with effect has named, and whose it is. */
  readonly owners = new Map<string, string>();
  readonly terms = new Map<string, Term[]>();
  nextSlot = 1;
  /** The highest sequence that was read. */
  sequence = 0;
  private readonly early = new Set<number>();

  constructor(
    readonly realm: string,
    readonly root: string,
  ) {}

  /** Whether this is entry `n` of the chain. */
  holds(n: number, digest: string): boolean {
    return this.chain[n - 1]?.digest === digest;
  }

  /** Keys and ids that were named and count no longer. A recovery key is none of them. */
  ended(): string[] {
    const named = [...this.owners].filter(([, owner]) => owner !== NOBODY).map(([key]) => key);
    return named.filter((key) => !this.terms.get(key)?.some((term) => term.until === null)).toSorted();
  }

  /** The term of a key of a known role that counts for what is stored at `sequence`, or at the head. */
  term(key: string, sequence: number | null = null): Term | null {
    const counts = (term: Term): boolean =>
      sequence === null
        ? term.until === null
        : term.since < sequence && (term.until === null || sequence <= term.until);
    const found = this.terms.get(key)?.find(counts);
    return found !== undefined && KNOWN_ROLES.has(found.key.role) ? found : null;
  }

  /** Why `key` does not count for what is stored at `sequence`, or at the head; null where it does. */
  fault(key: string, facts: Facts, sequence: number | null = null): string | null {
    const term = this.term(key, sequence);
    return term === null ? "unknown_key" : fault(term, facts);
  }

  /** The same for an agent: what is more than no has to count at the head, too. */
  agentFault(key: string, facts: Facts, sequence: number): string | null {
    const found = this.fault(key, facts, sequence);
    return found !== null || !BOUND.has(facts.verdict) ? found : this.fault(key, facts);
  }

  /** The operator whose vote it is; null where it is not counted. */
  voter(key: string, facts: Facts, sequence: number | null = null): string | null {
    const term = this.term(key, sequence);
    return term === null || fault(term, facts) !== null ? null : term.operator;
  }

  /** What becomes of a message: `ok`, `no_change`, or why it does nothing. */
  apply(slot: number, sequence: number, message: Uint8Array): string {
    const early = sequence <= this.sequence || slot !== this.nextSlot;
    this.sequence = Math.max(this.sequence, sequence);
    if (slot === this.nextSlot) {
      this.nextSlot += 1;
      while (this.early.delete(this.nextSlot)) this.nextSlot += 1;
    } else if (slot > this.nextSlot) {
      this.early.add(slot);
    }
    if (early) return "gap";
    const entry = form.readEntry(message);
    if (entry === null) return "unreadable";
    if (!form.isSigned(entry, this.realm)) return "bad_signature";
    return this.link(entry, slot, sequence);
  }

  private link(entry: Entry, slot: number, sequence: number): string {
    const n = this.chain.length + 1;
    const prev = this.chain.at(-1)?.digest ?? null;
    if (entry.body["n"] !== n || entry.body["prev"] !== prev || (n === 1 && entry.digest !== this.root)) {
      return "not_next";
    }
    const term = this.term(entry.key);
    const own = term?.key.role === "human" ? term.operator : null;
    if (n > 1 && own === null && entry.key !== this.recovery) return "unknown_key";
    const { acceptance, recovery } = this;
    const draft: Draft = { operators: new Map(this.operators), owners: new Map(), touched: [], acceptance, recovery };
    const word = this.judge(entry, own, draft);
    if (word === "ok" || n > 1) this.chain.push({ n, digest: entry.digest, slot, sequence });
    if (word === "ok") this.take(draft, n, sequence);
    return word;
  }

  private judge(entry: Entry, own: string | null, draft: Draft): string {
    const records = Object.hasOwn(entry.body, "operators") ? entry.body["operators"] : [];
    const settings = Object.hasOwn(entry.body, "realm") ? entry.body["realm"] : {};
    if (!form.areRecords(records) || !form.isSettings(settings) || !records.every((one) => this.namesItself(one))) {
      return "bad_record";
    }
    const everything = own === null || member(this.operators.get(own), "admin") === true;
    let same = true;
    for (const record of records) {
      const word = this.record(record, entry.key, own, everything, draft);
      if (word !== "ok" && word !== "no_change") return word;
      same = same && word === "no_change";
    }
    const acceptance = member(settings, "acceptance") ?? this.acceptance;
    if (acceptance !== this.acceptance) {
      if (!everything) return "not_permitted";
      draft.acceptance = acceptance === true;
      same = false;
    }
    const word = this.judgeRecovery(settings, entry.key, everything, draft);
    if (word !== "ok" && word !== "no_change") return word;
    if (![...draft.operators.values()].some((record) => member(record, "admin") === true)) return "last_admin";
    return same && word === "no_change" ? "no_change" : "ok";
  }

  private judgeRecovery(settings: JsonObject, by: string, everything: boolean, draft: Draft): string {
    const recovery = member(settings, "recovery");
    const key = member(recovery, "key");
    if (!isObject(recovery) || typeof key !== "string" || key === this.recovery) return "no_change";
    if (this.owner(key, draft) !== undefined) return "key_taken";
    if (!this.proves(key, recovery["proof"], `${key}\nrecovery`)) return "bad_proof";
    if (!everything || (this.recovery !== null && this.recovery !== by)) return "not_permitted";
    draft.owners.set(key, NOBODY);
    draft.recovery = key;
    return "ok";
  }

  /** A new operator's id is one of the desk keys. */
  private namesItself(record: OperatorRecord): boolean {
    if (record.keys.length === 0 || this.owners.has(record.id)) return true;
    return record.keys.some((key) => key.role === "human" && key.key === record.id);
  }

  private record(record: OperatorRecord, by: string, own: string | null, everything: boolean, draft: Draft): string {
    const who = record.id;
    const keys = byName(record);
    const before = this.operators.get(who);
    const had = byName(before);
    const coming = [...keys.keys()].filter((name) => !had.has(name));
    const owner = this.owner(who, draft);
    if ((owner !== undefined && owner !== who) || coming.some((name) => this.owner(name, draft) !== undefined)) {
      return "key_taken";
    }
    if (keys.size > 0 && before === undefined && owner !== undefined) return "key_taken";
    const changed = [...keys.values()].filter((key) => {
      const old = had.get(key.key);
      return old === undefined || form.comparable(key) !== form.comparable(old);
    });
    for (const { key, role, proof } of changed) {
      if ((role === "human" || role === "auto") && !this.proves(key, proof, `${who}\n${role}`)) return "bad_proof";
    }
    const himself = own === who;
    if (before === undefined) {
      if (owner !== undefined) return "no_change";
      const founder = this.chain.length === 0 && keys.get(by)?.role === "human";
      const more = [...keys.keys()].some((name) => name !== who);
      if (!everything || (more && !founder)) return "not_permitted";
    } else {
      const ends = [...had.keys()].some((name) => !keys.has(name));
      const renamed = keys.size > 0 && form.comparable(record, "id", "keys") !== form.comparable(before, "id", "keys");
      if (changed.length === 0 && !ends && !renamed) return "no_change";
      if ((changed.length > 0 && !himself) || (ends && !everything && !himself) || (renamed && !everything)) {
        return "not_permitted";
      }
    }
    draft.touched.push(who);
    for (const name of [who, ...coming]) draft.owners.set(name, who);
    if (keys.size > 0) draft.operators.set(who, record);
    else draft.operators.delete(who);
    return "ok";
  }

  private owner(key: string, draft: Draft): string | undefined {
    return draft.owners.get(key) ?? this.owners.get(key);
  }

  private proves(key: string, proof: unknown, payload: string): boolean {
    return verify(key, proof, "key", this.realm, form.SUBJECT, Buffer.from(payload));
  }

  private take(draft: Draft, n: number, sequence: number): void {
    for (const operator of draft.touched) {
      const after = draft.operators.get(operator);
      const keys = byName(after);
      const limits = form.meaning(member(after, "limits"));
      for (const name of byName(this.operators.get(operator)).keys()) {
        const term = this.terms.get(name)?.at(-1);
        const key = keys.get(name);
        if (term === undefined) continue;
        if (
          key !== undefined &&
          form.sameLimits(term.limits, limits) &&
          form.comparable(key) === form.comparable(term.key)
        ) {
          keys.delete(name);
        } else {
          term.until = sequence;
        }
      }
      for (const [name, key] of keys) {
        const terms = this.terms.get(name) ?? [];
        terms.push({ n, since: sequence, operator, limits, key, until: null });
        this.terms.set(name, terms);
      }
    }
    this.operators = draft.operators;
    this.acceptance = draft.acceptance;
    this.recovery = draft.recovery;
    for (const [key, owner] of draft.owners) this.owners.set(key, owner);
  }
}

function byName(record: OperatorRecord | undefined): Map<string, RealmKey> {
  return new Map(record?.keys.map((key) => [key.key, key]));
}

/** Why a key with this term does not count for a decision or a vote (section 5, steps 3, 10 and 16). */
export function fault(term: Term, facts: Facts): string | null {
  return keyFault(term, facts) ?? roleFault(term, facts) ?? limitFault(term, facts);
}

/** Step 3: a device that ended, or that the agent cannot check. */
export function keyFault(term: Term, facts: Pick<Facts, "at" | "verifies">): string | null {
  if (term.key.role !== "device") return null;
  const until = member(term.key, "until");
  if (!isMoment(until) || until <= facts.at) return "unknown_key";
  return facts.verifies.includes("webauthn") ? null : "device_unsupported";
}

/** Step 10: the role fits the origin, and the origin the verdict. */
export function roleFault(term: Term, facts: Facts): string | null {
  const person = term.key.role === "human" || term.key.role === "device";
  if (person !== (facts.origin === "operator")) return "wrong_role";
  const known = BOUND.has(facts.verdict) || facts.verdict === "terminate";
  const needed = Object.hasOwn(ORIGINS, facts.verdict) ? ORIGINS[facts.verdict] : undefined;
  const fits = needed === undefined ? !known || DECIDING_ORIGINS.has(facts.origin) : facts.origin === needed;
  return fits ? null : "wrong_role";
}

/** Step 16: what a device may not, and the limits that bind. */
export function limitFault(term: Term, facts: Facts): string | null {
  const own = form.meaning(member(term.key, "limits"));
  if (term.key.role === "device" && !deviceMay(own, facts)) return "device_limit";
  const binding = [term.limits, term.key.role === "auto" ? own : null];
  const within = binding.every((limits) => limits === null || form.allows(limits, facts.workspace, facts.risk));
  return within || !BOUND.has(facts.verdict) ? null : "beyond_limit";
}
