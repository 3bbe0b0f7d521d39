/** Digests (protocol, section 4). */
import { createHash } from "node:crypto";

import { canonical, snapshot } from "./json.js";

/** `sha256:` and the lowercase hex SHA-256 of the RFC 8785 form of `args`. Throws `InvalidRequestError` without one. */
export function argsDigest(args: unknown): string {
  return payloadDigest(canonical(snapshot(args)));
}

/** `sha256:` and the lowercase hex SHA-256 of exactly these bytes (the `request_digest` of a request). */
export function payloadDigest(payload: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(payload).digest("hex")}`;
}
