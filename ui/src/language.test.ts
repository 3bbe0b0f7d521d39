import { expect, it } from "vitest";
import { languageOf } from "./language";

it("a desktop without a locale has a language that formats can be asked for", () => {
  const table: [string, string][] = [
    ["C", "en"],
    ["POSIX", "posix"],
    ["de-DE", "de-DE"],
    ["", "en"],
    ["c_utf8", "en"],
  ];
  for (const [reported, language] of table) {
    expect(languageOf(reported)).toBe(language);
    expect(() => new Intl.NumberFormat(languageOf(reported))).not.toThrow();
  }
});
