/** The published vectors (`docs/protocol/vectors`): what every implementation reads alike. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { check } from "../src/protocol-check.js";
import { deviceSigned } from "../src/passkey.js";
import { CONTRACT } from "./kit/contract.js";

const LOGS = JSON.parse(readFileSync(`${CONTRACT}/vectors/realm-log.json`, "utf8"));
const DEVICES = JSON.parse(readFileSync(`${CONTRACT}/vectors/devices.json`, "utf8"));

const LINES = (await check(LOGS)) as any[];

describe("the realm log", () => {
  test.each<[string, any, any]>(LOGS.logs.map((log: any, at: number) => [log.name, log, LINES[at]]))(
    "%s",
    (name, log, line) => {
      expect(line).toEqual({
        name,
        words: log.messages.map((sent: any) => sent.word ?? null),
        ...log.expect,
        decisions: log.decisions.map(({ console, agent }: any) => ({ console, agent })),
        votes: log.votes.map(({ console, agent }: any) => ({ console, agent })),
        registers: null,
        anchors: log.anchors.map((anchor: any) => anchor.holds),
        orders_agree: true,
      });
    },
  );
});

describe("devices", async () => {
  const [line] = (await check(DEVICES)) as any[];
  test.each<[string, boolean, boolean]>(
    DEVICES.signatures.map((row: any, at: number) => [row.name, row.holds, line.signatures[at]]),
  )("%s", (_, holds, found) => expect(found).toBe(holds));
  test("decisions and values", () => {
    expect(line.decisions).toEqual(DEVICES.decisions.map((row: any) => row.expect));
    expect(line.values).toEqual(DEVICES.values.map((row: any) => row.may));
  });

  test("a record without one of its fields signs nothing", () => {
    const good = DEVICES.signatures[0];
    const signed = (record: any): boolean =>
      deviceSigned(
        record,
        good.operator,
        good.context,
        DEVICES.realm,
        good.subject,
        Buffer.from(good.payload),
        good.sig,
      );
    for (const name of ["key", "public", "rp_id", "origins", "until", "proof"]) {
      const { [name]: _, ...without } = good.record;
      for (const wrong of [{}, { [name]: null }, { [name]: 1 }, { [name]: [] }]) {
        expect(signed({ ...without, ...wrong }), name).toBe(false);
      }
    }
    expect(signed({ ...good.record, credential: 1 })).toBe(true);
  });
});
