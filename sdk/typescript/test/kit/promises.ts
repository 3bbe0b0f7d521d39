/** What holds for every adapter (integrations, sections 1 and 7), against the real framework with a played model. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { argsDigest, type Gate, type Risk } from "../../src/index.js";
import { Asked } from "./asked.js";
import { Bench, benchOfFile } from "./bench.js";
import { SOON } from "./until.js";

export const SECRET = `sk-${randomUUID()}`;

export interface Options {
  timeout?: number | null;
  ask?: string[];
  unasked?: string[];
  risks?: Record<string, Risk>;
  effects?: Record<string, "read" | "write">;
}

/** One model turn that calls `pay` with each of these arguments, and a second one that reads the results. */
export interface Office {
  run(gate: Gate, calls: { n: number }[], options: Options): Promise<{ ran: unknown[]; read: string[] }>;
  /** What the tool does beside being noted. */
  fails?: boolean;
}

export interface Traits {
  framework: string;
  edits: boolean;
  /** Whether the model is told of an edit. */
  notice: boolean;
  responds: boolean;
  /** Whether what became of the call is reported. */
  reports: boolean;
  terminates?: boolean;
  /** Whether the framework asks about the calls of a turn one after the other. */
  sequential?: boolean;
  /** Whether calls of one turn are one group. */
  groups: boolean;
  description?: boolean;
  /** Whether a refusal of one call of a turn keeps the others from running. */
  allOrNone?: boolean;
  /** Whether an edit is checked before the framework has it. */
  validatesEdits?: boolean;
  effects?: boolean;
  schema?: boolean;
}

export function promises(name: string, traits: Traits, make: (failing: boolean) => Office): void {
  describe(name, () => {
    const bench = benchOfFile();
    let gate: Gate;

    beforeAll(async () => {
      gate = await bench().gate();
    });

    const start = (calls = [{ n: 1 }], options: Options = {}, failing = false, own = gate) => {
      const asked = new Asked(bench().console);
      const running = make(failing).run(own, calls, { timeout: SOON, ...options });
      running.catch(() => undefined);
      return { asked, running };
    };

    test("approve runs exactly the approved arguments, once", async () => {
      const { asked, running } = start();
      const card = await asked.card(running);
      await bench().console.decide(card.request_id);
      const { ran, read } = await running;
      expect(ran).toEqual([{ n: 1 }]);
      expect(read.join()).toContain("paid 1");
      const received = await bench().console.receipt(card.request_id, "received");
      if (traits.reports) {
        const receipt = await bench().console.receipt(card.request_id, "executed");
        expect(receipt.executed_args_digest).toBe(argsDigest({ n: 1 }));
        expect(received.degraded).toBeUndefined();
        const span = await asked.span(card, "ok");
        expect(span).toMatchObject({ kind: "tool", name: "pay", request_id: card.request_id });
      } else {
        expect(received.degraded).toEqual(["no_execution_report"]);
      }
    });

    test("the card", async () => {
      const { asked, running } = start([{ n: 1 }], { risks: { "p*": "high" }, effects: { pay: "write" } });
      const card = await asked.card(running);
      expect(card).toMatchObject({
        kind: "tool_call",
        tool: { name: "pay", ...(traits.effects !== false && { effects: "write" }) },
        args: { n: 1 },
        risk: "high",
        agent: { framework: traits.framework },
        verifies: ["webauthn"],
      });
      expect(card.call_id).toBeTruthy();
      expect(card.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      if (traits.description !== false) expect(card.tool.description).toBe("Pays somebody");
      if (traits.schema !== false)
        expect(card.tool.args_schema).toMatchObject({ properties: { n: { type: "number" } } });
      if (card.history !== undefined) expect(JSON.stringify(card.history)).toContain("pay Ada");
      expect(card.allowed_verdicts.includes("modify")).toBe(traits.edits);
      expect(card.allowed_verdicts.includes("respond")).toBe(traits.responds);
      await bench().console.decide(card.request_id, "deny");
      await running;
    });

    test("deny, with a reason: the model reads why", async () => {
      const { asked, running } = start();
      const card = await asked.card(running);
      await bench().console.decide(card.request_id, "deny", { message: "too much" });
      const { ran, read } = await running;
      expect(ran).toEqual([]);
      expect(read.join()).toContain("pay was not run, denied by Ada: too much");
      await asked.span(card, "denied");
    });

    test("skip", async () => {
      const { asked, running } = start();
      const card = await asked.card(running);
      await bench().console.decide(card.request_id, "skip");
      const { ran, read } = await running;
      expect(ran).toEqual([]);
      expect(read.join()).toContain("pay was not run, skipped by Ada (not a refusal)");
    });

    if (traits.responds)
      test("respond takes the place of the result", async () => {
        const { asked, running } = start();
        const card = await asked.card(running);
        await bench().console.decide(card.request_id, "respond", { response: { content: "already paid" } });
        const { ran, read } = await running;
        expect(ran).toEqual([]);
        expect(read.join()).toContain("already paid");
        expect(read.join()).not.toContain("was not run");
      });

    if (traits.edits)
      test("an edit runs as edited, and the model is told", async () => {
        const { asked, running } = start();
        const card = await asked.card(running);
        await bench().console.edit(card.request_id, { n: 2 });
        const { ran, read } = await running;
        expect(ran).toEqual([{ n: 2 }]);
        expect(read.join()).toContain("paid 2");
        const told = 'A person changed this call before it ran. It ran with {"n": 2}.';
        expect(read.join().replaceAll("\\", "").includes(told)).toBe(traits.notice);
        const received = await bench().console.receipt(card.request_id, "received");
        const said = [...(traits.notice ? [] : ["edit_notice"]), ...(traits.reports ? [] : ["no_execution_report"])];
        expect(received.degraded ?? []).toEqual(said);
        if (traits.reports) {
          const receipt = await bench().console.receipt(card.request_id, "executed");
          expect(receipt.executed_args_digest).toBe(argsDigest({ n: 2 }));
        }
      });

    if (traits.edits && traits.validatesEdits !== false)
      test("an edit that the tool does not take does not run", async () => {
        const { asked, running } = start();
        const card = await asked.card(running);
        await bench().console.edit(card.request_id, { n: "two" });
        const { ran, read } = await running;
        expect(ran).toEqual([]);
        expect(read.join()).toMatch(/n/);
        expect((await bench().console.receipt(card.request_id, "refused")).message).toBe("invalid_args");
      });

    test("a console that is gone lets the call expire", async () => {
      let read = [""];
      // Long enough that the bus took the request before: a busy machine needs more.
      for (const timeout of [0.4, 2, 10, 50]) {
        const outcome = await start([{ n: 1 }], { timeout }).running;
        expect(outcome.ran).toEqual([]);
        read = outcome.read;
        if (!read.join().includes("bus_unreachable")) break;
      }
      expect(read.join()).toContain("pay was not run, expired: nobody answered in time");
    });

    test("a rule that allows, and one that denies", async () => {
      const { asked, running } = start();
      const card = await asked.card(running);
      await bench().console.byRule(card.request_id);
      expect((await running).ran).toEqual([{ n: 1 }]);
      const second = start();
      await bench().console.byRule((await second.asked.card(second.running)).request_id, "deny");
      expect((await second.running).read.join()).toContain("pay was not run, denied by the rule Lookups may go");
    });

    test("two calls of one turn, answered apart", async () => {
      const { asked, running } = start([{ n: 1 }, { n: 2 }]);
      const cards = traits.sequential ? [] : await asked.cards(2, running);
      for (const verdict of traits.sequential ? ["approve", "deny"] : []) {
        await bench().console.decide((await asked.card(running)).request_id, verdict);
      }
      if (traits.groups) {
        expect(cards.map((card) => [card.group?.index, card.group?.size])).toEqual([
          [0, 2],
          [1, 2],
        ]);
      }
      const [first, second] = cards.toSorted((one, other) => one.args.n - other.args.n);
      if (second !== undefined) await bench().console.decide(second.request_id, "deny");
      if (first !== undefined) await bench().console.decide(first.request_id);
      const { ran, read } = await running;
      expect(ran).toEqual(traits.allOrNone ? [] : [{ n: 1 }]);
      if (!traits.allOrNone) expect(read.join("\n")).toContain("paid 1");
      expect(read.join("\n")).toContain("denied by Ada");
    });

    test("which calls ask", async () => {
      for (const options of [{ ask: ["refund_*"] }, { unasked: ["pa?"] }] satisfies Options[]) {
        const { asked, running } = start([{ n: 1 }], options);
        expect((await running).ran).toEqual([{ n: 1 }]);
        await asked.noneCame();
      }
      const { asked, running } = start([{ n: 1 }], { ask: ["PAY", "p[a-c]y"], unasked: ["Pay"] });
      await bench().console.decide((await asked.card(running)).request_id, "deny");
      expect((await running).ran).toEqual([]);
    });

    test("a forged decision, an unknown verdict, other arguments", async () => {
      const forged = start();
      await forged.asked.forge(await forged.asked.card(forged.running));
      const outcome = await forged.running;
      expect(outcome.ran).toEqual([]);
      expect(outcome.read.join()).toContain("pay was not run: could not get approval (unknown_key)");
      const unknown = start();
      await bench().console.decide((await unknown.asked.card(unknown.running)).request_id, "nod");
      expect((await unknown.running).read.join()).toContain("pay was not run, not allowed (nod)");
      const other = start();
      const digest = { args_digest: argsDigest({ n: 3 }) };
      await bench().console.decide((await other.asked.card(other.running)).request_id, "approve", digest);
      expect(await other.running).toMatchObject({ ran: [] });
    });

    test("a bus that is gone, before and while it waits", async () => {
      for (const when of ["before", "while it waits"]) {
        const own = await new Bench().start();
        try {
          const away = await own.gate();
          if (when === "before") await own.server.stop();
          const asked = new Asked(own.console);
          const running = make(false).run(away, [{ n: 1 }], { timeout: 1.5 });
          if (when !== "before") {
            await asked.card(running);
            await own.server.stop();
          }
          const { ran, read } = await running;
          expect(ran).toEqual([]);
          expect(read.join()).toContain("pay was not run");
          expect(read.join()).not.toContain(own.agentKey.seed);
        } finally {
          await own.server.start();
          await own.stop();
        }
      }
    });

    test("a closed gate runs nothing", async () => {
      const closed = await bench().gate();
      await closed.close();
      const { ran, read } = await start([{ n: 1 }], {}, false, closed).running;
      expect(ran).toEqual([]);
      expect(read.join()).toContain("pay was not run: could not get approval (gate_closed)");
    });

    test("a tool that fails: the receipt names the error's type alone, and no secret is anywhere", async () => {
      const { asked, running } = start([{ n: 1 }], {}, true);
      const card = await asked.card(running);
      await bench().console.decide(card.request_id);
      await running.catch(() => undefined);
      if (traits.reports) await bench().console.receipt(card.request_id, "failed");
      const sent = ["request", "receipt", "hello"].flatMap((kind) =>
        bench()
          .console.of(kind)
          .map(({ payload }) => payload),
      );
      expect(Buffer.concat(sent).includes(SECRET)).toBe(false);
      expect(Buffer.concat(sent).includes(bench().agentKey.seed)).toBe(false);
    });
  });
}
