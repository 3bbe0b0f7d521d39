/**
 * Asks that survive their process: a folder with one file a key (integrations, section 2).
 *
 * An entry is written and flushed before its request is published, and marked before its answer is handed out. So a
 * process that dies between any two steps finds its own request again, and an answer is handed out once.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { open, readFile, readdir, rename, stat, unlink, writeFile } from "node:fs/promises";
import { uptime } from "node:os";
import { dirname, join, resolve } from "node:path";

import type { Enrolment } from "./enrolment.js";
import { AlreadyAskedError, InvalidRequestError, JournalError } from "./errors.js";
import { canonical, isObject, member, parsed, type Json } from "./json.js";
import { lock } from "./lock.js";
import { warn } from "./notices.js";
import { rebuildRequest, type SentRequest } from "./request.js";

const VERSION = 1;
const DAY = 86_400;
const MAX_KEY_LENGTH = 1024;
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** What the system's uptime may be off by. */
const UPTIME_STEP = 0.02;

type Scope = Record<"realm" | "workspace" | "agent", string>;
type Kept = Scope & Record<"v" | "lifetime_ms" | "ticks" | "wall", number> & { payload: string; boot: string | null };

/** One key, held by this process. `waiting` is the request whose answer was not handed out yet. */
export class Entry {
  waiting: SentRequest | null = null;
  secondsLeft = 0;

  constructor(
    private readonly path: string,
    private readonly scope: Scope,
  ) {}

  /** Takes what a file holds; what is another's, or cannot be read, counts as none. */
  take(kept: Kept | null): this {
    const { realm, workspace, agent } = this.scope;
    if (kept === null || kept.realm !== realm || kept.workspace !== workspace || kept.agent !== agent) return this;
    const request = rebuildRequest(Buffer.from(kept.payload), kept.lifetime_ms);
    if (request?.workspace !== workspace || request.agent !== agent) {
      warn(`${this.path} holds no request and is not used`);
      return this;
    }
    this.waiting = request;
    this.secondsLeft = kept.lifetime_ms / 1000 - elapsed(kept);
    return this;
  }

  /** Keeps a request before it is published. Throws `JournalError`. */
  async begin(request: SentRequest): Promise<void> {
    const timer = { lifetime_ms: request.lifetime, boot: bootId(), ticks: uptime(), wall: Date.now() / 1000 };
    const kept: Kept = { v: VERSION, ...this.scope, payload: textOf(request), ...timer };
    await write(this.path, JSON.stringify(kept));
    this.waiting = request;
    this.secondsLeft = request.lifetime / 1000;
  }

  /**
   * Marks that the answer is handed out: the next ask under this key is a new request. Throws `JournalError`, also where
   * the entry is another one by now: then somebody else handed it out.
   */
  async end(): Promise<void> {
    try {
      const kept = await read(this.path);
      if (this.waiting !== null && kept?.payload !== textOf(this.waiting)) {
        throw new JournalError(`${this.path} was changed by somebody else; the answer is not handed out`);
      }
      await unlink(this.path);
      await flushFolder(this.path);
    } catch (error) {
      if (error instanceof JournalError) throw error;
      throw new JournalError(`cannot mark ${this.path}: ${codeOf(error)}; the answer is not handed out`);
    }
    this.waiting = null;
  }
}

/** The folder. Entries of another realm, workspace or agent, and those that cannot be read, count as none. */
export class Journal {
  private readonly folder: string;
  private readonly scope: Scope;

  constructor(folder: string, enrolment: Enrolment) {
    this.folder = resolve(folder);
    this.scope = { realm: enrolment.realm, workspace: enrolment.workspace, agent: enrolment.agent };
    try {
      // Not in one: where no folder can be made, Node's own recursion would never end.
      mkdirSync(dirname(this.folder), { recursive: true });
      mkdirSync(this.folder, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) === "EEXIST") return;
      throw new JournalError(`cannot make the folder ${this.folder}: ${codeOf(error)}`);
    }
  }

  /** Removes entries that are older than their deadline plus a day. */
  async removeOld(): Promise<void> {
    for (const name of await this.names()) {
      const path = join(this.folder, name);
      try {
        const kept = await read(path);
        const begun = kept?.wall ?? (await stat(path)).mtimeMs / 1000;
        if (Date.now() / 1000 - begun <= (kept?.lifetime_ms ?? 0) / 1000 + DAY) continue;
        const unlock = await lock(this.folder, name);
        if (unlock === null) continue;
        await unlink(path).finally(unlock);
      } catch {
        // Somebody else removed it.
      }
    }
  }

  /**
   * What `use` returns with the entry of a key, which no other process or task has meanwhile. Throws
   * `AlreadyAskedError` (`already_waiting`) where one has it, and `JournalError`.
   */
  async held<T>(key: string, use: (entry: Entry) => Promise<T>): Promise<T> {
    if (typeof key !== "string" || key.length === 0 || key.length > MAX_KEY_LENGTH) {
      throw new InvalidRequestError(`a key is a text of 1 to ${MAX_KEY_LENGTH} characters`, "wrong_type");
    }
    const scoped = JSON.stringify([this.scope.realm, this.scope.workspace, this.scope.agent, key]);
    const name = `${createHash("sha256").update(scoped).digest("hex").slice(0, 40)}.json`;
    const path = join(this.folder, name);
    const unlock = await lock(this.folder, name).catch((error: unknown) => {
      throw new JournalError(`cannot lock ${path}: ${codeOf(error)}; nothing was asked`);
    });
    if (unlock === null) {
      const text = `${JSON.stringify(key)} is already waiting, in this or another process`;
      throw new AlreadyAskedError(text, "already_waiting");
    }
    try {
      return await use(new Entry(path, this.scope).take(await read(path)));
    } finally {
      await unlock();
    }
  }

  /** Calls `use` with the entry of a request that nobody waits for at present. False where there is none. */
  async kept(requestId: string, use: (request: SentRequest, entry: Entry) => Promise<void>): Promise<boolean> {
    for (const name of await this.names()) {
      const unlock = await lock(this.folder, name).catch(() => null);
      if (unlock === null) continue;
      try {
        const path = join(this.folder, name);
        const entry = new Entry(path, this.scope).take(await read(path));
        if (entry.waiting?.requestId !== requestId) continue;
        await use(entry.waiting, entry);
        return true;
      } finally {
        await unlock();
      }
    }
    return false;
  }

  private async names(): Promise<string[]> {
    return (await readdir(this.folder)).filter((name) => name.endsWith(".json"));
  }
}

/** Whether two requests ask the same: kind, tool or question, and arguments. */
export function sameCall(one: SentRequest, other: SentRequest): boolean {
  return asked(one) === asked(other);
}

function asked(request: SentRequest): string {
  const body = parsed(request.payload);
  const tool = member(body, "tool");
  const named = [member(tool, "name"), member(tool, "namespace")];
  const parts = [...named, member(body, "question"), member(body, "response_schema")];
  return canonical([request.kind, request.argsDigest, ...parts.map((part): Json => part ?? null)]);
}

/** Seconds since the timer began, by the clock that counts sleep on the same boot; infinite where a clock went back. */
function elapsed(kept: Kept): number {
  const sameBoot = kept.boot !== null && kept.boot === bootId();
  const passed = sameBoot ? uptime() - kept.ticks + UPTIME_STEP : Date.now() / 1000 - kept.wall;
  return passed >= 0 ? passed : Infinity;
}

/** An entry's content; null where there is none that can be read. */
async function read(path: string): Promise<Kept | null> {
  const bytes = await readFile(path).catch((error: unknown) => (codeOf(error) === "ENOENT" ? null : Buffer.from("")));
  if (bytes === null) return null;
  const kept = parsed(bytes);
  const numbers = ["lifetime_ms", "ticks", "wall"].every((name) => Number.isFinite(member(kept, name)));
  const boot = member(kept, "boot") ?? null;
  const texts = typeof member(kept, "payload") === "string" && (boot === null || typeof boot === "string");
  if (isObject(kept) && kept["v"] === VERSION && numbers && texts) return kept as unknown as Kept;
  warn(`${path} cannot be read and is not used`);
  return null;
}

/** All of it or nothing, on the disk when this ends. */
async function write(path: string, content: string): Promise<void> {
  const fresh = `${path}.${randomUUID()}.new`;
  try {
    await writeFile(fresh, content, { flag: "wx", mode: 0o600, flush: true });
    await rename(fresh, path);
    await flushFolder(path);
  } catch (error) {
    await unlink(fresh).catch(() => undefined);
    throw new JournalError(`cannot write ${path}: ${codeOf(error)}; nothing was asked`);
  }
}

async function flushFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  await folder.sync().finally(() => folder.close());
}

function textOf({ payload }: SentRequest): string {
  return Buffer.from(payload).toString();
}

function bootId(): string | null {
  try {
    return readFileSync(BOOT_ID, "utf8").trim();
  } catch {
    return null;
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "failed";
}
