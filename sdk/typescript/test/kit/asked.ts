/** Cards as the played console receives them, and its answers, for the tests of adapters. */
import { Key } from "./key.js";
import type { Console } from "./console.js";
import { pause, until } from "./until.js";

/** The requests that arrive from now on. Each is handed out once. */
export class Asked {
  private readonly from: number;
  private readonly handed = new Set<string>();

  constructor(readonly console: Console) {
    this.from = console.of("request").length;
  }

  /** The next cards, by their place in the turn. Fails where `working` ends before. */
  async cards(count: number, working?: Promise<unknown>): Promise<any[]> {
    let ended: unknown = null;
    working?.then(
      (value) => (ended = value ?? "nothing"),
      (error) => (ended = error),
    );
    await until(() => {
      const arrived = this.fresh().length >= count;
      if (!arrived && ended !== null) throw new Error(`no card, but an end: ${String(ended)} ${JSON.stringify(ended)}`);
      return arrived;
    });
    const bodies = this.fresh().slice(0, count);
    for (const { request_id } of bodies) this.handed.add(request_id);
    return bodies.toSorted((one, other) => (one.group?.index ?? 0) - (other.group?.index ?? 0));
  }

  async card(working?: Promise<unknown>): Promise<any> {
    return (await this.cards(1, working))[0];
  }

  async noneCame(): Promise<void> {
    await this.console.nc.flush();
    await pause(50);
    if (this.fresh().length > 0) throw new Error(`a card came: ${JSON.stringify(this.fresh())}`);
  }

  /** What is not sure to be there is published again, with the same id. */
  private fresh(): any[] {
    const found = this.console.of("request").slice(this.from);
    const byId = new Map(found.map(({ body }) => [body.request_id, body]));
    return [...byId.values()].filter(({ request_id }) => !this.handed.has(request_id));
  }

  async forge(card: any): Promise<void> {
    const seen = await this.console.request(card.request_id);
    const [subject, stranger] = [seen.subject.replace(".request.", ".decision."), new Key()];
    const decided_by = { name: "Ada", key: stranger.public };
    const body = this.console.decision(seen, "approve", { decided_by });
    await this.console.store(subject, ...this.console.signed(subject, body, stranger));
  }

  /** The span of the call, once it ended so. */
  async span(card: any, status: string): Promise<any> {
    const [, traceId, spanId] = card.traceparent.split("-");
    const found = await this.console.heard(
      "event",
      ({ body }) => body.trace_id === traceId && body.span_id === spanId && body.status === status,
    );
    return found.body;
  }
}
