// The W3C protocol of WebKitWebDriver, spoken directly: no client library between test and window.
import { execFile, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
const LIMIT_MS = 15_000;

/** A port that nobody listens on now. */
export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Asks until `look` gives something; fails with `what` when the time is up. */
export const until = async (what, look, limitMs = LIMIT_MS) => {
  const end = Date.now() + limitMs;
  let last;
  for (;;) {
    try {
      last = await look();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${limitMs} ms (last: ${last})`);
    await pause(25);
  }
};

export class Browser {
  #base;
  #session;
  #driver;

  /** Starts the driver and, through it, the application. */
  static async open(app, { env, log }) {
    const browser = new Browser();
    const port = await freePort();
    const out = openSync(log, "a");
    browser.#driver = spawn("WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], {
      detached: true,
      stdio: ["ignore", out, out],
      env: { ...process.env, ...env, TAURI_WEBVIEW_AUTOMATION: "true" },
    });
    closeSync(out);
    browser.#base = `http://127.0.0.1:${port}`;
    await until("the driver answers", async () => (await fetch(`${browser.#base}/status`)).ok);
    const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": { binary: app, args: [] } } };
    const { sessionId } = await browser.#send("POST", "/session", { capabilities }).catch(async (error) => {
      await browser.close();
      throw error;
    });
    browser.#session = `/session/${sessionId}`;
    return browser;
  }

  async #send(method, path, body) {
    const response = await fetch(this.#base + path, {
      method,
      headers: { "content-type": "application/json" },
      signal: AbortSignal.timeout(60_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value?.error}: ${value?.message}`);
    return value;
  }

  /** Runs a function body in the page. */
  run(script, ...args) {
    return this.#send("POST", `${this.#session}/execute/sync`, { script, args });
  }

  /** The windows that are open. */
  windows() {
    return this.#send("GET", `${this.#session}/window/handles`);
  }

  /** Makes the window so large, and waits until the page is. */
  async resize(width, height) {
    await this.#send("POST", `${this.#session}/window/rect`, { x: 0, y: 0, width, height });
    await until("the new size", () => this.run("return innerWidth === arguments[0] && innerHeight === arguments[1]", width, height));
  }

  /** Text of the first element that fits, or null. */
  text(selector) {
    return this.run("return document.querySelector(arguments[0])?.textContent ?? null", selector);
  }

  /** Waits for an element and gives its text. */
  async sees(selector, limitMs) {
    await until(`${selector} is on screen`, async () => (await this.text(selector)) !== null, limitMs);
    return this.text(selector);
  }

  /** Waits until the page shows a text somewhere in `selector`. */
  reads(text, selector = "body", limitMs) {
    return until(`"${text}" in ${selector}`, async () => (await this.text(selector))?.includes(text), limitMs);
  }

  async #element(selector) {
    const found = await this.#send("POST", `${this.#session}/element`, { using: "css selector", value: selector });
    return found[ELEMENT];
  }

  async gone(selector) {
    await until(`${selector} is gone`, async () => (await this.text(selector)) === null);
  }

  async click(selector) {
    await this.#send("POST", `${this.#session}/element/${await this.#element(selector)}/click`, {});
  }

  /** Types into a field as a person would. */
  async type(selector, text) {
    await this.#send("POST", `${this.#session}/element/${await this.#element(selector)}/value`, { text });
  }

  /** Presses keys together and lets them go: `press("a")`, `press(KEYS.control, KEYS.shift, "a")`. */
  async press(...keys) {
    const down = keys.map((value) => ({ type: "keyDown", value }));
    const up = keys.toReversed().map((value) => ({ type: "keyUp", value }));
    await this.#send("POST", `${this.#session}/actions`, { actions: [{ type: "key", id: "keyboard", actions: [...down, ...up] }] });
  }

  /** A picture of the whole display as it is now, PNG: the driver's own takes a minute where the page is drawn without layers. */
  async picture() {
    // Without two frames the picture may show what was there before.
    await this.run("window.framesSeen = 0; requestAnimationFrame(() => requestAnimationFrame(() => { window.framesSeen = 2; })); return 1");
    await until("two frames", () => this.run("return window.framesSeen === 2"));
    const { stdout } = await promisify(execFile)("import", ["-silent", "-window", "root", "png:-"], { encoding: "buffer", maxBuffer: 1 << 26 });
    return stdout;
  }

  async close() {
    try {
      if (this.#session !== undefined) await this.#send("DELETE", this.#session);
    } catch {
      // The application may have gone first.
    }
    try {
      process.kill(-this.#driver.pid, "SIGTERM");
    } catch {
      // It has ended already.
    }
  }
}

export const KEYS = {
  tab: "\uE004", enter: "\uE007", escape: "\uE00C", shift: "\uE008", control: "\uE009", space: " ", end: "\uE010", home: "\uE011", down: "\uE015",
};
