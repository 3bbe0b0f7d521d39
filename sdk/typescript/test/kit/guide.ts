/** The complete example of a guide, run as a reader would run it: saved to a file of its own, not a letter changed. */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { REPOSITORY } from "./contract.js";

// Inside of the package, which finds itself and the frameworks from there.
const FOLDER = fileURLToPath(new URL("../.guides/", import.meta.url));

/** The one block of TypeScript under `## Complete example` of docs/guides/NAME.md. */
function completeExample(name: string): string {
  const page = readFileSync(`${REPOSITORY}docs/guides/${name}.md`, "utf8");
  const [, section = ""] = /^## Complete example$(.*?)(?=^## )/ms.exec(page) ?? [];
  const [, code = "", ...more] = section.split(/^```(?:ts)?\n/m);
  if (code === "" || more.length !== 1) throw new Error(`${name}: no example`);
  return code;
}

/** What it printed by its end. Fails unless it ended well. */
export async function guide(
  name: string,
  agentJson: string,
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  const file = `${FOLDER}${name}-${process.pid}.ts`;
  writeFileSync(file, completeExample(name));
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file], {
    cwd,
    env: { ...process.env, COUNTERSIGN_AGENT_JSON: agentJson, ...env },
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`${name} ended with ${String(code)}: ${err}`);
  return out;
}
