/** Device keys: passkeys that sign by a WebAuthn assertion (protocol, section 8.7). Pure. */
import { createHash, createPublicKey, verify as verifyBy } from "node:crypto";

import { member, strictly, type JsonObject } from "./json.js";
import { SUBJECT, allows, type Limits } from "./records.js";
import { base32, base64urlBytes, signedBytes, type Context } from "./signature.js";
import type { Risk } from "./words.js";

const MAX_ASSERTION = 4096;
const MOMENT = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;
const PRESENT_AND_VERIFIED = 0x01 | 0x04;
/** What stands before an uncompressed P-256 point in a SubjectPublicKeyInfo. */
const SPKI = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");

/** Whether it is written as a time of the protocol. Times are compared as texts, so each date counts as written. */
export function isMoment(value: unknown): value is string {
  return typeof value === "string" && MOMENT.test(value);
}

/** Whether a device with these limits may decide so. `risk` is effective, `effects` the request's word. */
export function deviceMay(
  limits: Limits | null,
  facts: { verdict: string; workspace: string; risk: Risk; effects: string | null },
): boolean {
  if (["deny", "terminate", "skip"].includes(facts.verdict)) return true;
  if (facts.verdict !== "approve" && facts.verdict !== "respond") return false;
  if (![null, "read", "write", "unknown"].includes(facts.effects) || facts.risk === "critical") return false;
  return limits === null || allows(limits, facts.workspace, facts.risk);
}

/** Whether a device may sign this value of `CS_POLICY`. */
export function deviceMaySet(device: string, key: string, value: unknown): boolean {
  if (key === "panic") return member(value, "on") === true;
  if (key.startsWith("pause.")) return ["paused", "stopped"].includes(String(member(value, "state")));
  return key === `ask.${device}` && typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the device of this record signed the message, and agreed to be a key of `operator`. Never throws. */
export function deviceSigned(
  record: JsonObject,
  operator: string,
  context: Context,
  realm: string,
  subject: string,
  payload: Uint8Array,
  sig: unknown,
): boolean {
  const passkey = whole(record);
  if (passkey === null) return false;
  const consent = signedBytes("key", realm, SUBJECT, Buffer.from(`${operator}\ndevice`));
  return (
    asserts(passkey, consent, member(record, "proof")) &&
    asserts(passkey, signedBytes(context, realm, subject, payload), sig)
  );
}

interface Passkey {
  readonly point: Uint8Array;
  readonly rpId: string;
  readonly origins: unknown[];
}

/** Of a record that has every field and whose point names its key. */
function whole(record: JsonObject): Passkey | null {
  const point = base64urlBytes(member(record, "public"));
  const [rpId, origins] = [member(record, "rp_id"), member(record, "origins")];
  if (point?.length !== 65 || member(record, "key") !== `W${base32(sha256(point))}`) return null;
  if (typeof rpId !== "string" || !isMoment(member(record, "until"))) return null;
  if (!Array.isArray(origins) || origins.length < 1 || origins.length > 2) return null;
  return origins.every((origin) => typeof origin === "string") ? { point, rpId, origins } : null;
}

function asserts(passkey: Passkey, signed: Uint8Array, sig: unknown): boolean {
  if (typeof sig !== "string" || sig.length > MAX_ASSERTION) return false;
  const parts = sig.split(".").map(base64urlBytes);
  const [authenticator, client, signature] = parts;
  if (parts.length !== 3 || !authenticator || !client || !signature) return false;
  const data = strictly(client);
  const asked =
    member(data, "type") === "webauthn.get" &&
    member(data, "challenge") === sha256(signed).toString("base64url") &&
    passkey.origins.includes(member(data, "origin")) &&
    [undefined, false].includes(member(data, "crossOrigin") as undefined) &&
    member(data, "topOrigin") === undefined;
  if (!asked || authenticator.length < 37) return false;
  if (!sha256(Buffer.from(passkey.rpId)).equals(authenticator.subarray(0, 32))) return false;
  if (((authenticator[32] ?? 0) & PRESENT_AND_VERIFIED) !== PRESENT_AND_VERIFIED) return false;
  return holdsP256(passkey.point, signature, Buffer.concat([authenticator, sha256(client)]));
}

function holdsP256(point: Uint8Array, signature: Uint8Array, signed: Uint8Array): boolean {
  try {
    const key = createPublicKey({ key: Buffer.concat([SPKI, point]), format: "der", type: "spki" });
    return verifyBy("sha256", signed, { key, dsaEncoding: "der" }, signature);
  } catch {
    return false;
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
