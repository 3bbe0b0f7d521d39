/**
 * Entries of the realm log and the records in them, by their form (protocol, section 8). Pure.
 *
 * Refuses what another reader could take for something else: null where a value is due, numbers that are not whole,
 * names of no grammar.
 */
import { payloadDigest } from "./digest.js";
import { canonical, isObject, isWhole, member, strictly, type JsonObject } from "./json.js";
import { base64urlBytes, publicKeyBytes, verify } from "./signature.js";
import { NAME, RISKS, type Risk } from "./words.js";

export const MAX_ENTRY_BYTES = 32_768;
/** What every entry is signed for, whatever slot it is in. */
export const SUBJECT = "countersign.v1.realm";

const SLOT = /^countersign\.v1\.realm\.([1-9][0-9]{0,14})$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const DEVICE_KEY = /^W[A-Z2-7]{52}$/;

/** What limits mean. `workspaces` null: all of them; `maxRisk` null: any. */
export interface Limits {
  readonly workspaces: readonly string[] | null;
  readonly maxRisk: Risk | null;
}

/** A key of a record in its form. */
export interface RealmKey extends JsonObject {
  key: string;
  role: string;
}

/** A record in its form; fields beside `id` and `keys` are there where `keys` is not empty. */
export interface OperatorRecord extends JsonObject {
  id: string;
  keys: RealmKey[];
}

/** A message of a slot in the form of an entry. No signature was looked at. */
export interface Entry {
  readonly key: string;
  readonly sig: string;
  readonly payload: Uint8Array;
  readonly body: JsonObject;
  readonly digest: string;
}

/** The slot that a subject names; null for every other subject. */
export function slotOf(subject: string): number | null {
  const found = SLOT.exec(subject);
  return found === null ? null : Number(found[1]);
}

/** Whether what is more than no may be said to a request of this workspace and effective risk. */
export function allows(limits: Limits, workspace: string, risk: Risk): boolean {
  if (limits.workspaces !== null && !limits.workspaces.includes(workspace)) return false;
  return limits.maxRisk === null || RISKS.indexOf(risk) <= RISKS.indexOf(limits.maxRisk);
}

/** Null where the message has another form; `operators` and `realm` are not looked at. */
export function readEntry(message: Uint8Array): Entry | null {
  if (message.length > MAX_ENTRY_BYTES) return null;
  const envelope = strictly(message);
  const [key, sig] = [member(envelope, "key"), member(envelope, "sig")];
  const payload = base64urlBytes(member(envelope, "payload"));
  if (!isPublicKey(key) || base64urlBytes(sig)?.length !== 64 || payload === null) return null;
  const body = strictly(payload);
  if (!isObject(body)) return null;
  const [prev, policy] = [member(body, "prev"), member(body, "policy")];
  const fits =
    isWhole(body, "v", 1) &&
    body["v"] === 1 &&
    isWhole(body, "n", 1) &&
    (prev === null || isDigest(prev)) &&
    isText(member(body, "at"), 64) &&
    isPublicKey(member(body, "by")) &&
    (policy === null || (isText(member(policy, "epoch"), 64) && isWhole(policy, "seq", 0)));
  return fits ? { key, sig: String(sig), payload, body, digest: payloadDigest(payload) } : null;
}

export function isSigned(entry: Entry, realm: string): boolean {
  return entry.body["by"] === entry.key && verify(entry.key, entry.sig, "realm", realm, SUBJECT, entry.payload);
}

/** Whether `operators` has its form, and names no operator and no key twice. */
export function areRecords(operators: unknown): operators is OperatorRecord[] {
  if (!Array.isArray(operators) || operators.length > 100 || !operators.every(isRecord)) return false;
  const keys = operators.flatMap((record) => record.keys.map((key) => key.key));
  return new Set(operators.map((record) => record.id)).size === operators.length && new Set(keys).size === keys.length;
}

/** Whether `realm` has its form. */
export function isSettings(realm: unknown): realm is JsonObject {
  if (!isObject(realm) || !isBoolean(member(realm, "acceptance") ?? absent(realm, "acceptance"))) return false;
  if (!Object.hasOwn(realm, "recovery")) return true;
  const recovery = member(realm, "recovery");
  return isPublicKey(member(recovery, "key")) && isText(member(recovery, "proof"), 4096, 0);
}

/** Of limits in their form; null where they name nothing. */
export function meaning(limits: unknown): Limits | null {
  if (!isObject(limits)) return null;
  if (!Object.keys(limits).every((name) => name === "workspaces" || name === "max_risk")) {
    return { workspaces: [], maxRisk: RISKS[0] };
  }
  const [workspaces, risk] = [member(limits, "workspaces") ?? null, member(limits, "max_risk") ?? null];
  if (workspaces === null && risk === null) return null;
  const known = risk === null ? null : (RISKS.find((word) => word === risk) ?? RISKS[0]);
  return { workspaces: workspaces === null ? null : [...new Set(workspaces as string[])].toSorted(), maxRisk: known };
}

export function sameLimits(one: Limits | null, other: Limits | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What two records, or two keys, are compared by. */
export function comparable(value: JsonObject, ...without: string[]): string {
  return canonical(Object.fromEntries(Object.entries(value).filter(([name]) => !without.includes(name))));
}

/** Whether it is a text of so many bytes. */
function isText(value: unknown, most: number, least = 1): value is string {
  return typeof value === "string" && Buffer.byteLength(value) >= least && Buffer.byteLength(value) <= most;
}

/** Whether it is a public nkey of a user with the right checksum. */
export function isPublicKey(value: unknown): value is string {
  return publicKeyBytes(value) !== null;
}

export function isDigest(value: unknown): value is string {
  return typeof value === "string" && DIGEST.test(value);
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** Absent reads false; a member that is null does not. */
function absent(value: JsonObject, name: string): false | null {
  return Object.hasOwn(value, name) ? null : false;
}

function isRecord(record: unknown): record is OperatorRecord {
  const keys = member(record, "keys");
  if (!isObject(record) || !isPublicKey(member(record, "id")) || !Array.isArray(keys) || keys.length > 16) return false;
  if (keys.length === 0) return true;
  if (!keys.every(isKey) || !keys.some((key) => member(key, "role") === "human")) return false;
  const admin = member(record, "admin") ?? absent(record, "admin");
  const limits = member(record, "limits") ?? null;
  if (!isText(member(record, "name"), 256) || !isBoolean(admin) || !areLimits(limits)) return false;
  return !(admin && meaning(limits) !== null);
}

function isKey(key: unknown): key is RealmKey {
  const [name, role] = [member(key, "key"), member(key, "role")];
  const limits = member(key, "limits") ?? null;
  const device = member(key, "device");
  if (typeof role !== "string" || !isText(member(key, "proof"), 4096, 0) || !areLimits(limits)) return false;
  if (device !== undefined && !isText(device, 256)) return false;
  if (role === "device") {
    return typeof member(limits, "max_risk") === "string" && typeof name === "string" && DEVICE_KEY.test(name);
  }
  if (role === "human" || role === "auto") return isPublicKey(name) && (role === "auto" || meaning(limits) === null);
  return isText(name, 256) && !/^[UW]/.test(name);
}

function areLimits(limits: unknown): boolean {
  if (limits === null) return true;
  const risk = member(limits, "max_risk") ?? null;
  if (!isObject(limits) || (risk !== null && typeof risk !== "string")) return false;
  const workspaces = member(limits, "workspaces") ?? null;
  if (workspaces === null) return true;
  return Array.isArray(workspaces) && workspaces.every((name) => typeof name === "string" && NAME.test(name));
}
