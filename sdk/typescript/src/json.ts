/**
 * JSON as the protocol reads and writes it: what two readers could read differently is refused, not resolved. Pure.
 *
 * Refused: equal names in one object, integers beyond ±(2^53-1), numbers that no double holds, lone surrogates, names
 * that begin with a library's mark, nesting deeper than 64, and values that JSON does not know.
 */
import { InvalidRequestError } from "./errors.js";

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };

/** Deepest nesting of a whole message, the root being 1. */
export const MAX_DEPTH = 64;

const NOT_A_NAME = "$serde_json::private::";
const LONE_SURROGATE = /\p{Surrogate}/u;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const BLANKS = /[ \t\n\r]*/y;
// What a string may hold between its quotes, escapes as they are written.
// oxlint-disable-next-line no-control-regex
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Members whose number is written as no whole number is: `2.0`, `2e0`, `-0`. */
const spelt = new WeakMap<object, Set<string | number>>();

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member of an object of its own, never one that every object has. */
export function member(value: unknown, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Whether a member of what `readStrict` returned is a whole number, written as one, from `least` on. */
export function isWhole(value: unknown, name: string, least: number): boolean {
  const found = member(value, name);
  if (typeof found !== "number" || !Number.isInteger(found) || found < least) return false;
  return !spelt.get(value as object)?.has(name);
}

/** The value of a JSON text in UTF-8. Throws `SyntaxError` for what two readers could read differently. */
export function readStrict(bytes: Uint8Array): Json {
  let source: string;
  try {
    source = UTF8.decode(bytes);
  } catch {
    throw new SyntaxError("not UTF-8");
  }
  return new Reader(source).whole();
}

/** The same; undefined for what two readers could read differently. */
export function strictly(bytes: Uint8Array): Json | undefined {
  try {
    return readStrict(bytes);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text as JavaScript reads it; undefined for anything else. */
export function parsed(bytes: Uint8Array): Json | undefined {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as Json;
  } catch {
    return undefined;
  }
}

/** The text of a member of a JSON object, as it is written; null where there is none. */
export function writtenMember(source: string, name: string): string | null {
  return new Reader(source).written(name);
}

class Reader {
  private at = 0;

  constructor(private readonly source: string) {}

  whole(): Json {
    const value = this.value(1);
    this.skip();
    if (this.at !== this.source.length) throw this.fault();
    return value;
  }

  written(wanted: string): string | null {
    let found: string | null = null;
    this.skip();
    if (this.source[this.at] !== "{") return null;
    this.members((name) => {
      this.skip();
      const from = this.at;
      this.value(2);
      if (name === wanted) found = this.source.slice(from, this.at);
    });
    return found;
  }

  private fault(): SyntaxError {
    return new SyntaxError(`not JSON that every reader reads alike, at ${this.at}`);
  }

  private skip(): void {
    BLANKS.lastIndex = this.at;
    BLANKS.test(this.source);
    this.at = BLANKS.lastIndex;
  }

  private take(word: string): boolean {
    if (!this.source.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  private value(depth: number, holder?: object, name?: string | number): Json {
    this.skip();
    const first = this.source[this.at];
    if ((first === "{" || first === "[") && depth > MAX_DEPTH) throw this.fault();
    if (first === "[") return this.array(depth);
    if (first === '"') return this.string();
    if (this.take("true")) return true;
    if (this.take("false")) return false;
    if (this.take("null")) return null;
    if (first !== "{") return this.number(holder, name);
    const value: JsonObject = {};
    this.members((key) => {
      if (Object.hasOwn(value, key) || key.startsWith(NOT_A_NAME)) throw this.fault();
      define(value, key, this.value(depth + 1, value, key));
    });
    return value;
  }

  private members(each: (name: string) => void): void {
    this.at += 1;
    this.skip();
    if (this.take("}")) return;
    do {
      this.skip();
      const name = this.string();
      this.skip();
      if (!this.take(":")) throw this.fault();
      each(name);
      this.skip();
    } while (this.take(","));
    if (!this.take("}")) throw this.fault();
  }

  private array(depth: number): Json[] {
    const value: Json[] = [];
    this.at += 1;
    this.skip();
    if (this.take("]")) return value;
    do {
      value.push(this.value(depth + 1, value, value.length));
      this.skip();
    } while (this.take(","));
    if (!this.take("]")) throw this.fault();
    return value;
  }

  private string(): string {
    STRING.lastIndex = this.at;
    const found = STRING.exec(this.source)?.[0];
    if (found === undefined) throw this.fault();
    this.at += found.length;
    const value = found.includes("\\") ? String(JSON.parse(found)) : found.slice(1, -1);
    if (LONE_SURROGATE.test(value)) throw this.fault();
    return value;
  }

  private number(holder?: object, name?: string | number): number {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.source);
    if (found === null) throw this.fault();
    this.at += found[0].length;
    const value = Number(found[0]);
    const whole = found[1] === undefined && found[2] === undefined;
    if (!Number.isFinite(value) || (whole && !Number.isSafeInteger(value))) throw this.fault();
    if (holder !== undefined && name !== undefined && (!whole || found[0] === "-0")) {
      spelt.set(holder, (spelt.get(holder) ?? new Set()).add(name));
    }
    return value;
  }
}

/** Also where the name is `__proto__`. */
function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

/**
 * A copy of a value that has a canonical form, taken once: what is sent is what was looked at. Members that are
 * `undefined` are left out. Throws `InvalidRequestError` with the protocol's code; `what` names the value there, and
 * `depth` is the level at which it is (arguments are at level 2 of a request). `loose` values may hold integers of any
 * size.
 */
export function snapshot(value: unknown, what = "args", depth = 2, loose = false): Json {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return checkText(value, what);
  if (typeof value === "number") return checkNumber(value, what, loose);
  const array = Array.isArray(value);
  if (typeof value !== "object" || !(array || isPlain(value))) {
    const kind = typeof value === "object" ? value.constructor?.name : typeof value;
    throw new InvalidRequestError(`${what} holds a ${kind}, which JSON does not know; convert it first`, "wrong_type");
  }
  if (depth > MAX_DEPTH) {
    throw new InvalidRequestError(`${what} is nested deeper than ${MAX_DEPTH} levels; flatten it`, "too_deep");
  }
  if (array) return Array.from(value, (item: unknown) => snapshot(item, what, depth + 1, loose));
  const copy: JsonObject = {};
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue;
    if (checkText(name, what).startsWith(NOT_A_NAME)) {
      throw new InvalidRequestError(`${what} has a key that consoles take for a mark of their own`, "not_json");
    }
    define(copy, name, snapshot(item, what, depth + 1, loose));
  }
  return copy;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Of another realm of the engine, too.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && "hasOwnProperty" in value);
}

function checkText(value: string, what: string): string {
  if (LONE_SURROGATE.test(value)) throw new InvalidRequestError(`${what} holds a lone surrogate`, "lone_surrogate");
  return value;
}

function checkNumber(value: number, what: string, loose: boolean): number {
  if (!Number.isFinite(value)) {
    throw new InvalidRequestError(`${what} holds NaN or an infinity`, "non_finite_number");
  }
  // From 1e21 on it is written with an exponent, and no reader takes it for an integer.
  if (!loose && Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21) {
    throw new InvalidRequestError(`${what} holds an integer beyond 2^53-1; send it as text`, "integer_out_of_range");
  }
  return value;
}

/** RFC 8785 text of a value that `readStrict` or `snapshot` returned. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  // By UTF-16 code units, as the RFC wants and as JavaScript compares.
  const names = Object.keys(value).toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(",")}}`;
}

/** One line of JSON with `, ` and `: ` between, in the order and with the numbers of the source. */
export function spaced(source: string): string {
  const tokens = source.match(/"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/gs) ?? [];
  const between: Record<string, string> = { ",": ", ", ":": ": " };
  return tokens
    .map((token) => (token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : (between[token] ?? token)))
    .join("");
}
