// The states of a desk, one after the other: each is looked at by axe in both themes, and some become pictures named after what they show.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { violations } from "../support/axe.mjs";
import { until } from "../support/webdriver.mjs";

export const OUT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/screens");

/** What a walk over the stories does and has found. */
export const walk = {
  /** Pictures are written. */
  pictures: false,
  /** The paths of the screens that were looked at. */
  visited: new Set(),
  /** What axe says, each with the state and the theme. */
  faults: [],
};

/** Chooses the theme as a person does, round the button in the status bar. */
const choose = (page, theme) =>
  until(`the theme ${theme}`, () => page.run(
    "const button = document.querySelector('footer button[aria-label^=Theme]'); if (button.ariaLabel === 'Theme: ' + arguments[0]) return true; button.click(); return false",
    theme,
  ));

const look = async ({ browser: page }, name, picture) => {
  for (const theme of ["dark", "light"]) {
    await choose(page, theme);
    if (picture) {
      const file = `${name}-${theme}.png`;
      await writeFile(path.join(OUT, file), await page.picture());
      process.stdout.write(`docs/screens/${file}\n`);
    }
    walk.faults.push(...(await violations(page)).map((fault) => `${name}, ${theme}: ${fault}`));
  }
  await choose(page, "dark");
  walk.visited.add(await page.run("return location.hash.slice(1).split('?')[0] || '/'"));
};

/** A state that the documentation shows. */
export const save = (desk, name) => look(desk, name, walk.pictures);

/** A state that is only looked at. */
export const check = (desk, name) => look(desk, name, false);

/** Waits until nothing moves any more: a picture is sharp. */
export const settled = () => new Promise((done) => setTimeout(done, walk.pictures ? 700 : 150));
