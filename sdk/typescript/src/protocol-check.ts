#!/usr/bin/env node
/** Prints what this SDK makes of a file of vectors: `countersign-protocol-check FILE`. It compares nothing. */
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { member } from "./json.js";
import { deviceMaySet, deviceSigned } from "./passkey.js";
import { Realm, fault, type Facts, type Term } from "./realm.js";
import { meaning, slotOf, type OperatorRecord } from "./records.js";
import { base64urlBytes, signaturesReady } from "./signature.js";
import { effectiveRisk } from "./words.js";

// The files are the project's own: what is not as expected is another file.
type Asked = Facts & { key: string; keys: string[]; seq: number; limits: unknown; until: unknown };
type Row = any; // oxlint-disable-line no-explicit-any
type Vectors = { kind: string; realm: string } & Record<"logs" | "signatures" | "decisions" | "values", Row[]>;

/** A line for each log, or one for devices. Throws for another file. */
export async function check(vectors: Vectors): Promise<unknown[]> {
  await signaturesReady();
  if (vectors.kind === "realm-log") return vectors.logs.map((log) => ofLog(vectors.realm, log));
  if (vectors.kind === "devices") return [ofDevices(vectors)];
  throw new TypeError("a file of another kind");
}

function ofLog(realm: string, log: Row): unknown {
  const { name, root, messages, decisions, votes, anchors } = log;
  const [state, bySlot] = [new Realm(realm, root), new Realm(realm, root)];
  const sent = (messages as Row[]).map(({ subject, seq, payload, payload_base64url }) => {
    const bytes = base64urlBytes(payload_base64url) ?? Buffer.from(payload ?? "");
    return { slot: slotOf(subject), seq: Number(seq), bytes };
  });
  const words = sent.map(({ slot, seq, bytes }) => (slot === null ? null : state.apply(slot, seq, bytes)));
  for (const { slot, seq, bytes } of sent.toSorted((one, other) => (one.slot ?? 0) - (other.slot ?? 0))) {
    if (slot === bySlot.nextSlot) bySlot.apply(slot, seq, bytes);
  }
  return {
    name,
    words,
    ...shown(state),
    decisions: decisions.map((asked: Asked) => ({
      console: state.fault(asked.key, facts(asked), asked.seq),
      agent: state.agentFault(asked.key, facts(asked), asked.seq),
    })),
    votes: votes.map((asked: Asked) => ofVotes(state, asked)),
    registers: null,
    anchors: anchors.map(({ n, digest }: Row) => state.holds(n, digest)),
    orders_agree: same(shown(bySlot), shown(state)) && same([...bySlot.terms].toSorted(), [...state.terms].toSorted()),
  };
}

function shown(state: Realm): object {
  const operators = [...state.operators].map(([who, record]): [string, object] => {
    const [admin, about] = [member(record, "admin") ?? false, limits(member(record, "limits"))];
    return [who, { name: record["name"], admin, limits: about, keys: byKey(keysOf(record)) }];
  });
  return {
    head: { n: state.chain.length, digest: state.chain.at(-1)?.digest ?? null },
    acceptance: state.acceptance,
    recovery: state.recovery,
    operators: byKey(operators),
    ended: state.ended(),
    chain: state.chain.map(({ n, digest, slot, sequence }) => ({ n, digest, slot, seq: sequence })),
    next_slot: state.nextSlot,
  };
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function keysOf({ keys }: OperatorRecord): [string, object][] {
  return keys.map((key) => {
    const device = member(key, "device") ?? null;
    return [key.key, { role: key.role, limits: limits(member(key, "limits")), device }];
  });
}

function byKey<T>(entries: [string, T][]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function limits(given: unknown): object | null {
  const means = meaning(given);
  return means === null ? null : { workspaces: means.workspaces, max_risk: means.maxRisk };
}

function facts(asked: Asked): Facts {
  return { ...asked, risk: effectiveRisk(asked.risk), effects: asked.effects ?? null };
}

function ofVotes(state: Realm, asked: Asked): object {
  const about = { ...facts(asked), origin: "operator" };
  const counted = asked.keys.filter((key) => state.voter(key, about, asked.seq) !== null);
  const forAgent = counted.filter((key) => state.agentFault(key, about, asked.seq) === null);
  const people = (keys: string[]): number => new Set(keys.map((key) => state.voter(key, about, asked.seq))).size;
  return { console: people(counted), agent: people(forAgent) };
}

function ofDevices(vectors: Vectors): unknown {
  return {
    signatures: vectors.signatures.map(({ record, operator, context, subject, payload, sig }) =>
      deviceSigned(record, operator, context, vectors.realm, subject, Buffer.from(payload), sig),
    ),
    decisions: vectors.decisions.map((asked: Asked) => {
      const key = { key: "", role: "device", limits: asked.limits, until: asked.until } as Term["key"];
      return fault({ n: 1, since: 0, operator: "", limits: null, key, until: null }, facts(asked));
    }),
    values: vectors.values.map(({ device, key, value }) => deviceMaySet(device, key, value)),
  };
}

/** The exit code: 2 where the file cannot be read. */
export async function main(given: readonly string[]): Promise<number> {
  let lines: unknown[];
  try {
    if (given.length !== 1) throw new TypeError("one file");
    lines = await check(JSON.parse(readFileSync(given[0] ?? "", "utf8")) as Vectors);
  } catch (error) {
    process.stderr.write(`usage: countersign-protocol-check FILE (${String(error)})\n`);
    return 2;
  }
  process.stdout.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return 0;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
}
