// A session bus of its own, and every notification that a program asks for on it.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { until } from "./webdriver.mjs";

// Without service folders: a usual session bus would start portals and an accessibility bus.
const CONFIG = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>`;

export class SessionBus {
  address;
  /** Each call of `Notify`, as the monitor prints it. */
  calls = [];
  #processes = [];
  #folder;

  static async open() {
    const bus = new SessionBus();
    bus.#folder = await mkdtemp(path.join(tmpdir(), "countersign-bus-"));
    const config = path.join(bus.#folder, "bus.conf");
    await writeFile(config, CONFIG);
    const daemon = bus.#start("dbus-daemon", [`--config-file=${config}`, "--nofork", "--print-address"]);
    let printed = "";
    daemon.stdout.on("data", (data) => (printed += data));
    bus.address = await until("the session bus", () => (printed.includes("\n") ? printed.trim() : null));
    const monitor = bus.#start("dbus-monitor", ["--address", bus.address, "interface='org.freedesktop.Notifications'"]);
    let open = false;
    monitor.stdout.setEncoding("utf8");
    monitor.stdout.on("data", (data) => {
      open = true;
      for (const message of data.split(/^(?=method call )/m)) {
        if (message.includes("member=Notify")) bus.calls.push(message);
        else if (bus.calls.length > 0) bus.calls[bus.calls.length - 1] += message;
      }
    });
    await until("the monitor", () => open || null);
    return bus;
  }

  #start(program, words) {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"] });
    this.#processes.push(child);
    return child;
  }

  /** Calls a method as another program of the desktop would; gives the answer as `dbus-send` prints it. */
  async call(to, object, method, ...args) {
    const words = [`--bus=${this.address}`, "--print-reply", `--dest=${to}`, object, method, ...args];
    return (await promisify(execFile)("dbus-send", words)).stdout;
  }

  /** Says something to all, as a part of the desktop does. */
  async signal(object, name, ...args) {
    await promisify(execFile)("dbus-send", [`--bus=${this.address}`, "--type=signal", object, name, ...args]);
  }

  /** The names on the bus that begin so. */
  async names(start) {
    const all = await this.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames");
    return [...all.matchAll(/string "([^"]+)"/g)].map(([, name]) => name).filter((name) => name.startsWith(start));
  }

  async close() {
    const ends = this.#processes.map((child) => new Promise((done) => { child.once("close", done); child.kill(); }));
    await Promise.all(ends);
    await rm(this.#folder, { recursive: true, force: true });
  }
}
