/** How an agent reaches a bus that wants TLS, a password or a .creds file, on real servers. */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { credsAuthenticator, nkeys } from "@nats-io/transport-node";
import { beforeAll, expect, test } from "vitest";
import { Gate, type ToolCall } from "../src/index.js";
import { BusLoginError, BusTlsError, BusUnreachableError, EnrolmentError } from "../src/errors.js";
import { Authority } from "./kit/authority.js";
import { Bench, benchOfFile } from "./kit/bench.js";
import { Key } from "./kit/key.js";
import { SOON, until } from "./kit/until.js";

const bench = benchOfFile();
let authority: Authority;

beforeAll(() => {
  authority = new Authority(bench().folder);
});

const fault = (changes: object, connectTimeout = 6): Promise<any> =>
  Gate.connect(bench().enrolment(changes), { connectTimeout }).then(
    async (gate) => {
      await gate.close();
      return null;
    },
    (error: unknown) => error,
  );

test("an agent shows its certificate and gets its answer over TLS", async () => {
  const [server, own] = [authority.issue("127.0.0.1"), authority.issue("agent.example")];
  const tls = { cert_file: server.cert, key_file: server.key, ca_file: authority.ca, verify: true, timeout: 10 };
  const secure = new Bench({ tls });
  try {
    const pems = { ca: authority.ca, cert: own.cert, key: own.key };
    const read = Object.fromEntries(Object.entries(pems).map(([name, file]) => [name, readFileSync(file, "utf8")]));
    // The library by itself looks for `localhost` in the certificate of an address.
    await secure.start({ tls: { ...read, checkServerIdentity: () => undefined } });
    const url = secure.server.url.replace("nats:", "tls:");
    const about = secure.agentJson({ nats_url: url, tls_ca: authority.ca, tls_cert: own.cert, tls_key: own.key });
    const gate = await secure.gate({}, about);
    const id = randomUUID();
    const asking = gate.ask({ name: "t", args: {}, risk: "low", requestId: id }, { timeout: SOON });
    await secure.console.decide(id);
    expect((await asking).allowed).toBe(true);
    const stranger = new Authority(bench().folder, "stranger");
    const foreign = stranger.issue("agent.example");
    for (const changes of [
      { tls_ca: undefined },
      { tls_ca: stranger.ca },
      { tls_cert: undefined, tls_key: undefined },
      { tls_cert: foreign.cert, tls_key: foreign.key },
    ]) {
      const error = await fault({ ...about, ...changes });
      expect(error, JSON.stringify(changes)).toBeInstanceOf(BusTlsError);
      expect(error.message).toMatch(/tls_c/);
    }
    for (const changes of [{ tls_key: undefined }, { tls_ca: `${bench().folder}/none` }]) {
      expect(await fault({ ...about, ...changes })).toBeInstanceOf(EnrolmentError);
    }
    const unknown = new Key();
    const nkey = { nkey_seed: unknown.seed, inbox_prefix: `_INBOX_${unknown.public}` };
    expect(await fault({ ...about, ...nkey })).toBeInstanceOf(BusLoginError);
    await secure.server.stop();
    await secure.server.start();
    await until(() => secure.console.api("STREAM.INFO.CS_DECISIONS", {}, 1000).catch(() => false));
    const again = gate.ask({ name: "t", args: {}, risk: "low", requestId: `${id}-2` }, { timeout: SOON });
    await secure.console.decide(`${id}-2`);
    expect((await again).allowed).toBe(true);
  } finally {
    await secure.stop();
  }
});

test("an expired or foreign certificate is named", async () => {
  for (const [host, days, reported] of [
    ["127.0.0.1", -1, "expired"],
    ["elsewhere.example", 1, "127.0.0.1"],
    ["localhost", 1, "127.0.0.1"],
  ] as const) {
    const { cert, key } = authority.issue(host, days);
    const secure = new Bench({ tls: { cert_file: cert, key_file: key } });
    await secure.server.start();
    try {
      const nats_url = secure.server.url.replace("nats:", "tls:");
      const error = await fault({ nats_url, tls_ca: authority.ca });
      expect(error).toBeInstanceOf(BusTlsError);
      expect(error.message).toContain(reported);
    } finally {
      await secure.stop();
    }
  }
});

test("nothing of the login is sent without TLS", async () => {
  const about = { server_id: "N", version: "2.15.1", headers: true, max_payload: 1048576, auth_required: true };
  for (const said of [{ tls_required: false }, { tls_available: "yes" }, { tls_available: 1 }, {}]) {
    let heard = "";
    // A server in the middle says that it has no TLS, to get the password.
    const middle = createServer((socket) => {
      socket.write(`INFO ${JSON.stringify({ ...about, ...said })}\r\n`);
      socket.on("data", (part) => (heard += part.toString()));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => middle.listen(0, "127.0.0.1", resolve));
    const { port } = middle.address() as AddressInfo;
    for (const [scheme, tls_ca] of [
      ["tls", undefined],
      ["tls", authority.ca],
      ["nats", authority.ca],
    ]) {
      const error = await fault({ nats_url: `${scheme}://ada:hunter2@127.0.0.1:${port}`, tls_ca });
      expect(error, JSON.stringify(said)).toBeInstanceOf(BusTlsError);
    }
    middle.close();
    expect(heard).toBe("");
  }
});

test("user and password of the URL are decoded", async () => {
  const users = [{ user: "bot", password: "p@ss" }];
  const own = new Bench({ accounts: { CORE: { jetstream: "enabled", users } } });
  await own.server.start();
  try {
    const at = own.server.url.replace("nats://", "");
    expect(await fault({ nats_url: `nats://bot:other@${at}` })).toBeInstanceOf(BusLoginError);
    // Logged in: only that no stream is there can be wrong now.
    const error = await fault({ nats_url: `nats://bot:p%40ss@${at}` }, 1);
    expect(error).not.toBeInstanceOf(BusLoginError);
  } finally {
    await own.stop();
  }
});

test("no password or seed is in an error", async () => {
  for (const login of ["ada:hunter2", "ada:hunter2%zz"]) {
    const error = await fault({ nats_url: `nats://${login}@127.0.0.1:1` }, 0.3);
    expect(error).toBeInstanceOf(BusUnreachableError);
    const written = `${error.stack} ${JSON.stringify(error)}`;
    expect(written).not.toContain("hunter2");
    expect(written).not.toContain(bench().agentKey.seed);
  }
});

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function token(by: nkeys.KeyPair, subject: string, claims: object): string {
  const about = { jti: subject, iat: 1, iss: by.getPublicKey(), sub: subject, name: "n" };
  const head = { typ: "JWT", alg: "ed25519-nkey" };
  const signed = `${base64url(head)}.${base64url({ ...about, nats: { version: 2, ...claims } })}`;
  return `${signed}.${Buffer.from(by.sign(Buffer.from(signed))).toString("base64url")}`;
}

test("a .creds file logs in with its own seed or the enrolled one", async () => {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const free = Object.fromEntries(
    ["subs", "data", "payload", "imports", "exports", "conn", "leaf"].map((x) => [x, -1]),
  );
  const storage = { mem_storage: -1, disk_storage: -1, wildcards: true };
  const issued = (key: nkeys.KeyPair, limits: object): [string, string] => [
    key.getPublicKey(),
    token(operator, key.getPublicKey(), { type: "account", limits }),
  ];
  const own = new Bench({
    accounts: undefined,
    operator: token(operator, operator.getPublicKey(), { type: "operator", system_account: system.getPublicKey() }),
    system_account: system.getPublicKey(),
    resolver: "MEMORY",
    resolver_preload: Object.fromEntries([issued(system, free), issued(account, { ...free, ...storage })]),
  });
  try {
    const jwt = token(account, own.agentKey.public, { type: "user", ...free });
    const text = `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n`;
    const whole = `${text}-----BEGIN USER NKEY SEED-----\n${own.agentKey.seed}\n------END USER NKEY SEED------\n`;
    await own.start({ authenticator: credsAuthenticator(Buffer.from(whole)) });
    const file = (name: string, content: string): string => {
      writeFileSync(`${own.folder}/${name}.creds`, content);
      return `${own.folder}/${name}.creds`;
    };
    const [with_seed, without] = [file("whole", whole), file("alone", text)];
    for (const [nats_creds, nkey_seed] of [
      [with_seed, new Key().seed],
      [without, own.agentKey.seed],
    ]) {
      const gate = await own.gate({}, { nats_creds, nkey_seed });
      const requestId = randomUUID();
      const asking = gate.ask({ name: "t", args: {}, risk: "low", requestId }, { timeout: SOON });
      await own.console.decide(requestId);
      expect((await asking).allowed).toBe(true);
    }
    const strange = { ...own.agentJson(), nats_creds: without, nkey_seed: new Key().seed };
    expect(await fault(strange)).toBeInstanceOf(BusLoginError);
    expect(await fault({ ...own.agentJson(), nats_creds: `${own.folder}/none` })).toBeInstanceOf(EnrolmentError);
  } finally {
    await own.stop();
  }
});

test("a login taken away is told at once, and may come back after a restart", async () => {
  const own = await new Bench().start();
  try {
    await own.server.stop();
    await own.server.start();
    const gate = await own.gate();
    const call = (requestId: string): ToolCall => ({ name: "t", args: {}, requestId });
    const [name = "", key = ""] = [...own.server.agents].find(([, nkey]) => nkey === own.agentKey.public) ?? [];
    own.server.agents.delete(name);
    own.server.reload();
    const told = await until(async () => {
      const error = await gate.ask(call(randomUUID()), { timeout: 1 }).catch((thrown: unknown) => thrown);
      return error instanceof BusLoginError && error;
    });
    expect(told.message).toContain("enrol");
    await own.server.stop();
    await own.server.start();
    await until(() => own.console.api("STREAM.INFO.CS_DECISIONS", {}, 1000).catch(() => false));
    await expect(gate.ask(call(randomUUID()), { timeout: null })).rejects.toBeInstanceOf(BusLoginError);
    own.server.agents.set(name, key);
    own.server.reload();
    const id = await until(async () => {
      const requestId = randomUUID();
      const asking = gate.ask(call(requestId), { timeout: SOON });
      const answered = await Promise.race([own.console.decide(requestId), asking.catch(() => null)]);
      return answered !== null && (await asking).allowed;
    });
    expect(id).toBe(true);
  } finally {
    await own.stop();
  }
});

test("a server that takes the connection and says nothing is dialled again", async () => {
  const sockets: Socket[] = [];
  const silentOnce = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    if (sockets.length > 1) socket.pipe(connect(bench().server.port, "127.0.0.1")).pipe(socket);
  });
  await new Promise<void>((resolve) => silentOnce.listen(0, "127.0.0.1", resolve));
  const nats_url = `nats://127.0.0.1:${(silentOnce.address() as AddressInfo).port}`;
  const gate = await Gate.connect(bench().enrolment({ nats_url }), { connectTimeout: SOON });
  expect(sockets.length).toBeGreaterThan(1);
  await gate.close();
  for (const socket of sockets) socket.destroy();
  silentOnce.close();
});
