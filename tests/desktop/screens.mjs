// Pictures of the real window for the documentation, and what axe says of it: `make screens`, or
// `COUNTERSIGN_APP=… node tests/desktop/screens.mjs [STORY…]`, all stories without a name.
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as inbox from "./screens/inbox.mjs";
import { judgement } from "./screens/judgement.mjs";
import * as practice from "./screens/practice.mjs";
import * as rules from "./screens/rules.mjs";
import { OUT, walk } from "./screens/shots.mjs";
import * as trouble from "./screens/trouble.mjs";
import * as watching from "./screens/watching.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

// The empty inbox shows where the program lies: the pictures must not tell where somebody built it.
const FOLDER = await mkdtemp(path.join(tmpdir(), "countersign-"));
const APP = path.join(FOLDER, "countersign");
if (process.env.COUNTERSIGN_APP === undefined) throw new Error("set COUNTERSIGN_APP to a binary built with the feature gui");
await copyFile(process.env.COUNTERSIGN_APP, APP);
process.env.COUNTERSIGN_APP = APP;
process.env.COUNTERSIGN_WORKSPACE = "acme-prod";
process.env.COUNTERSIGN_NATS_SERVER ??= path.join(ROOT, ".setup/bin/nats-server");
const { Desk } = await import("./support/desk.mjs");

const onDesk = async (work) => {
  const desk = await Desk.open();
  try {
    await desk.browser.sees('[data-testid="empty"] pre');
    await work(desk, desk.browser);
  } finally {
    await desk.close();
  }
};

walk.pictures = true;
await mkdir(OUT, { recursive: true });
const wanted = process.argv.slice(2);
for (const [name, story] of Object.entries({ ...inbox, judgement, ...watching, ...practice, ...rules, ...trouble })) {
  if (wanted.length === 0 || wanted.includes(name)) await onDesk(story);
}

await rm(FOLDER, { recursive: true, force: true });
for (const fault of walk.faults) process.stderr.write(`${fault}\n`);
process.exitCode = walk.faults.length === 0 ? 0 : 1;
