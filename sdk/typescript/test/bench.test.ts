/** The bench runs, against a played console; `make bench` has the figures of a real one. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { benchOfFile } from "./kit/bench.js";

const bench = benchOfFile();

test("each adapter is measured", async () => {
  const { console } = bench();
  const count = process.env["COUNTERSIGN_BENCH"] ?? "3";
  let seen = 0;
  const looking = setInterval(() => {
    for (const { body } of console.of("request").slice(seen)) void console.byRule(body.request_id);
    seen = console.of("request").length;
  }, 1);
  const { stdout } = await promisify(execFile)(process.execPath, ["bench.mjs", bench().file(), count]);
  clearInterval(looking);
  process.stdout.write(stdout);
  expect(stdout.match(/ adds .*(met|missed)/g)).toHaveLength(3);
}, 300_000);
