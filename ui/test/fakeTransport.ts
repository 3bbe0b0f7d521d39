/** A console for tests: answers from what the test gives it and records what it was asked. */
import type { InboxBatch, InboxRow, Card, StatusView } from "../src/ipc/generated";
import { CallError, type ArgsOf, type CommandName, type ResultOf, type Transport } from "../src/ipc/transport";
import { status as usualStatus } from "./build";

type Answers = { [N in CommandName]?: (args: ArgsOf<N>) => ResultOf<N> | Promise<ResultOf<N>> };

export interface FakeConsole extends Transport {
  readonly asked: { readonly name: CommandName; readonly args: unknown }[];
  readonly answers: Answers;
  /** Every size that the page asked for. */
  readonly zooms: number[];
  send(batch: InboxBatch): void;
  argsOf<N extends CommandName>(name: N): ArgsOf<N>[];
}

interface FakeConsoleContent {
  readonly rows?: readonly InboxRow[];
  readonly cards?: readonly Card[];
  readonly status?: StatusView;
  readonly serverMs?: () => number;
  readonly answers?: Answers;
}

export const fakeConsole = (content: FakeConsoleContent = {}): FakeConsole => {
  const listeners = new Set<(batch: InboxBatch) => void>();
  const asked: FakeConsole["asked"] = [];
  const zooms: number[] = [];
  const serverMs = content.serverMs ?? (() => 0);
  const answers: Answers = {
    inbox_first: () => ({ rows: [] }),
    inbox_snapshot: () => ({ number: 0, rows: [...(content.rows ?? [])], serverMs: serverMs() }),
    server_time: () => ({ serverMs: serverMs() }),
    status: () => content.status ?? usualStatus(),
    card: ({ key }) => {
      const found = content.cards?.find((card) => card.key === key);
      if (found === undefined) throw new CallError("not_found", `${key} is not known`);
      return found;
    },
    led_here: () => ({ lines: [], earlier: 0, fromMs: 0, toMs: 0 }),
    tool_record: () => ({ approved: 0, denied: 0, expired: 0, other: 0, automatic: 0, medianMs: null, newest: 1000 }),
    reader: () => ({
      sentence: null,
      fault: null,
      workspaces: ["acme"],
      asked: 0,
      failed: 0,
      skipped: 0,
      marked: 0,
      markedDecided: 0,
      markedDenied: 0,
      looked: 0,
      lookedDenied: 0,
      lastError: null,
      restingMs: null,
    }),
    readers_found: () => ({ found: [] }),
    practice: () => ({ on: false, oneIn: 40, operators: [] }),
    today: () => ({ decided: 0, waitingMs: null, frontMs: null, newest: 1000 }),
    traces_page: () => ({ rows: [], next: null }),
    why: () => ({ now: null, decided: null }),
    rules_list: () => ({ workspace: "acme", workspaces: ["acme"], revision: 0, rules: [], serverMs: 0 }),
    rule_words: () => ({
      fields: ["id", "effect", "expires_at"],
      tests: ["eq", "glob"],
      variables: ["args", "tool"],
      functions: ["size"],
    }),
    check_rule: () => ({ problems: [], effect: "approve", state: "on" }),
    stop_preview: () => ({}),
    suggestions: () => ({ ready: true, looked: 0, trouble: null, suggestions: [], approvalsMin: 5, windowDays: 30 }),
    rule_changes: () => ({ changes: [], more: false }),
    agents_list: () => ({ agents: [], serverMs: 0 }),
    operators_list: () => ({ operators: [], approval: false, serverMs: 0 }),
    history_page: () => ({ rows: [], next: null, unindexed: 0 }),
    history_count: () => ({ requests: 0, whole: true }),
    history_filter_values: () => ({ workspaces: [], agents: [], tools: [], operators: [], rules: [] }),
    saved_searches: () => ({ searches: [] }),
    rejected_list: () => ({ rows: [], next: null }),
    alarms_list: () => ({ alarms: [] }),
    notify: () => ({}),
    haste_brake: ({ on }) => ({ on: on ?? true }),
    connect_hint: () => ({
      natsUrl: "nats://127.0.0.1:41997",
      agentJson: "/home/maria/.local/share/countersign/agent.json",
      program: "/opt/countersign --data-dir /srv/desk",
      commands: [{ label: "Ask from a shell", command: "countersign ask --tool hello --args '{}'" }],
    }),
    ...content.answers,
  };
  return {
    asked,
    answers,
    zooms,
    async call<N extends CommandName>(name: N, args: ArgsOf<N>): Promise<ResultOf<N>> {
      asked.push({ name, args });
      const answer = answers[name];
      if (answer === undefined) throw new CallError("failed", `the test gives no answer to ${name}`);
      return await answer(args);
    },
    async subscribe(onBatch) {
      listeners.add(onBatch);
      return () => listeners.delete(onBatch);
    },
    async zoom(factor) {
      zooms.push(factor);
    },
    send(batch) {
      for (const listener of listeners) listener(batch);
    },
    argsOf<N extends CommandName>(name: N): ArgsOf<N>[] {
      return asked.filter((call) => call.name === name).map((call) => call.args as ArgsOf<N>);
    },
  };
};
