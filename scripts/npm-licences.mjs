// Every installed npm package has a permissive licence, or one of the weak copyleft that stays within its files.
// Refuses what names no licence; reads only what is installed.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "MPL-2.0",
  "OFL-1.1", // fonts
  "Python-2.0",
  "Unlicense",
  "Unicode-3.0",
]);

/** Whether an SPDX expression of names joined by AND, OR and brackets is allowed. */
function isAllowed(expression) {
  const bare = expression.trim().replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(bare)) return false;
  return bare
    .split(/\s+OR\s+/)
    .some((choice) => choice.split(/\s+AND\s+/).every((name) => ALLOWED.has(name.trim())));
}

const ui = fileURLToPath(new URL("../ui", import.meta.url));
const packages = JSON.parse(
  execFileSync("npm", ["query", "*"], { cwd: ui, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 }),
).filter((entry) => entry.location !== "");

const refused = packages.filter((entry) => !isAllowed(String(entry.license ?? "")));
for (const entry of refused) {
  console.error(`${entry.name} ${entry.version}: licence ${JSON.stringify(entry.license ?? null)} is not allowed`);
}
console.log(`npm licences: ${packages.length} packages, ${refused.length} refused`);
process.exit(refused.length === 0 ? 0 : 1);
