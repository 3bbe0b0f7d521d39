/** Whom an agent believes: the realm log on a real bus (protocol, section 8). */
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { headers as natsHeaders } from "@nats-io/transport-node";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ToolCall } from "../src/index.js";
import { Bench } from "./kit/bench.js";
import { base32, Key } from "./kit/key.js";
import { pause, SOON, until } from "./kit/until.js";

let bench: Bench;

beforeEach(async () => {
  bench = await new Bench().start();
});
afterEach(() => bench.stop());

function call(requestId: string, about: Partial<ToolCall> = {}): ToolCall {
  return { name: "pay", requestId, args: { n: 1 }, risk: "high", ...about };
}

/** Decides with a key that need not be Ada's. */
async function decideBy(key: Key, id: string, verdict = "approve", changes: object = {}): Promise<void> {
  const { console } = bench;
  const seen = await console.request(id);
  const subject = seen.subject.replace(".request.", ".decision.");
  const decided_by = { name: "x", key: key.public };
  await console.store(
    subject,
    ...console.signed(subject, console.decision(seen, verdict, { decided_by, ...changes }), key),
  );
}

test("an operator who was let in after the agent started counts; a stranger does not", async () => {
  const gate = await bench.gate();
  const grace = new Key();
  await bench.console.letIn(grace, { name: "Grace" });
  const [one, two] = [randomUUID(), randomUUID()];
  const asking = gate.ask(call(one));
  await decideBy(grace, one);
  expect((await asking).allowed).toBe(true);
  const refused = expect(gate.ask(call(two))).rejects.toMatchObject({ code: "unknown_key" });
  await decideBy(new Key(), two);
  await refused;
});

test("an approval of a key that ended before the agent looked does not run, a denial counts", async () => {
  const { console } = bench;
  const grace = new Key();
  await console.letIn(grace);
  const gate = await bench.gate();
  for (const [verdict, after] of [
    ["approve", "unknown_key"],
    ["deny", null],
  ] as const) {
    const id = randomUUID();
    // The agent is made to look only after the end of the key.
    const asking = gate.ask(call(id), { timeout: SOON }).then(
      (decision) => decision.verdict,
      (error: { code: string }) => error.code,
    );
    await console.request(id);
    if (verdict === "approve") {
      const seen = await console.request(id);
      const subject = seen.subject.replace(".request.", ".decision.");
      const decided_by = { name: "x", key: grace.public };
      const made = console.signed(subject, console.decision(seen, verdict, { decided_by }), grace);
      await Promise.all([console.store(subject, ...made), console.retire(grace)]);
      expect([after, "approve"]).toContain(await asking);
    } else {
      await decideBy(console.human, id, verdict);
      expect(await asking).toBe("deny");
    }
  }
  const id = randomUUID();
  const refused = expect(gate.ask(call(id))).rejects.toMatchObject({ code: "unknown_key" });
  await decideBy(grace, id);
  await refused;
});

test("limits bind what is more than no, and those at the head too", async () => {
  const { console } = bench;
  const grace = new Key();
  await console.letIn(grace, { limits: { max_risk: "medium", workspaces: ["acme"] } });
  const gate = await bench.gate();
  const ask = async (verdict: string, about: object): Promise<string> => {
    const id = randomUUID();
    const asking = gate.ask(call(id, about)).then(
      (decision) => decision.verdict,
      (error: { code: string }) => error.code,
    );
    await decideBy(grace, id, verdict);
    return asking;
  };
  expect(await ask("approve", { risk: "medium" })).toBe("approve");
  expect(await ask("approve", { risk: "high" })).toBe("beyond_limit");
  expect(await ask("approve", { risk: "of_its_own" })).toBe("beyond_limit");
  expect(await ask("deny", { risk: "critical" })).toBe("deny");
  await console.entry({ operators: [console.record(grace, { limits: { workspaces: ["other"] } })] });
  expect(await ask("approve", { risk: "safe" })).toBe("beyond_limit");
});

test("votes of distinct operators are counted", async () => {
  const { console } = bench;
  const [grace, second] = [new Key(), new Key()];
  await console.letIn(grace);
  const gate = await bench.gate();
  const ask = async (voters: Key[]): Promise<string> => {
    const id = randomUUID();
    const asking = gate.ask(call(id, { approvalsRequired: 2 })).then(
      (decision) => decision.verdict,
      (error: { code: string }) => error.code,
    );
    const seen = await console.request(id);
    await decideBy(console.human, id, "approve", { votes: voters.map((key) => console.vote(seen, key)) });
    return asking;
  };
  expect(await ask([console.human, grace])).toBe("approve");
  expect(await ask([console.human, console.human])).toBe("too_few_votes");
  expect(await ask([console.human, second])).toBe("too_few_votes");
  expect(await ask([console.human, console.auto])).toBe("too_few_votes");
});

/** A passkey whose assertions this test makes itself. */
class Phone {
  private readonly pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly point = this.pair.publicKey.export({ format: "der", type: "spki" }).subarray(-65);
  readonly key = `W${base32(createHash("sha256").update(this.point).digest())}`;

  sign(realm: string, context: string, subject: string, payload: string): string {
    const digest = createHash("sha256").update(payload).digest("hex");
    const signed = ["countersign-v1", context, realm, subject, digest].join("\n");
    const challenge = createHash("sha256").update(signed).digest("base64url");
    const client = JSON.stringify({ type: "webauthn.get", challenge, origin: "https://desk.example" });
    const flags = Buffer.from([0x05, 0, 0, 0, 1]);
    const data = Buffer.concat([createHash("sha256").update("desk.example").digest(), flags]);
    const bytes = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    return [data, Buffer.from(client), sign("sha256", bytes, this.pair.privateKey)]
      .map((part) => part.toString("base64url"))
      .join(".");
  }

  record(realm: string, operator: string): object {
    return {
      key: this.key,
      role: "device",
      device: "Ada's phone",
      public: this.point.toString("base64url"),
      credential: "AA",
      rp_id: "desk.example",
      origins: ["https://desk.example"],
      limits: { max_risk: "medium" },
      until: "2999-01-01T00:00:00.000Z",
      proof: this.sign(realm, "key", "countersign.v1.realm", `${operator}\ndevice`),
    };
  }
}

test("a phone approves within its limits, and is its holder's one vote", async () => {
  const { console } = bench;
  const phone = new Phone();
  const device = phone.record(console.realm, console.human.public);
  const ada = { name: "Ada", admin: true, autos: [console.auto], keys: [device] };
  await console.entry({ operators: [console.record(console.human, ada)] });
  const gate = await bench.gate();
  const ask = async (about: object, votes: boolean): Promise<string> => {
    const id = randomUUID();
    const asking = gate.ask(call(id, about)).then(
      (decision) => decision.verdict,
      (error: { code: string }) => error.code,
    );
    const seen = await console.request(id);
    const subject = seen.subject.replace(".request.", ".decision.");
    const more = votes ? { votes: [console.vote(seen, console.human), vote(seen)] } : {};
    const payload = JSON.stringify(
      console.decision(seen, "approve", { decided_by: { name: "Ada", key: phone.key }, ...more }),
    );
    await console.store(subject, payload, {
      "CS-Key": phone.key,
      "CS-Sig": phone.sign(console.realm, "decision", subject, payload),
    });
    return asking;
  };
  const vote = (seen: any): object => {
    const made = console.vote(seen, console.human, { decided_by: { name: "x", key: phone.key } }) as any;
    const subject = `${seen.subject.replace(".request.", ".vote.")}.${phone.key}`;
    const payload = Buffer.from(made.payload, "base64url").toString();
    return { ...made, key: phone.key, subject, sig: phone.sign(console.realm, "vote", subject, payload) };
  };
  expect(await ask({ risk: "medium", effects: "write" }, false)).toBe("approve");
  expect(await ask({ risk: "high" }, false)).toBe("device_limit");
  expect(await ask({ risk: "low", effects: "irreversible" }, false)).toBe("device_limit");
  expect(await ask({ risk: "low", approvalsRequired: 2 }, true)).toBe("too_few_votes");
});

test("junk in slots, with headers of all kinds, hides no end of a key", async () => {
  const { console } = bench;
  const grace = new Key();
  await console.letIn(grace);
  const gate = await bench.gate();
  await console.fill("junk");
  await console.fill("", {
    Status: "404",
    "Nats-Sequence": "5",
    "Nats-Subject": "countersign.v1.realm.3",
    "Nats-Stream": "OTHER",
    "Nats-Time-Stamp": "2020-01-01T00:00:00Z",
  });
  await console.fill(console.signedEntry({ operators: [] }, new Key()));
  // Lines that nobody can parse, and a status of the publisher's own.
  const bytes = Buffer.from(
    "NATS/1.0 503 none\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\x00b\xc3\x28d name: x\r\nno colon\r\n\r\n",
    "latin1",
  );
  const sent = Object.assign(natsHeaders(), { encode: () => bytes });
  await console.nc.request(`countersign.v1.realm.${console.slot}`, "", { headers: sent, timeout: SOON * 1000 });
  console.slot += 1;
  await console.retire(grace);
  const id = randomUUID();
  const refused = expect(gate.ask(call(id))).rejects.toMatchObject({ code: "unknown_key" });
  await decideBy(grace, id);
  await refused;
  const other = randomUUID();
  const asking = gate.ask(call(other));
  await console.decide(other);
  expect((await asking).allowed).toBe(true);
});

test("an entry in a slot before which others are free does nothing, and is not read again and again", async () => {
  const { console } = bench;
  const grace = new Key();
  const gate = await bench.gate();
  const early = console.signedEntry({ operators: [console.record(grace)] });
  await console.store(`countersign.v1.realm.${console.slot + 2}`, early, {});
  await console.letIn(new Key());
  await console.letIn(new Key());
  console.slot += 1;
  const id = randomUUID();
  const refused = expect(gate.ask(call(id))).rejects.toMatchObject({ code: "unknown_key" });
  await decideBy(grace, id);
  await refused;
});

test("a decision whose headers place it before the end of its key does not run", async () => {
  const { console } = bench;
  const grace = new Key();
  await console.letIn(grace);
  const gate = await bench.gate();
  await console.retire(grace);
  const id = randomUUID();
  const refused = expect(gate.ask(call(id))).rejects.toMatchObject({ code: "unknown_key" });
  const seen = await console.request(id);
  const subject = seen.subject.replace(".request.", ".decision.");
  const decided_by = { name: "x", key: grace.public };
  const [payload, made] = console.signed(subject, console.decision(seen, "approve", { decided_by }), grace);
  await console.store(subject, payload, { ...made, "Nats-Sequence": "2", "Nats-Stream": "CS_DECISIONS" });
  await refused;
});

test("an agent whose entry the bus does not have believes nothing that lets something run", async () => {
  const { console } = bench;
  const digest = `sha256:${"0".repeat(64)}`;
  const gate = await bench.gate({}, { log: { root: console.root, n: 5, digest } });
  const [one, two] = [randomUUID(), randomUUID()];
  const asking = gate.ask(call(one), { timeout: 8 });
  await console.decide(one);
  await expect(asking).rejects.toMatchObject({ code: "log_short" });
  expect((await console.receipt(one, "refused")).message).toBe("log_short");
  const known = await bench.gate({}, { log: { root: console.root, n: 1, digest } });
  const expired = known.ask(call(two), { timeout: 8 });
  await console.decide(two);
  await expect(expired).rejects.toMatchObject({ code: "log_differs" });
});

test("a stream that was filled again without the end of a key is not believed until the end is back", async () => {
  const { console } = bench;
  const grace = new Key();
  const entries: string[] = [];
  const noted = async (changes: object): Promise<void> => {
    entries.push(console.signedEntry(changes));
    await console.entry(changes);
  };
  // Entry 1 is signed anew with the same bytes: its clock stands.
  entries.push(await firstEntry());
  await noted({ operators: [console.record(grace)] });
  const gate = await bench.gate();
  await noted({ operators: [{ id: grace.public, keys: [] }] });
  const first = randomUUID();
  const before = gate.ask(call(first));
  await console.decide(first);
  expect((await before).allowed).toBe(true);
  await console.api("STREAM.DELETE.CS_DECISIONS");
  await console.createDecisions();
  await console.store("countersign.v1.realm.1", entries[0] ?? "", {});
  await console.store("countersign.v1.realm.2", entries[1] ?? "", {});
  const id = randomUUID();
  let ended = false;
  const asking = gate.ask(call(id), { timeout: SOON }).finally(() => (ended = true));
  const outcome = asking.then(
    (decision) => decision.verdict,
    (error: { code: string }) => error.code,
  );
  await decideBy(grace, id);
  await pause(1500);
  const honest = randomUUID();
  const waiting = gate.ask(call(honest), { timeout: SOON });
  await console.decide(honest);
  await pause(500);
  await console.store("countersign.v1.realm.3", entries[2] ?? "", {});
  expect((await waiting).allowed).toBe(true);
  expect(await outcome).toBe("unknown_key");
  await until(() => ended);

  async function firstEntry(): Promise<string> {
    const reply: any = await console.api("STREAM.MSG.GET.CS_DECISIONS", { last_by_subj: "countersign.v1.realm.1" });
    return Buffer.from(reply.message.data, "base64").toString();
  }
});

test("a log of many slots is read at a start", async () => {
  const { console } = bench;
  for (let count = 0; count < 150; count += 1) await console.fill(`junk ${count}`);
  const grace = new Key();
  await console.letIn(grace);
  const gate = await bench.gate();
  const id = randomUUID();
  const asking = gate.ask(call(id));
  await decideBy(grace, id);
  expect((await asking).allowed).toBe(true);
});
