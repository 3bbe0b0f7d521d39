/**
 * As whom an agent logs in, and over what.
 *
 * Refuses to trust other authorities beside a private one. With `tls` nothing of the login is sent without TLS, whatever
 * the server says of itself.
 */
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import * as nats from "@nats-io/transport-node";
import type { Authenticator, ConnectionOptions } from "@nats-io/transport-node";

import { contentOf, publicKeyOf, type Enrolment } from "./enrolment.js";
import { BusLoginError, BusTlsError, EnrolmentError } from "./errors.js";

/** Options of the NATS client that log in, and the prefix of its inboxes. */
export interface Login {
  readonly inboxPrefix: string;
  readonly options: ConnectionOptions;
  /** Whether a login went out over TLS. */
  readonly shook: { hands: boolean };
}

/** A .creds file goes before user and password in the URL, and these before the nkey. */
export function loginOf(enrolment: Enrolment): Login {
  const at = enrolment.natsUrl.split(",").map((part) => serverOf(part.trim()));
  const { tls_ca, tls_cert, tls_key, nats_creds } = enrolment.files;
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    throw new EnrolmentError("agent.json: `tls_cert` and `tls_key` belong together");
  }
  const files = { ca: pem(tls_ca), cert: pem(tls_cert), key: pem(tls_key) };
  const pems = Object.fromEntries(Object.entries(files).filter(([, content]) => content !== undefined));
  const tls = at.some((server) => server.tls) || Object.keys(pems).length > 0;
  const creds = nats_creds === undefined ? null : credsOf(nats_creds, enrolment.nkeySeed);
  const authenticator = creds === null ? authenticatorOf(enrolment, at) : nats.credsAuthenticator(creds.content);
  const shook = { hands: false };
  const servers = at.map(({ address }) => address);
  return {
    inboxPrefix: creds?.inboxPrefix ?? enrolment.inboxPrefix,
    options: { servers, ...(tls ? encrypted(authenticator, pems, shook) : { authenticator }) },
    shook,
  };
}

/**
 * One login for each handshake with a good certificate. The library by itself goes on without TLS where a server says
 * that it has `"tls_available": "yes"`, and for an address it looks for `localhost` in the certificate.
 */
function encrypted(authenticator: Authenticator, pems: object, shook: Login["shook"]): ConnectionOptions {
  let good = false;
  const tls = {
    ...pems,
    /** Read as each connection begins. */
    get handshakeFirst(): boolean {
      good = false;
      return false;
    },
    /** Node calls it as a method of what the library asked it for. */
    checkServerIdentity(this: Asked | undefined, _: string, certificate: PeerCertificate): Error | undefined {
      const fault = checkServerIdentity(this?.servername || (this?.socket?.remoteAddress ?? ""), certificate);
      good = fault === undefined;
      return fault;
    },
  };
  const login: Authenticator = (nonce) => {
    if (!good) throw new Error("the server does not speak TLS");
    good = false;
    shook.hands = true;
    return authenticator(nonce);
  };
  return { authenticator: login, tls: tls as ConnectionOptions["tls"] & object };
}

interface Asked {
  readonly servername?: string;
  readonly socket?: { readonly remoteAddress?: string };
}

function pem(file: string | undefined): string | undefined {
  const words = "agent.json: the files of `tls_ca`, `tls_cert` and `tls_key` cannot be used";
  return file === undefined ? undefined : textOf(file, (why) => `${words}: ${why}`);
}

function textOf(file: string, words: (why: string) => string): string {
  return new TextDecoder().decode(contentOf(file, words));
}

function authenticatorOf({ nkeySeed }: Enrolment, at: readonly Server[]): Authenticator {
  const [user = "", password = ""] = at.find(({ login }) => login[0] !== "")?.login ?? [];
  if (user !== "") return password ? nats.usernamePasswordAuthenticator(user, password) : nats.tokenAuthenticator(user);
  return nkeySeed === null ? () => undefined : nats.nkeyAuthenticator(new TextEncoder().encode(nkeySeed));
}

/** With TLS 1.3 a server hangs up on a certificate after the handshake, and its word why is lost. */
export function hungUp(): BusTlsError {
  return new BusTlsError("the server hung up after the TLS handshake; check tls_cert and tls_key in agent.json");
}

/** What a retry does not fix; null for everything else. */
export function loginFault(error: unknown): BusTlsError | BusLoginError | null {
  const { AuthorizationError, UserAuthenticationExpiredError } = nats.errors;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AuthorizationError || cause instanceof UserAuthenticationExpiredError) {
      return new BusLoginError("the bus refused the agent's key, JWT or password; enrol the agent again");
    }
    const code = String((cause as NodeJS.ErrnoException).code ?? "");
    if (/TLS|SSL|CERT|^DEPTH_ZERO|^UNABLE_TO/.test(code) || /'?tls'?|certificate/i.test(cause.message)) {
      const check = "check tls_ca, tls_cert and tls_key in agent.json, and the host in nats_url";
      return new BusTlsError(`no TLS connection to the bus: ${cause.message}; ${check}`);
    }
  }
  return null;
}

interface Server {
  readonly tls: boolean;
  readonly address: string;
  /** User and password of the URL. */
  readonly login: readonly [string, string];
}

function serverOf(text: string): Server {
  const [, scheme = "nats", place = ""] = /^(?:(nats|tls):\/\/)?([^/]+)\/?$/.exec(text) ?? [];
  // The URL reader finds hosts only behind schemes that it knows.
  const at = URL.canParse(`ws://${place}`) ? new URL(`ws://${place}`) : null;
  const port = /:(\d+)$/.exec(place)?.[1] ?? "4222";
  if (at === null || Number(port) === 0) {
    // Not quoted: it may contain a password.
    throw new EnrolmentError("agent.json: `nats_url` names each server as nats://HOST:PORT or tls://HOST:PORT");
  }
  const login = [decoded(at.username), decoded(at.password)] as const;
  return { tls: scheme === "tls", address: `${at.hostname}:${port}`, login };
}

/** As Python reads it: a percent sign that begins nothing stands for itself. */
function decoded(text: string): string {
  return text.replace(/(%[0-9a-f]{2})+/gi, (part) => Buffer.from(part.replaceAll("%", ""), "hex").toString());
}

function credsOf(file: string, enrolled: string | null): { content: Uint8Array; inboxPrefix: string } {
  const text = textOf(file, (why) => `agent.json: \`nats_creds\` cannot be read: ${why}`);
  const section = (name: string): string | null =>
    new RegExp(`-+BEGIN ${name}-+\\s+([^\\s-][^\\s]*)\\s`).exec(text)?.[1] ?? null;
  const [jwt, seed] = [section("NATS USER JWT"), section("USER NKEY SEED") ?? enrolled];
  if (jwt === null || seed === null) throw new EnrolmentError(`${file} holds no user JWT, or there is no seed for it`);
  const content =
    `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n` +
    `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
  return { content: new TextEncoder().encode(content), inboxPrefix: `_INBOX_${publicKeyOf(seed, file)}` };
}
