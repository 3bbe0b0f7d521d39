// A desk for the tests of a file: data folder of its own, embedded bus, real window, real agents.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { display } from "./display.mjs";
import { Browser, until } from "./webdriver.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const APP = process.env.COUNTERSIGN_APP;
const PYTHON = process.env.COUNTERSIGN_PYTHON ?? path.join(ROOT, ".venv/bin/python");

const EARLIER = `
import sqlite3, sys
path, tool, ms = sys.argv[1], sys.argv[2], int(sys.argv[3])
with sqlite3.connect(path, timeout=10) as store:
    store.execute("UPDATE requests SET stored_at = stored_at - ?, decided_at = decided_at - ? WHERE tool = ?", (ms, ms, tool))
    store.execute("UPDATE request_times SET first_at = min(first_at, (SELECT min(stored_at) FROM requests))")
`;

export class Desk {
  browser;
  data;
  #agents = [];

  static async open(env = {}) {
    if (APP === undefined || !existsSync(APP)) throw new Error("set COUNTERSIGN_APP to a binary built with the feature gui");
    await display();
    const desk = new Desk();
    desk.data = await mkdtemp(path.join(tmpdir(), "countersign desk "));
    try {
      await desk.#show(env);
    } catch (error) {
      await desk.close();
      throw error;
    }
    await desk.browser.run("localStorage.setItem('countersign.theme', 'dark')");
    return desk;
  }

  async #show(env) {
    this.browser = await Browser.open(APP, { env: { ...this.env, ...env }, log: path.join(this.data, "driver.log") });
    await this.browser.reads("Connected to NATS", '[data-testid="connection"]');
  }

  async #leave() {
    await this.browser?.close();
    // The embedded server ends with its console.
    await until("the console has stopped", async () => !(await lockedBy(this.data)), 10_000).catch(() => {});
  }

  /** Closes the window, which ends the console, and opens it on the same data. */
  async reopen() {
    await this.#leave();
    await this.#show({});
  }

  /** As it was opened, but for what is stored: no agent runs, nothing waits, and the page has forgotten what was set and typed. */
  async clear() {
    for (const child of this.#agents.splice(0)) child.kill("SIGKILL");
    // An approval that is held goes its way first: the page would open its card and keep it.
    await until("nothing waits", async () => {
      const { out } = await this.command("inbox", "--json");
      const left = out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
      for (const { request_id: id, state } of left) if (state === "pending") await this.command("deny", id, "--message", "the test is over");
      return left.length === 0;
    }, 30_000);
    await this.browser.run("window.leaving = true; localStorage.clear(); localStorage.setItem('countersign.theme', 'dark'); location.hash = '#/'; location.reload(); return 1");
    await until("the page is loaded again", () => this.browser.run("return window.leaving === undefined"));
    await this.browser.resize(1_440, 900);
    await this.browser.sees('[data-testid="empty"]');
    await this.browser.reads("Connected to NATS", '[data-testid="connection"]');
  }

  get env() {
    return { COUNTERSIGN_DATA_DIR: this.data, COUNTERSIGN_OPERATOR: "maria", COUNTERSIGN_KEYS: "file", XDG_CACHE_HOME: path.join(this.data, "cache") };
  }

  /** Where the local agent's enrolment stands, as the empty inbox says. */
  agentJson() {
    return until("the enrolment file", async () => {
      const answer = await this.browser.run(
        "return [...document.querySelectorAll('[data-testid=empty] dd')].map((e) => e.textContent)[1] ?? null",
      );
      return answer ?? this.#knownAgentJson;
    }).then((file) => (this.#knownAgentJson = file));
  }

  #knownAgentJson;

  /** Asks through the command line and goes on; `done` is its end. */
  ask(tool, args, { risk = "medium", explain, timeout = 60 } = {}) {
    const words = ["ask", "--json", "--tool", tool, "--args", JSON.stringify(args), "--risk", risk, "--timeout", String(timeout)];
    if (explain !== undefined) words.push("--explain", explain);
    return this.#start(APP, words);
  }

  /** Runs a Python agent of this folder. */
  async agent(script, ...words) {
    const json = await this.agentJson();
    return this.#start(PYTHON, [path.join(ROOT, "tests/desktop/agents", script), ...words], {
      COUNTERSIGN_AGENT_JSON: json, PYTHONPATH: path.join(ROOT, "sdk/python/src"), PYTHONUNBUFFERED: "1",
    });
  }

  /** Enrols an agent of its own name in the desk's workspace and runs a Python agent of this folder as it. */
  async agentNamed(name, script, ...words) {
    const { code, out, err } = await this.command("enroll", name, "--json");
    if (code !== 0) throw new Error(err);
    return this.#start(PYTHON, [path.join(ROOT, "tests/desktop/agents", script), ...words], {
      COUNTERSIGN_AGENT_JSON: JSON.parse(out).agent_json, PYTHONPATH: path.join(ROOT, "sdk/python/src"), PYTHONUNBUFFERED: "1",
    });
  }

  /** Another operator's commands on this desk's bus, from a folder of their own. */
  async operator(name) {
    const { nats_url: url } = JSON.parse(await readFile(path.join(this.data, "runtime.json"), "utf8"));
    const env = {
      COUNTERSIGN_DATA_DIR: path.join(this.data, `of ${name}`), COUNTERSIGN_OPERATOR: name, COUNTERSIGN_KEYS: "file", COUNTERSIGN_NATS_URL: url,
      COUNTERSIGN_NATS_NKEY: path.join(this.data, "keys/login.nk"),
    };
    return (...words) => this.#start(APP, words, env).done;
  }

  /** Moves the requests of a tool back in the store, as if they had come so many hours before. */
  async earlier(tool, hours) {
    const words = ["-c", EARLIER, path.join(this.data, "countersign.db"), tool, String(hours * 3_600_000)];
    const { code, err } = await this.#start(PYTHON, words).done;
    if (code !== 0) throw new Error(err);
  }

  /** Runs a command of the program to its end. */
  async command(...words) {
    return this.#start(APP, words).done;
  }

  #start(program, words, env = {}) {
    const child = spawn(program, words, { env: { ...process.env, ...this.env, ...env, RUST_LOG: "off" }, stdio: ["ignore", "pipe", "pipe"] });
    const output = { out: "", err: "" };
    child.stdout.on("data", (data) => (output.out += data));
    child.stderr.on("data", (data) => (output.err += data));
    const done = new Promise((resolve) => child.once("close", (code) => resolve({ code, ...output })));
    this.#agents.push(child);
    return { child, output, done };
  }

  /** Waits for the card of a tool and until it is armed. */
  async armed(tool) {
    await this.browser.reads(tool, '[data-testid="card"] h2');
    await this.browser.sees('[data-testid="card"][data-armed="true"]');
  }

  async close() {
    for (const child of this.#agents) child.kill("SIGKILL");
    await this.#leave();
    await rm(this.data, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

let shared = null;
after(() => shared?.close());

/**
 * A test at the desk of its file, which is cleared after it; `fresh`: at one of its own, for a test that counts what is stored or
 * leaves more behind than calls. After a failure the next test begins at a new one.
 */
export const onDesk = (name, work, { timeout = 120_000, fresh = false } = {}) =>
  test(name, { timeout }, async () => {
    const desk = fresh || shared === null ? await Desk.open() : shared;
    if (!fresh) shared = null;
    try {
      await work(desk, desk.browser);
      if (!fresh) await desk.clear();
    } catch (error) {
      await desk.close();
      throw error;
    }
    if (fresh) await desk.close();
    else shared = desk;
  });

const lockedBy = async (data) => {
  try {
    const { pid } = JSON.parse(await readFile(path.join(data, "runtime.json"), "utf8"));
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
};
