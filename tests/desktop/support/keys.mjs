// Keys for windows that are no page: the toolkit's own dialogs.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { until } from "./webdriver.mjs";

const run = promisify(execFile);

/** Types a line into a window of this title and confirms it. */
export const answerDialog = async (title, text) => {
  const found = () => run("xdotool", ["search", "--onlyvisible", "--name", title]).then(({ stdout }) => stdout.trim().split("\n").at(-1));
  const window = await until(`the dialog "${title}"`, found);
  // No window manager gives it the keyboard.
  await run("xdotool", ["windowfocus", "--sync", window]);
  await run("xdotool", ["key", "ctrl+a"]);
  await run("xdotool", ["type", "--delay", "5", text]);
  await run("xdotool", ["key", "Return"]);
};
