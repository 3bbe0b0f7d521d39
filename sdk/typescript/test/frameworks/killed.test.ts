/** Asks of frameworks that a killed process left standing: the next one takes their answer, and runs once. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Asked } from "../kit/asked.js";
import { benchOfFile } from "../kit/bench.js";
import { NEWER, OTHERS } from "../kit/node.js";

const bench = benchOfFile();

function start(
  framework: string,
  folder: string,
): { ended: Promise<number | null>; kill: () => void; said: () => string } {
  const child = spawn(process.execPath, ["--import", "tsx", "test/kit/resumed.ts", framework, bench().file(), folder]);
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  return {
    ended: new Promise((resolve) => child.once("exit", resolve)),
    kill: () => child.kill("SIGKILL"),
    said: () => said,
  };
}

test.each([...(OTHERS ? ["ai", "openai-agents", "langgraph"] : []), ...(NEWER ? ["mastra"] : [])])(
  "%s: resumable after a kill",
  async (framework) => {
    const folder = bench().folderFor("killed");
    const asked = new Asked(bench().console);
    const first = start(framework, folder);
    const card = await asked.card(first.ended.then((code) => `${code}: ${first.said()}`));
    first.kill();
    await first.ended;
    const second = start(framework, folder);
    await bench().console.decide(card.request_id);
    const code = await second.ended;
    expect(code, second.said()).toBe(0);
    expect(readFileSync(`${folder}/ran`, "utf8")).toBe("1\n");
    await asked.noneCame();
  },
  180_000,
);
