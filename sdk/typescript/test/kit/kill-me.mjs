/** A program that asks for one call after the other and notes which it has done: `kill-me AGENT_JSON FOLDER`. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { Gate } from "../../dist/index.js";

const [agentJson = "", folder = ""] = process.argv.slice(2);

function note(file, line) {
  const opened = openSync(file, "a");
  writeSync(opened, `${line}\n`);
  fsyncSync(opened);
  closeSync(opened);
}

const done = `${folder}/done`;
const gate = await Gate.connect(agentJson, { journal: `${folder}/pending`, connectTimeout: 120 });
for (;;) {
  const count = existsSync(done) ? readFileSync(done, "utf8").split("\n").length - 1 : 0;
  const key = `${basename(folder)}/${count}`;
  const decision = await gate.ask({ name: "pay", args: { key } }, { key });
  if (decision.allowed) note(`${folder}/ran`, decision.requestId);
  note(done, key);
}
