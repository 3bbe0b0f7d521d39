// axe-core over every screen, dialog and state of a card, light and dark: the walk that also makes the documentation's pictures.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as inbox from "./screens/inbox.mjs";
import { judgement } from "./screens/judgement.mjs";
import * as rules from "./screens/rules.mjs";
import { walk } from "./screens/shots.mjs";
import * as states from "./screens/states.mjs";
import * as trouble from "./screens/trouble.mjs";
import * as watching from "./screens/watching.mjs";

process.env.COUNTERSIGN_WORKSPACE = "acme-prod";
const { Desk } = await import("./support/desk.mjs");

for (const [name, story] of Object.entries({ ...inbox, judgement, ...watching, ...rules, ...trouble, ...states })) {
  test(`axe finds nothing wrong: ${name}`, { timeout: 240_000 }, async () => {
    const desk = await Desk.open();
    try {
      await desk.browser.sees('[data-testid="empty"] pre');
      await story(desk, desk.browser);
      assert.deepEqual(walk.faults.splice(0), []);
    } finally {
      await desk.close();
    }
  });
}

test("no screen was left out: every path of the router", async () => {
  const router = await readFile(new URL("../../ui/src/app/router.tsx", import.meta.url), "utf8");
  const paths = [...router.matchAll(/path: "([^"]+)"/g)].map(([, path]) => path);
  assert.ok(paths.length >= 12, `${paths}`);
  assert.deepEqual(paths.filter((path) => !walk.visited.has(path)), []);
});
