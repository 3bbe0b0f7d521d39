/** A process that asks once with a key: `ask-once AGENT_JSON FOLDER KEY`. */
import { Gate } from "../../src/index.js";

const [agentJson = "", journal = "", key = ""] = process.argv.slice(2);
const gate = await Gate.connect(agentJson, { journal, connectTimeout: 120 });
try {
  const decision = await gate.ask({ name: "pay", args: { to: "ada", n: 1 }, callId: journal }, { key });
  process.stdout.write(decision.verdict);
} catch (error) {
  process.stdout.write((error as { code: string }).code);
} finally {
  await gate.close();
}
