/**
 * Signatures of decisions, votes and entries (protocol, section 5). Verifies only: an agent never signs.
 *
 * Refuses keys whose checksum is wrong, that are not user keys, and signatures that are not exactly the 64 bytes of an
 * ed25519 signature in unpadded base64url. libsodium is strict as RFC 8032 reads it: no cofactor, no small order.
 */
import { createHash } from "node:crypto";

import sodium from "libsodium-wrappers";

export type Context = "decision" | "vote" | "policy" | "audit" | "realm" | "key";

const USER = 20 << 3;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Ends when signatures can be checked; before, `verify` throws. */
export async function signaturesReady(): Promise<void> {
  await sodium.ready;
}

export function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = ((held & 0xff) << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += BASE32[(held >> (bits - 5)) & 31];
  }
  return bits > 0 ? text + BASE32[(held << (5 - bits)) & 31] : text;
}

/** The 32 bytes of a public user nkey (`U…`); null on a bad checksum, prefix, length or spelling. */
export function publicKeyBytes(nkey: unknown): Uint8Array | null {
  if (typeof nkey !== "string" || !/^[A-Z2-7]{56}$/.test(nkey)) return null;
  // 56 letters are 35 bytes without a spare bit.
  const bytes = new Uint8Array(35);
  for (let index = 0; index < 280; index += 1) {
    const bit = (BASE32.indexOf(nkey[Math.floor(index / 5)] ?? "") >> (4 - (index % 5))) & 1;
    bytes[index >> 3] = ((bytes[index >> 3] ?? 0) << 1) | bit;
  }
  const body = bytes.subarray(0, 33);
  if (body[0] !== USER || crc16(body) !== ((bytes[33] ?? 0) | ((bytes[34] ?? 0) << 8))) return null;
  return body.subarray(1);
}

/** CRC-16/XMODEM, which nkeys end with, low byte first. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** Strict base64url without padding; null for any other spelling of the same bytes. */
export function base64urlBytes(text: unknown): Uint8Array | null {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]*$/.test(text)) return null;
  const raw = Buffer.from(text, "base64url");
  return raw.toString("base64url") === text ? raw : null;
}

/** The bytes that `CS-Sig` signs. */
export function signedBytes(context: Context, realm: string, subject: string, payload: Uint8Array): Uint8Array {
  const digest = createHash("sha256").update(payload).digest("hex");
  return Buffer.from(`countersign-v1\n${context}\n${realm}\n${subject}\n${digest}`);
}

/** Whether `sig` is the ed25519 signature by `key` of this message. Never throws for what a message holds. */
export function verify(
  key: string,
  sig: unknown,
  context: Context,
  realm: string,
  subject: string,
  payload: Uint8Array,
): boolean {
  const bytes = publicKeyBytes(key);
  const raw = base64urlBytes(sig);
  if (bytes === null || raw?.length !== 64) return false;
  return sodium.crypto_sign_verify_detached(raw, signedBytes(context, realm, subject, payload), bytes);
}
