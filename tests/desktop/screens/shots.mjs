// Pictures of a desk, named after what they show.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../support/webdriver.mjs";

export const OUT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/screens");

/** Chooses the theme as a person does, round the button in the status bar. */
const choose = (page, theme) =>
  until(`the theme ${theme}`, () => page.run(
    "const button = document.querySelector('footer button[aria-label^=Theme]'); if (button.ariaLabel === 'Theme: ' + arguments[0]) return true; button.click(); return false",
    theme,
  ));

/** A picture in either theme. */
export const save = async (desk, name) => {
  for (const theme of ["dark", "light"]) {
    await choose(desk.browser, theme);
    await writeFile(path.join(OUT, `${name}-${theme}.png`), await desk.browser.picture());
  }
  await choose(desk.browser, "dark");
  process.stdout.write(`docs/screens/${name}-{dark,light}.png\n`);
};

/** Waits until nothing moves any more. */
export const settled = () => new Promise((done) => setTimeout(done, 700));
