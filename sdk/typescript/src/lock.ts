/**
 * A lock that the system ends with its process, however that ends.
 *
 * Node has no file locks everywhere: on Linux it is an abstract socket, on Windows a pipe, elsewhere a file that is open
 * exclusively.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createServer } from "node:net";

/** `O_EXLOCK` of macOS and the BSDs, which Node does not name. */
const O_EXLOCK = 0x20;

/** Takes the lock of a name in a folder: the function that ends it, or null where somebody has it. */
export async function lock(folder: string, name: string): Promise<(() => Promise<void>) | null> {
  if (process.platform !== "linux" && process.platform !== "win32") return lockFile(`${folder}/${name}.lock`);
  // The folder itself, by whatever path it was named.
  const { dev, ino } = await stat(folder, { bigint: true });
  const digest = createHash("sha256").update(`${dev}/${ino}/${name}`).digest("hex").slice(0, 48);
  const path = process.platform === "win32" ? `\\\\.\\pipe\\countersign-${digest}` : `\0countersign-${digest}`;
  const server = createServer((socket) => socket.destroy());
  server.unref();
  const taken = await new Promise<boolean>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" || error.code === "EACCES" ? resolve(false) : reject(error),
    );
    // Workers of a cluster would share it otherwise.
    server.listen({ path, exclusive: true }, () => resolve(true));
  });
  if (!taken) return null;
  return () => new Promise((resolve) => server.close(() => resolve()));
}

async function lockFile(path: string): Promise<(() => Promise<void>) | null> {
  try {
    const { O_CREAT, O_NONBLOCK, O_RDWR } = constants;
    const file = await open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_EXLOCK, 0o600);
    return () => file.close();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EAGAIN" || code === "EWOULDBLOCK") return null;
    throw error;
  }
}
