/** A server on the loopback address that plays Anthropic's messages API. */
import { createServer, type Server } from "node:http";

/** One answer: a text, or calls of tools as names and arguments. */
export type Turn = string | [string, object][];

export class ModelServer {
  readonly asked: any[] = [];
  address = "";
  private readonly turns: Turn[];
  private ids = 0;
  private server!: Server;

  /** Answers with the given turns, then with "done". */
  constructor(...turns: Turn[]) {
    this.turns = turns;
  }

  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      let text = "";
      request.on("data", (data) => (text += data));
      request.on("end", () => {
        const send = (body: string, kind = "application/json", status = 200): void => {
          response.writeHead(status, { "content-type": kind });
          response.end(body);
        };
        const path = request.url?.split("?")[0] ?? "";
        if (path.endsWith("/count_tokens")) return send('{"input_tokens":7}');
        if (request.method !== "POST" || !path.endsWith("/messages")) return send("{}", undefined, 404);
        const body = JSON.parse(text);
        const events = this.events(body);
        if (body.stream) {
          const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
          return send(lines.join(""), "text/event-stream");
        }
        return send(JSON.stringify(assembled(events)));
      });
    });
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.address = `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
    return this;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** What the model read as results of its calls. */
  results(): string[] {
    const parts = (this.asked.at(-1)?.messages ?? []).flatMap(({ content }: any) =>
      Array.isArray(content) ? content : [],
    );
    return parts.filter(({ type }: any) => type === "tool_result").map(({ content }: any) => JSON.stringify(content));
  }

  private events(body: any): any[] {
    // Requests without tools are the program's own: a title, a check of the connection.
    let turn: Turn = "ok";
    if (body.tools?.length) {
      this.asked.push(body);
      turn = this.turns.shift() ?? "done";
    }
    const usage = { input_tokens: 7, output_tokens: 3 };
    const id = (): string => `${(this.ids += 1)}`;
    const message = { id: `msg_${id()}`, type: "message", role: "assistant", model: body.model, content: [] };
    const parts =
      typeof turn === "string"
        ? [
            [
              { type: "text", text: "" },
              { type: "text_delta", text: turn },
            ],
          ]
        : turn.map(([name, args]) => [
            { type: "tool_use", id: `toolu_${id()}`, name, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(args) },
          ]);
    const blocks = parts.flatMap(([block, delta], index) => [
      { type: "content_block_start", index, content_block: block },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]);
    const reason = typeof turn === "string" ? "end_turn" : "tool_use";
    return [
      { type: "message_start", message: { ...message, stop_reason: null, usage } },
      ...blocks,
      { type: "message_delta", delta: { stop_reason: reason }, usage },
      { type: "message_stop" },
    ];
  }
}

function assembled(events: any[]): object {
  const content = events
    .filter(({ type }) => type === "content_block_start")
    .map(({ content_block }) => structuredClone(content_block));
  for (const { type, index, delta } of events) {
    if (type !== "content_block_delta") continue;
    Object.assign(content[index], "text" in delta ? { text: delta.text } : { input: JSON.parse(delta.partial_json) });
  }
  return { ...events[0].message, content, stop_reason: events.at(-2).delta.stop_reason };
}
