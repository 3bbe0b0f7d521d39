/** Keys of the tests' own making: none of it from the package under test. */
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}

export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five.padEnd(5, "0"), 2)]).join("");
}

function checked(body: Uint8Array): string {
  const crc = crc16(body);
  return base32(Buffer.concat([body, Buffer.from([crc & 0xff, crc >> 8])]));
}

/** An nkey of a user. */
export class Key {
  readonly public: string;
  readonly seed: string;
  private readonly secret: KeyObject;

  constructor(raw: Uint8Array = randomBytes(32)) {
    this.secret = createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: "der", type: "pkcs8" });
    const point = createPublicKey(this.secret).export({ format: "der", type: "spki" }).subarray(-32);
    this.public = checked(Buffer.concat([Buffer.from([20 << 3]), point]));
    const [seed, user] = [18 << 3, 20 << 3];
    this.seed = checked(Buffer.concat([Buffer.from([seed | (user >> 5), (user & 31) << 3]), raw]));
  }

  sign(context: string, realm: string, subject: string, payload: Uint8Array | string): string {
    const digest = createHash("sha256").update(payload).digest("hex");
    return sign(
      null,
      Buffer.from(["countersign-v1", context, realm, subject, digest].join("\n")),
      this.secret,
    ).toString("base64url");
  }
}

/** What an assertion of a passkey is made with. */
export function sha256(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Good for the plain arguments of these tests only; the vectors are elsewhere. */
export function canonicalDigest(args: unknown): string {
  const ordered = (value: any): any => {
    if (Array.isArray(value)) return value.map(ordered);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.keys(value)
        .toSorted()
        .map((name) => [name, ordered(value[name])]),
    );
  };
  return sha256(JSON.stringify(ordered(args)));
}
