// What surrounds the page: the session's lock, a bus that does not answer, and addresses that are not its own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Desk, onDesk } from "./support/desk.mjs";
import { SessionBus } from "./support/session-bus.mjs";

test("a locked session disarms though the window keeps its focus, and the card stands still again before it is armed", { timeout: 90_000 }, async () => {
  const bus = await SessionBus.open();
  const desk = await Desk.open({ DBUS_SESSION_BUS_ADDRESS: bus.address });
  const page = desk.browser;
  try {
    desk.ask("send_email", { to: "maria@acme.example" });
    await desk.armed("send_email");
    await bus.signal("/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver.ActiveChanged", "boolean:true");
    await page.sees('[data-testid="card"][data-armed="false"]');
    await page.press("a");
    // Another desktop's way to say the same; and what is none of it.
    await bus.signal("/org/gnome/ScreenSaver", "org.gnome.ScreenSaver.ActiveChanged", "boolean:false");
    await desk.armed("send_email");
    assert.equal(await page.run("return document.querySelector('[data-testid=sent]')"), null);
    await page.press("a");
    await page.reads("held, not sent", '[data-testid="sent"]');
  } finally {
    await desk.close();
    await bus.close();
  }
});

onDesk("while the bus does not answer, what the console itself knows is reported at once", async (desk, page) => {
  desk.ask("send_email", { to: "maria@acme.example" });
  await desk.armed("send_email");
  const { pid } = JSON.parse(await readFile(path.join(desk.data, "runtime.json"), "utf8"));
  const server = Number((await promisify(execFile)("pgrep", ["-P", String(pid), "nats-server"])).stdout);
  process.kill(server, "SIGSTOP");
  try {
    await page.press("a");
    await page.reads("held, not sent", '[data-testid="row"]', 2_000);
    // The hold takes 3 s, a question to the bus that is not answered 2 s and more.
    await page.reads("being sent", '[data-testid="row"]', 5_000);
    await page.sees('[data-testid="sent"] [data-state="queued"]');
    assert.equal(await page.text('[data-testid="lost"]'), null);
  } finally {
    process.kill(server, "SIGCONT");
  }
  await page.reads("approved, on the bus", '[data-testid="sent"]', 30_000);
});

onDesk("no address but its own takes the desk's place in its window, and none opens another one", async (_, page) => {
  let asked = 0;
  const elsewhere = createServer((_request, answer) => {
    asked += 1;
    answer.setHeader("content-type", "text/html").end("<h1>Countersign</h1>");
  });
  await new Promise((listening) => elsewhere.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${elsewhere.address().port}/`;
  try {
    const own = await page.run("return location.href");
    for (const go of [
      `location.href = '${url}'`, `location.replace('${url}')`, `window.open('${url}')`,
      `const link = document.createElement('a'); link.href = '${url}'; document.body.append(link); link.click(); link.remove()`,
      `const link = document.createElement('a'); link.href = '${url}'; link.target = '_blank'; document.body.append(link); link.click(); link.remove()`,
    ]) {
      await page.run(`${go}; return 1`);
      // Longer than such a page takes to be drawn.
      await new Promise((done) => setTimeout(done, 300));
      assert.equal(await page.run("return location.href"), own, go);
      await page.sees('[data-testid="empty"]');
    }
    assert.equal((await page.windows()).length, 1);
    assert.equal(asked, 0);
  } finally {
    elsewhere.close();
  }
});
