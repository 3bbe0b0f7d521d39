// What axe-core finds wrong with the page as it is: https://github.com/dequelabs/axe-core
import { readFile } from "node:fs/promises";
import { until } from "./webdriver.mjs";

const SOURCE = await readFile(new URL("../../../ui/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
// Off by default: what a person sees on a button is what he says to a program that listens.
const OPTIONS = { resultTypes: ["violations"], rules: { "label-content-name-mismatch": { enabled: true } } };

/** The violations, one line an element. */
export const violations = async (page) => {
  if (!(await page.run("return window.axe !== undefined"))) await page.run(`${SOURCE}; return 1`);
  await page.run(
    `window.axeFound = null;
    axe.run(document, arguments[0]).then(
      ({ violations }) => { window.axeFound = violations.flatMap((rule) => rule.nodes.map((node) => [rule.id, node.target.join(" "), node.failureSummary].join(": "))); },
      (error) => { window.axeFound = [String(error)]; },
    );
    return 1`,
    OPTIONS,
  );
  const { lines } = await until("axe has looked", () => page.run("return window.axeFound && { lines: window.axeFound }"), 60_000);
  return lines;
};
