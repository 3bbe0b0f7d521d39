/**
 * Who this agent is and whom it believes: the `agent.json` that `countersign enroll` wrote.
 *
 * What is secret, or may hold a password, is in no inspection and no JSON of it.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { nkeys } from "@nats-io/transport-node";

import { EnrolmentError } from "./errors.js";
import { isObject, member, strictly } from "./json.js";
import type { LogHead } from "./log.js";
import { warn } from "./notices.js";
import { isDigest } from "./records.js";
import { NAME } from "./words.js";

export const ENV = "COUNTERSIGN_AGENT_JSON";
/** Fields that name a file; in `agent.json` they are relative to it. */
const FILES = ["tls_ca", "tls_cert", "tls_key", "nats_creds"] as const;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const AGAIN = "run `countersign enroll` again";

/** The content of `agent.json` (protocol, section 5). */
export class Enrolment {
  readonly #natsUrl: string;
  readonly #seed: string | null;
  readonly workspace: string;
  readonly agent: string;
  readonly inboxPrefix: string;
  readonly realm: string;
  /** Null: whom to believe is not known, and a gate opens only where it is told `insecure`. */
  readonly log: LogHead | null;
  /** Files that TLS and the login need, by their fields. */
  readonly files: Readonly<Partial<Record<(typeof FILES)[number], string>>>;

  private constructor(value: unknown, name: string, folder: string) {
    const check = (holds: boolean, text: string): void => {
      if (!holds) throw new EnrolmentError(`${name} ${text}`);
    };
    check(isObject(value), "is not an object");
    const optional = (field: string): string | null => {
      const found = member(value, field) ?? null;
      check(found === null || typeof found === "string", `holds a \`${field}\` that is not text`);
      return found as string | null;
    };
    const text = (field: string): string => {
      check(Boolean(optional(field)), `has no \`${field}\`; ${AGAIN}`);
      return optional(field) ?? "";
    };
    this.workspace = text("workspace");
    this.agent = text("agent");
    check(NAME.test(this.workspace) && NAME.test(this.agent), "has a `workspace` or `agent` that is not a name");
    this.#natsUrl = text("nats_url");
    this.#seed = optional("nkey_seed");
    // Signatures name it in this form.
    this.realm = text("realm").toLowerCase();
    check(UUID.test(this.realm), `has a \`realm\` that is not a UUID; ${AGAIN}`);
    const log = member(value, "log") ?? null;
    const [root, digest, n] = ["root", "digest", "n"].map((field) => member(log, field));
    const placed = isDigest(root) && isDigest(digest) && Number.isSafeInteger(n) && Number(n) > 0;
    check(log === null || placed, `has a \`log\` that names no place in a log; ${AGAIN}`);
    this.log = placed ? { root, digest, n: Number(n) } : null;
    const named = FILES.map((field) => [field, optional(field)] as const).filter(([, path]) => path !== null);
    this.files = Object.fromEntries(named.map(([field, path]) => [field, resolve(folder, path ?? "")]));
    const own = this.#seed === null ? "_INBOX" : `_INBOX_${publicKeyOf(this.#seed, name)}`;
    this.inboxPrefix = (optional("inbox_prefix") ?? own).replace(/\.+$/, "");
    // A .creds file brings its own key.
    const fits = this.#seed === null || this.files.nats_creds !== undefined || this.inboxPrefix === own;
    check(fits, `has an \`inbox_prefix\` that is not that of \`nkey_seed\`; ${AGAIN}`);
  }

  /** Reads `path`, or the file that `COUNTERSIGN_AGENT_JSON` names. Throws `EnrolmentError`. */
  static load(path?: string | URL): Enrolment {
    const chosen = path ?? process.env[ENV];
    if (!chosen) throw new EnrolmentError(`no agent.json given; pass its path or set ${ENV}`);
    const file = chosen instanceof URL ? fileURLToPath(chosen) : chosen;
    const value = strictly(contentOf(file, (why) => `cannot read ${file}: ${why}; run \`countersign enroll\``));
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
      warn(`${file} holds a secret and others can read it; run: chmod 600 ${file}`);
    }
    if (value === undefined) throw new EnrolmentError(`${file} is not JSON in UTF-8; ${AGAIN}`);
    return new Enrolment(value, file, dirname(file));
  }

  /** From the value of an `agent.json`. Files that it names are relative to `folder`. Throws `EnrolmentError`. */
  static parse(value: unknown, name = "agent.json", folder = "."): Enrolment {
    return new Enrolment(value, name, folder);
  }

  get natsUrl(): string {
    return this.#natsUrl;
  }

  get nkeySeed(): string | null {
    return this.#seed;
  }
}

/** The bytes of a file. Throws `EnrolmentError` with the words for why it cannot be read. */
export function contentOf(file: string, words: (why: string) => string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new EnrolmentError(words((error as NodeJS.ErrnoException).code ?? "no path"));
  }
}

/** The nkey of a seed. */
export function publicKeyOf(seed: string, name = "agent.json"): string {
  try {
    return nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey();
  } catch {
    throw new EnrolmentError(`${name} has an \`nkey_seed\` that is not an nkey seed; ${AGAIN}`);
  }
}
