/** Which frameworks a run tests: some want a newer Node.js than the oldest that the SDK runs on. */

const [major = 0] = process.versions.node.split(".").map(Number);

/** The frameworks that want Node.js 22.13. */
export const NEWER = major >= 22;
/** All others: unless an older Node.js tests them already (`COUNTERSIGN_FRAMEWORKS=newer`). */
export const OTHERS = process.env["COUNTERSIGN_FRAMEWORKS"] !== "newer";
