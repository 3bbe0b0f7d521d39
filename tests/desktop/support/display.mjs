// A display of its own (Xvfb) for each process of tests: never the person's, and no other window that takes the keyboard.
import { spawn } from "node:child_process";
import { until } from "./webdriver.mjs";

let started;

/** Starts it once; everything that is started afterwards opens its windows there. */
export const display = () => (started ??= start());

const start = async () => {
  // Its number is of this process: two that start at once never take the same. -displayfd writes it once clients are accepted.
  // It ends with this process, however that ends.
  const name = `:${100 + (process.pid % 50_000)}`;
  const xvfb = spawn("setpriv", ["--pdeathsig", "TERM", "Xvfb", name, "-displayfd", "3", "-screen", "0", "1440x900x24", "-nolisten", "tcp", "-noreset"], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  let said = "";
  // The number and the end of its line come one after the other: a pipe that is closed in between ends the server.
  xvfb.stdio[3].on("data", (data) => (said += data));
  await until("Xvfb", () => {
    if (xvfb.exitCode !== null) throw new Error("Xvfb has ended");
    return said.endsWith("\n");
  });
  xvfb.stdio[3].destroy();
  xvfb.unref();
  process.env.DISPLAY = name;
  delete process.env.WAYLAND_DISPLAY;
  // Without these two every launch leaves a session bus and an accessibility bus behind.
  Object.assign(process.env, { DBUS_SESSION_BUS_ADDRESS: "disabled:", NO_AT_BRIDGE: "1" });
};
