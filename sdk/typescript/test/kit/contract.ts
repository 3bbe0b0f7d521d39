/** Where the published contract is. */
import { fileURLToPath } from "node:url";

export const REPOSITORY = fileURLToPath(new URL("../../../..", import.meta.url));
export const CONTRACT = `${REPOSITORY}docs/protocol`;
