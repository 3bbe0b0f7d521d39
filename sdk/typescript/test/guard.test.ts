/** `gate.guard`: the function runs with what was approved, or not at all. */
import { beforeAll, expect, expectTypeOf, test } from "vitest";
import { argsDigest, Gate } from "../src/index.js";
import { benchOfFile } from "./kit/bench.js";
import { until } from "./kit/until.js";

const bench = benchOfFile();
let gate: Gate;

beforeAll(async () => {
  gate = await bench().gate();
});

/** The running call, and the id under which it asks. */
async function asked<T>(calling: () => Promise<T>): Promise<[Promise<T>, string]> {
  const before = bench().console.of("request").length;
  const running = calling();
  running.catch(() => undefined);
  const { body } = await until(() => bench().console.of("request")[before]);
  return [running, body.request_id];
}

test("it runs with the approved arguments and returns what the function returns", async () => {
  const pay = gate.guard("pay", { risk: "high", description: "Pays" }, async (args: { n: number }) => args.n + 1);
  expectTypeOf(pay).toEqualTypeOf<(args: { n: number }) => Promise<number>>();
  const [paying, id] = await asked(() => pay({ n: 1 }));
  await bench().console.decide(id);
  expect(await paying).toBe(2);
  expect(await bench().console.receipt(id, "executed")).toMatchObject({ executed_args_digest: argsDigest({ n: 1 }) });
});

test("an edit runs as edited", async () => {
  const ran: unknown[] = [];
  const pay = gate.guard("pay", {}, (args: { n: number }) => void ran.push(args));
  const [paying, id] = await asked(() => pay({ n: 1 }));
  await bench().console.edit(id, { n: 2 });
  await paying;
  expect(ran).toEqual([{ n: 2 }]);
  expect(await bench().console.receipt(id, "executed")).toMatchObject({ executed_args_digest: argsDigest({ n: 2 }) });
});

test("what the caller changes meanwhile, or the function afterwards, changes nothing", async () => {
  const args = { list: [1] };
  const ran: unknown[] = [];
  const pay = gate.guard("pay", {}, (given: { list: number[] }) => {
    ran.push(structuredClone(given));
    given.list.push(3);
  });
  const [paying, id] = await asked(() => pay(args));
  args.list.push(2);
  await bench().console.decide(id);
  await paying;
  expect(ran).toEqual([{ list: [1] }]);
});

test.each([
  ["deny", "pay was not run, denied by Ada: no"],
  ["skip", "pay was not run, skipped by Ada (not a refusal): no"],
  ["nod", "pay was not run, not allowed (nod): no"],
])("%s throws the words", async (verdict, words) => {
  const ran: unknown[] = [];
  const pay = gate.guard("pay", { allowedVerdicts: ["approve", "skip"] }, (args: object) => void ran.push(args));
  const [paying, id] = await asked(() => pay({}));
  await bench().console.decide(id, verdict, { message: "no" });
  await expect(paying).rejects.toMatchObject({ name: "NotAllowedError", message: words, decision: { requestId: id } });
  expect(ran).toEqual([]);
});

test("what the function throws goes on, and the receipt names its type alone", async () => {
  const pay = gate.guard("pay", {}, () => {
    throw new RangeError("secret");
  });
  const [paying, id] = await asked(() => pay({}));
  await bench().console.decide(id);
  await expect(paying).rejects.toThrow("secret");
  expect(await bench().console.receipt(id, "failed")).toMatchObject({ message: "RangeError" });
});

test("an edit that is no object of arguments does not run", async () => {
  const ran: unknown[] = [];
  const pay = gate.guard("pay", {}, (args: object) => void ran.push(args));
  const [paying, id] = await asked(() => pay({}));
  await bench().console.edit(id, [1]);
  await expect(paying).rejects.toMatchObject({ name: "ArgumentsChangedError", code: "invalid_args" });
  expect(await bench().console.receipt(id, "refused")).toMatchObject({ message: "invalid_args" });
  expect(ran).toEqual([]);
});

test("slips are told where the guard is made", () => {
  expect(() => gate.guard("pay", { allowedVerdicts: "approve" as never }, () => 1)).toThrow("allowedVerdicts");
});
