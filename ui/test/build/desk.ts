/** What is said of the console as a whole. */
import type { AlarmItem, OperatorLine, SettingsView, StatusView } from "../../src/ipc/generated";
import { shown } from "./text";

export const status = (more: Partial<StatusView> = {}): StatusView => ({
  bus: { connected: true, url: "nats://127.0.0.1:4222", serverVersion: "2.15.1", insecure: [] },
  caughtUp: true,
  lag: 0,
  waiting: 1,
  rejected: 0,
  outbox: 0,
  agents: 1,
  panic: null,
  brakes: [],
  bypasses: [],
  rulesApproving: 0,
  alarms: [],
  reader: null,
  locked: false,
  readOnly: null,
  operator: shown("maria"),
  operatorKeyTail: "7Q2F",
  audit: { seq: 48_211, hash: "00", anchoredSeq: 48_200 },
  ...more,
});

export const alarm = (more: Partial<AlarmItem> = {}): AlarmItem => ({
  id: 1,
  code: "void_vote",
  subject: shown("acme/bot/r1"),
  request: "acme/bot/r1",
  atMs: 0,
  joined: null,
  happened: "What happened.",
  next: "What to do.",
  lasts: false,
  seen: null,
  ...more,
});

export const operator = (more: Partial<OperatorLine> = {}): OperatorLine => ({
  name: shown("maria"),
  key: "UMARIA7Q2F",
  role: "human",
  state: "in_force",
  admin: false,
  fromMs: 0,
  untilMs: null,
  mine: false,
  workspaces: null,
  maxRisk: null,
  by: null,
  joined: false,
  seenMs: null,
  ...more,
});

export const settings = (more: Partial<SettingsView> = {}): SettingsView => ({
  ownServer: true,
  login: "own_server",
  tlsCa: null,
  tlsCert: null,
  allowSingleAccount: false,
  operator: shown("maria"),
  workspace: "default",
  production: null,
  console: "0190a1b2",
  realm: "0190ffff",
  keys: [
    { role: "human", key: "UHUMAN7Q2F" },
    { role: "auto", key: "UAUTO" },
    { role: "login", key: "ULOGIN" },
  ],
  keyPlace: "file",
  keyPlaceWhy: "files were asked for",
  folders: [{ what: "data", path: "/home/maria/.local/share/countersign", exists: true }],
  retention: [],
  stalls: { onBusS: 10, receivedS: 30, executedS: 600 },
  waitingLimit: 10_000,
  otlp: { http: null, grpc: null, allowRemote: false, requireToken: false, export: null },
  metrics: null,
  ...more,
});
