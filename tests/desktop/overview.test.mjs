// The numbers of what was asked and decided, in the real window.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { onDesk } from "./support/desk.mjs";
import { KEYS, until } from "./support/webdriver.mjs";

const RULE = `schema = 1
[[rule]]
id = "lookups"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["lookup"]
`;
const PAST = { approve: "approved", deny: "denied", expired: "expired" };
const call = (name) => JSON.stringify({ name, args: { of: name }, risk: "low", reason: "because" });

const lines = (out) => out.trim().split("\n").map((line) => JSON.parse(line));

/** Every request of the store, as the command line tells them; `front` is how long its card was in front, by the audit log. */
const stored = async (desk) => {
  const { out } = await desk.command("history", "--limit", "1000", "--json");
  const { out: bundle } = await desk.command("audit", "export");
  const looked = new Map(lines(bundle).filter((row) => row.type === "audit" && ["hold", "decide"].includes(row.action) && row.detail.includes("looked"))
    .map((row) => [row.subject, JSON.parse(row.detail).looked?.front_ms ?? undefined]));
  return lines(out).filter((line) => line.request_id !== undefined)
    .map((line) => ({ ...line, front: looked.get(`${line.workspace}/${line.agent}/${line.request_id}`) }));
};

const tookMs = (line) => Date.parse(line.decided_at) - Date.parse(line.stored_at);
/** The smallest value that so many of a hundred do not exceed. */
const ofHundred = (values, share) => values.toSorted((a, b) => a - b)[Math.max(Math.ceil((values.length * share) / 100) - 1, 0)];
const words = (ms) => (ms < 1_000 ? `${ms} ms` : `${(Math.floor(ms / 100) / 10).toFixed(1)} s`);
const paced = (lines) => [words(ofHundred(lines.map(tookMs), 50)), words(ofHundred(lines.map(tookMs), 95))];
const share = (part, all) => `${part}${part === 0 ? "" : ` · ${Math.round((100 * part) / all)} %`}`;
const counted = (values) => values.reduce((sum, value) => ({ ...sum, [value]: (sum[value] ?? 0) + 1 }), {});

/** What the screen must say of these requests, counted without the program's own counting. */
const expected = (lines) => {
  const decided = lines.filter((line) => line.state === "decided");
  const [human, automatic] = ["operator", "rule"].map((origin) => decided.filter((line) => line.origin === origin));
  const expired = lines.filter((line) => line.state === "expired").length;
  const tools = Object.keys(counted(human.map((line) => line.tool)));
  return {
    figures: {
      "Requests": String(lines.length), "Still waiting": String(lines.filter((line) => line.state === "pending").length),
      "Decided by people": share(human.length, decided.length), "Decided automatically": share(automatic.length, decided.length),
      "Hasty decisions": share(human.filter((line) => line.front < 1_000).length, human.length),
      "Denied or edited by people": share(human.filter((line) => line.verdict === "deny").length, human.length),
      "By people: median card open · waiting": human.length === 0 ? "–" : [words(ofHundred(human.map((line) => line.front), 50)), paced(human)[0]].join(" · "),
      Expired: share(expired, lines.length), "Delivery overdue now": "0",
    },
    numbers: [lines.length, ...["approve", "deny"].map((verdict) => decided.filter((line) => line.verdict === verdict).length), expired],
    verdicts: Object.fromEntries(Object.entries(counted(lines.flatMap((line) => line.verdict ?? []))).map(([verdict, count]) => [PAST[verdict], count])),
    paces: Object.fromEntries(tools.map((tool) => {
      const own = human.filter((line) => line.tool === tool);
      return [tool, ["default/local", String(own.length), ...paced(own)]];
    })),
  };
};

/** What the screen says. */
const read = (page) => page.run(`
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const cells = (row) => all("td", row).map((cell) => cell.textContent);
  const rows = all("[data-testid=numbers] tbody tr").map(cells);
  return {
    figures: Object.fromEntries(all("[data-testid=figures] > div").map((box) => [box.querySelector("dt").textContent, box.querySelector("dd").textContent])),
    numbers: rows.reduce((sum, row) => sum.map((value, place) => value + Number(row[place])), [0, 0, 0, 0]),
    verdicts: Object.fromEntries(all("[data-testid=verdicts] li").map((line) => [line.firstChild.textContent, Number(line.lastChild.textContent)])),
    paces: Object.fromEntries(all("[data-testid=paces] tbody tr").map(cells).map(([agent, tool, ...rest]) => [tool, [agent, ...rest]])),
  };`);

/** Waits until the screen says what the store holds; fails with the difference. */
const agrees = async (page, lines) => {
  const wanted = expected(lines);
  await until("the numbers of the store", async () => isDeepStrictEqual(await read(page), wanted)).catch(() => {});
  assert.deepEqual(await read(page), wanted);
};

/** How high the line of a colour climbs on the chart, in pixels. */
const climb = (page, token) => page.run(`
  const canvas = document.querySelector("[data-testid=chart] canvas"), context = canvas.getContext("2d");
  context.save();
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim();
  probe.fillRect(0, 0, 1, 1);
  const wanted = probe.getImageData(0, 0, 1, 1).data, seen = context.getImageData(0, 0, canvas.width, canvas.height).data;
  const heights = [];
  for (let at = 0; at < seen.length; at += 4) {
    if (seen[at + 3] > 200 && [0, 1, 2].every((part) => Math.abs(seen[at + part] - wanted[part]) < 24)) heights.push(Math.floor(at / 4 / canvas.width));
  }
  return heights.length === 0 ? 0 : (heights.at(-1) - heights[0]) / devicePixelRatio;`, token);

const COUNTS = 'main[aria-label="Overview"] a[href*="/history"]';

/** What the numbers count that lead to the history. */
const countedByLinks = (page) => page.run("document.querySelector('[data-testid=numbers]').open = true; return [...document.querySelectorAll(arguments[0])].map((link) => link.ariaLabel.split(':')[0])", COUNTS);

/** Follows a number: what it counts, how many it says there are, and how many the history tells and lists. */
const followed = async (page, place, byKey) => {
  // Read as it is followed: the pieces of the time move on with every reading.
  const [label, number] = await page.run(`
    document.querySelector("[data-testid=numbers]").open = true;
    const link = document.querySelectorAll(arguments[0])[arguments[1]], said = [link.ariaLabel, Number(link.textContent)];
    link.focus();
    ${byKey ? "" : "link.click();"}
    return said;`, COUNTS, place);
  if (byKey) await page.press(KEYS.enter);
  const told = await until("the history says how many", async () => Number(/^([\d,]+) request/.exec((await page.text('[data-testid="history-count"]')) ?? "")?.[1] ?? NaN) || false);
  const listed = await page.run("return document.querySelectorAll('[data-testid=history-row]').length");
  await page.press(KEYS.escape);
  await page.sees(COUNTS);
  return { label, number, told, listed };
};

const period = async (page, label) => {
  await page.run("[...document.querySelectorAll('[role=radio]')].find((one) => one.textContent === arguments[0]).click(); return 1", label);
  await page.reads(`Requests over the last ${label}`, 'main[aria-label="Overview"]');
};

onDesk("the overview's numbers are those of the store, and its chart and its time show them", async (desk, page) => {
  const rules = path.join(desk.data, "lookups.toml");
  await writeFile(rules, RULE);
  assert.equal((await desk.command("rules", "apply", rules)).code, 0);

  const paid = await desk.agent("asks.py", call("pay"));
  await desk.armed("pay");
  await page.press("a");
  assert.equal((await paid.done).code, 0);
  for (const tool of ["drop", "wipe"]) {
    const denied = await desk.agent("asks.py", call(tool));
    await page.reads("1 waiting", '[data-testid="waiting"]');
    await page.press("n");
    await desk.armed(tool);
    await page.press("d");
    await page.type('[aria-label="Reason for the agent"]', "not today");
    await page.press(KEYS.enter);
    assert.equal((await denied.done).code, 0);
    await page.gone('[aria-label="Reason for the agent"]');
  }
  for (let times = 0; times < 3; times += 1) assert.equal((await desk.ask("lookup", { of: times }, { risk: "low" }).done).code, 0);
  await desk.ask("late", {}, { timeout: 1 }).done;
  // Two: as many as expired would hide that one is taken for the other.
  for (const of of ["one", "two"]) desk.ask("waits", { of }, { timeout: 100 });
  const lines = await until("all of them are in the store", async () => {
    const found = await stored(desk);
    return found.length === 9 && found.some((line) => line.state === "expired") && found;
  });
  assert.deepEqual(counted(lines.map((line) => line.state)), { decided: 6, expired: 1, pending: 2 });

  await page.press("g");
  await page.press("o");
  await agrees(page, lines);
  assert.ok((await climb(page, "--ok")) > (await climb(page, "--bad")), "four approvals stand above two denials");
  assert.ok((await climb(page, "--bad")) > 20, "the denials are drawn");

  // What came two hours before stays in the day and leaves the hour.
  await desk.earlier("lookup", 2);
  const moved = await stored(desk);
  await period(page, "1 hour");
  await agrees(page, moved.filter((line) => line.tool !== "lookup"));
  await until("one approval stands below two denials", async () => (await climb(page, "--ok")) < (await climb(page, "--bad")));
  await period(page, "24 hours");
  await agrees(page, moved);
  assert.equal(await page.run("return document.querySelectorAll('[data-testid=numbers] tbody tr').length >= 2"), true);

  // Each number leads to exactly the requests that it counts, and back to the same time.
  const labels = await countedByLinks(page);
  for (const label of ["Requests", "Still waiting", "Decided by people", "Decided automatically", "Denied or edited by people", "Expired", "approved", "denied", "expired", "Decided by people of default/local, pay"]) {
    assert.ok(labels.includes(label), `${label} leads to the history: ${labels}`);
  }
  for (const place of labels.keys()) {
    const { label, number, told, listed } = await followed(page, place, place % 2 === 0);
    assert.deepEqual({ label, told, listed }, { label, told: number, listed: number });
  }
  await page.reads("Requests over the last 24 hours", 'main[aria-label="Overview"]');
});
