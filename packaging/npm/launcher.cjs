#!/usr/bin/env node
// Finds the program in the package for this system and takes its place.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");

const PLATFORM = `countersign-desk-${process.platform}-${process.arch}`;

function program() {
  try {
    return join(dirname(require.resolve(`${PLATFORM}/package.json`)), "root", "bin", "countersign");
  } catch {
    process.stderr.write(
      `countersign: the package ${PLATFORM} is missing. It is an optional dependency of countersign-desk: --omit=optional and ` +
        "a lock file of another system leave it out; install again without them. " +
        "Only Linux on x64 with glibc has one; elsewhere use the container image.\n",
    );
    process.exit(2);
  }
}

const file = program();
const words = process.argv.slice(2);
if (typeof process.execve === "function") {
  try {
    process.execve(file, [file, ...words], process.env);
  } catch {
    // A worker or a policy may forbid it: beside it then.
  }
}

const child = spawn(file, words, { stdio: "inherit" });
// Ctrl+C reaches the child from the terminal too; it ends, and this with it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  process.stderr.write(`countersign: ${file} does not run: ${error.message}\n`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));
