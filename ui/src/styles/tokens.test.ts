import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

// Style sheets are empty to the tests' own imports.
const css = readFileSync(path.join(import.meta.dirname, "tokens.css"), "utf8");

/** WCAG 2.2, 1.4.3: text of the usual size. */
const AA = 4.5;

const channel = (value: number): number => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const luminance = (hex: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((from) =>
    channel(Number.parseInt(hex.slice(from, from + 2), 16) / 255),
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ratio = (a: string, b: string): number => {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
};

const colours = (theme: string): ReadonlyMap<string, string> => {
  const block = new RegExp(`data-theme="${theme}"\\] \\{([^}]*)\\}`, "u").exec(css)?.[1] ?? "";
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/gu)].map(([, name = "", hex = ""]) => [name, hex]));
};

/** Every text colour on every ground that something is written on. */
const WRITTEN = [
  ...["text", "text-2", "text-3", "accent", "ok", "warn", "bad", "crit"].flatMap((text) =>
    ["bg", "panel", "raised"].map((ground) => [text, ground] as const),
  ),
  ["warn", "warn-bg"],
  ["warn-text", "warn-bg"],
  ["bad", "bad-bg"],
  ["crit", "bad-bg"],
  ["ok", "ok-bg"],
  ["accent-ink", "accent"],
  ["ok-ink", "ok"],
] as const;

describe.each(["dark", "light"])("the %s theme", (theme) => {
  const of = colours(theme);

  it.each(WRITTEN)("writes %s on %s so that it can be read", (text, ground) => {
    expect(ratio(of.get(text) ?? "", of.get(ground) ?? "")).toBeGreaterThanOrEqual(AA);
  });

  it("writes numbers on red so that they can be read", () => {
    expect(ratio("#ffffff", of.get("bad-fill") ?? "")).toBeGreaterThanOrEqual(AA);
  });
});
