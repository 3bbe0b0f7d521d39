import { expect, it } from "vitest";

const sources = import.meta.glob<string>("../**/*.{tsx,css}", { query: "?raw", import: "default", eager: true });

it("no layout asks a container how wide it is: WebKit counts those in zoomed pixels, and values lose their room", () => {
  const asking = Object.entries(sources).filter(([, text]) => /@container|@min-\[|@max-\[|container-type/u.test(text));
  expect(asking.map(([file]) => file)).toEqual([]);
  expect(Object.keys(sources).length).toBeGreaterThan(100);
});
