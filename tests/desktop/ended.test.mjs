// The page's own process ends or draws nothing: the window comes back by itself, or says so.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { display } from "./support/display.mjs";
import { until } from "./support/webdriver.mjs";

/** The processes below `pid` that draw the page. */
const pagesOf = async (pid) => {
  const found = [];
  for (const name of await readdir("/proc")) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, "utf8").catch(() => "") : "";
    const [, comm, state, parent] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(stat) ?? [];
    if (comm?.startsWith("WebKitWebProces") && state !== "Z" && Number(parent) === pid) found.push(Number(name));
  }
  return found;
};

test("a page whose process is killed is loaded again, three times a minute, and then the window says so", { timeout: 120_000 }, async () => {
  await display();
  const data = await mkdtemp(path.join(tmpdir(), "countersign desk "));
  // Not through the driver: its session ends with the page.
  const app = spawn(process.env.COUNTERSIGN_APP, [], {
    env: { ...process.env, COUNTERSIGN_DATA_DIR: data, COUNTERSIGN_KEYS: "file", COUNTERSIGN_OPERATOR: "maria", RUST_LOG: "info" }, stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  app.stdout.on("data", (text) => (log += text));
  app.stderr.on("data", (text) => (log += text));
  const ended = new Promise((resolve) => app.once("close", resolve));
  try {
    const said = (word) => log.split("\n").filter((line) => line.includes(word)).length;
    const killed = [];
    for (let times = 1; times <= 4; times += 1) {
      await until(`page ${times} listens`, () => said("a page listens") === times);
      // One that was killed ends a moment later.
      const pid = await until("a page", async () => (await pagesOf(app.pid)).find((one) => !killed.includes(one)));
      killed.push(pid);
      process.kill(pid, "SIGKILL");
    }
    await until("the word that it ended once more", () => said("it is loaded again when the operator says so") === 1);
    await until("no page", async () => (await pagesOf(app.pid)).length === 0);
  } finally {
    app.kill("SIGTERM");
    await ended;
    await rm(data, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
});

test("a window that shows nothing 10 s after its start says so in the log and in a dialog, and one that is drawn does not", { timeout: 120_000 }, async () => {
  await display();
  for (const stopped of [true, false]) {
    const data = await mkdtemp(path.join(tmpdir(), "countersign desk "));
    const app = spawn(process.env.COUNTERSIGN_APP, [], {
      env: { ...process.env, COUNTERSIGN_DATA_DIR: data, COUNTERSIGN_KEYS: "file", COUNTERSIGN_OPERATOR: "maria", RUST_LOG: "info" }, stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    app.stdout.on("data", (text) => (log += text));
    app.stderr.on("data", (text) => (log += text));
    const ended = new Promise((resolve) => app.once("close", resolve));
    const dialogs = () => promisify(execFile)("xdotool", ["search", "--onlyvisible", "--pid", String(app.pid)]).then(({ stdout }) => stdout.trim().split("\n").length, () => 0);
    try {
      const page = await until("a page", async () => (await pagesOf(app.pid))[0]);
      if (stopped) process.kill(page, "SIGSTOP");
      else await until("the page listens", () => log.includes("a page listens"));
      const before = await dialogs();
      if (stopped) {
        await until("the log says so", () => log.includes("the window shows nothing 10 s after its start"), 25_000);
        await until("a dialog", async () => (await dialogs()) > before);
        process.kill(page, "SIGCONT");
      } else {
        await new Promise((done) => setTimeout(done, 12_000));
        assert.ok(!log.includes("the window shows nothing"), log);
      }
    } finally {
      app.kill("SIGTERM");
      await ended;
      await rm(data, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    }
  }
});
