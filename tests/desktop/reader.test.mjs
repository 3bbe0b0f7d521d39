// A second reader in the real window, by the keyboard alone: from what is found to the first mark on a card.
import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { violations } from "./support/axe.mjs";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

// A stand-in for the program, where the console looks for it.
const folder = await mkdtemp(path.join(tmpdir(), "countersign-reader-"));
const HELP = "-p, --print --restricted --output-format --system-prompt --tools --strict-mcp-config --setting-sources --settings --no-session-persistence --model";
const FOUND = JSON.stringify({ findings: [{ at: "/to", code: "other", message: "the text speaks of somebody else" }] });
const REPORT = JSON.stringify({ type: "result", is_error: false, result: FOUND });
await writeFile(path.join(folder, "claude"), `#!/bin/sh\nif [ "$1" = --help ]; then echo "${HELP}"; exit; fi\ncat > /dev/null\necho '${REPORT}'\n`);
await chmod(path.join(folder, "claude"), 0o755);
process.env.PATH = `${folder}:${process.env.PATH}`;

const call = JSON.stringify({ name: "pay", risk: "low", timeout: 300, args: { to: "Hallberg", text: "for Nordwind" } });
const FOCUS = "const to = document.querySelector(arguments[0]) ?? [...document.querySelectorAll('button, label')].find((one) => (one.getAttribute('aria-label') ?? one.textContent).startsWith(arguments[0])); const field = to?.control ?? to; field?.focus(); return document.activeElement === field";

onDesk("a reader is switched on with the keyboard, and its first mark is on a card in under a minute", async (desk, page) => {
  const begun = Date.now();
  const asked = await desk.agent("asks.py", call);
  await page.reads("1 waiting", '[data-testid="waiting"]');
  const focus = (to) => until(`the keyboard is on ${to}`, () => page.run(FOCUS, to));
  await page.press("g");
  await page.press(",");
  await page.sees('[data-testid="setting-reader"]');
  await page.reads("No second reader is on.", '[data-testid="reader-state"]');
  await focus("Use Claude Code");
  await page.press(KEYS.enter);
  await page.reads("leave this machine, to api.anthropic.com", '[role="dialog"]');
  // A stray Enter does nothing but leave.
  assert.equal(await page.run("return document.activeElement.textContent.startsWith('Cancel')"), true);
  await focus("[role=dialog] input[type=checkbox]");
  await page.press(" ");
  await focus("[role=dialog] input:not([type=checkbox])");
  for (const letter of "api.anthropic.com") await page.press(letter);
  for (const theme of ["dark", "light"]) {
    await page.run("document.documentElement.dataset.theme = arguments[0]; return 1", theme);
    assert.deepEqual(await violations(page), [], theme);
  }
  await focus("[data-testid=use-reader]");
  await page.press(KEYS.enter);
  await page.reads("Arguments of default leave this machine, to api.anthropic.com.", '[data-testid="reader-state"]');
  assert.match(await readFile(path.join(desk.data, "config.toml"), "utf8"), /program = "claude-code"/);
  await page.reads("leave this machine", '[data-testid="reader"]');
  await page.press("g");
  await page.press("q");
  await page.sees('[data-testid="by-reader"]');
  await page.press("n");
  await page.reads("“the text speaks of somebody else”", '[data-testid="added-by-reader"]');
  assert.ok(Date.now() - begun < 60_000, `${Date.now() - begun} ms`);
  for (const theme of ["dark", "light"]) {
    await page.run("document.documentElement.dataset.theme = arguments[0]; return 1", theme);
    assert.deepEqual(await violations(page), [], theme);
  }
  assert.equal((await desk.command("reader", "off")).code, 0);
  await page.press("g");
  await page.press(",");
  await page.reads("No second reader is on.", '[data-testid="reader-state"]');
  const { out } = await desk.command("inbox", "--json");
  const [{ request_id: id }] = out.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal((await desk.command("deny", id, "--message", "not them")).code, 0);
  await asked.done;
});
