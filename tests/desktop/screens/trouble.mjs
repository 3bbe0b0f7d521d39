// What the desk says when its bus is in trouble.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { TYPICAL } from "./calls.mjs";
import { save, settled } from "./shots.mjs";

const run = promisify(execFile);

const runtime = async (desk) => JSON.parse(await readFile(path.join(desk.data, "runtime.json"), "utf8"));

/** The process of the desk's own nats-server. */
const server = async (desk) => {
  const { stdout } = await run("pgrep", ["-P", String((await runtime(desk)).pid), "nats-server"]);
  return Number(stdout);
};

const asked = async (desk, page) => {
  await desk.agent("asks.py", ...TYPICAL.slice(3, 6).map((call) => JSON.stringify({ ...call, timeout: 600 })));
  await page.reads("3 waiting", '[data-testid="waiting"]');
  await desk.armed(TYPICAL[3].name);
};

/** The bus does not answer, and a verdict waits for it. */
export async function away(desk, page) {
  await asked(desk, page);
  const pid = await server(desk);
  process.kill(pid, "SIGSTOP");
  try {
    await page.press("a");
    await page.reads("cannot be reached", '[data-testid="connection"]', 60_000);
    await settled();
    await save(desk, "trouble-away");
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

/** The bus came back without what it held. */
export async function forgotten(desk, page) {
  await asked(desk, page);
  await page.press("a");
  await page.reads("2 waiting", '[data-testid="waiting"]');
  const { nats_url: url } = await runtime(desk);
  await desk.agent("forgets.py", url, path.join(desk.data, "keys/login.nk"), "CS_DECISIONS").then(({ done }) => done);
  process.kill(await server(desk), "SIGKILL");
  await page.sees('[data-testid="read-only"]', 60_000);
  await settled();
  await save(desk, "trouble-forgotten");
  await page.click('[data-testid="alarms"]');
  await page.sees('[data-testid="alarm"]');
  await settled();
  await save(desk, "trouble-forgotten-alarm");
}
