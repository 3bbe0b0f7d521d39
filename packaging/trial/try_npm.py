"""npm's packages, from a registry on the loopback address: `npm install -g`, npx, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import index
from roots import DIST, Fresh, note, see

SERVER = f"""
const fs = require("fs");
require("http").createServer((asked, answer) => {{
  const file = "/opt/registry" + decodeURIComponent(asked.url.split("?")[0]);
  if (!fs.existsSync(file)) {{ answer.statusCode = 404; return answer.end("{{}}"); }}
  answer.end(fs.readFileSync(file));
}}).listen({index.PORT}, "127.0.0.1");
"""
START = f"""export npm_config_registry={index.ADDRESS} npm_config_prefix=$HOME/.npm-global
export npm_config_update_notifier=false
export PATH=$HOME/.npm-global/bin:$PATH
mkdir -p $HOME/.npm-global/lib
node /opt/registry.js & sleep 0.1
until node -e 'fetch("{index.ADDRESS}/countersign-desk").then(a => process.exit(a.ok ? 0 : 1), () => process.exit(1))'
do sleep 0.1; done
"""
AGENT = """
import { Gate } from "countersign-sdk";
const gate = await Gate.connect("/tmp/enrolled/agent.json");
const decision = await gate.ask({ name: "send", args: { to: "ada" }, risk: "medium" }, { timeout: 60 });
if (!decision.allowed || decision.args.to !== "ada") process.exit(1);
await gate.receipt(decision, "executed", { executedArgsDigest: decision.argsDigest });
await gate.close();
"""


def trial(debian: str) -> None:
    with Fresh(debian, ("nodejs", "npm")) as system:
        index.npm(system.path / "opt/registry")
        (system.path / "opt/registry.js").write_text(SERVER)
        system.put(Path(__file__).with_name("round.sh"), "/opt/round.sh")
        # First: npx runs what is installed, where something is.
        said = system.run(
            START + "cd && npx --yes countersign-desk -V && npx --yes countersign-desk connect claude-code", code=2
        )
        see("npm install -g" in said, f"connect from npx: {said}")
        system.run(START + "npm install -g --silent countersign-desk")
        note(system.run(START + "sh /opt/round.sh npm headless").strip())
        passes_on(system)
        said = system.run(
            START + "mkdir /tmp/bare && cd /tmp/bare && npm install --silent --omit=optional countersign-desk"
            " && ./node_modules/.bin/countersign -V",
            code=2,
        )
        see(
            "countersign-desk-linux-x64" in said and "--omit=optional" in said,
            f"the missing package is not named: {said}",
        )
        sdk(system)
        system.run(START + "npm uninstall -g --silent countersign-desk && ! command -v countersign")
        left = system.run("find $HOME/.npm-global -name '*countersign*'")
        see(not left.strip(), f"left behind: {left}")


def passes_on(system: Fresh) -> None:
    """Exit codes, standard input and signals are the program's own."""
    system.run(
        START
        + """code=0; countersign nonsense 2>/dev/null || code=$?; [ $code = 2 ]
        code=0; echo '{' | countersign hook claude-code --event before >/dev/null 2>&1 || code=$?; [ $code = 2 ]
        countersign serve >/tmp/ready 2>/tmp/log & console=$!
        until countersign status --ready 2>/dev/null; do sleep 0.2; done
        kill -TERM $console; wait $console"""
    )


def sdk(system: Fresh) -> None:
    """The TypeScript SDK, where the release has one. What it needs comes from the machine's registry."""
    packed = next((DIST / "npm").glob("countersign-sdk-*.tgz"), None)
    if packed is None:
        note("no TypeScript SDK in this release")
        return
    node = system.run("node --version").strip()
    if tuple(map(int, node.lstrip("v").split(".")[:2])) < (20, 19):
        note(f"Node.js {node} is too old for the TypeScript SDK")
        return
    system.put(packed, f"/opt/{packed.name}")
    (system.path / "opt/agent.mjs").write_text(AGENT)
    system.run(f"mkdir -p /tmp/ts && cd /tmp/ts && npm install --silent /opt/{packed.name}", network=True)
    system.run(
        START
        + """cp /opt/agent.mjs /tmp/ts/
        countersign serve >/tmp/ready 2>/tmp/log & console=$!
        until countersign status --ready 2>/dev/null; do sleep 0.2; done
        countersign enroll default/trial --out /tmp/enrolled >/dev/null
        (cd /tmp/ts && node agent.mjs) & agent=$!
        until countersign inbox --json | grep -q '"send"'; do kill -0 $agent; sleep 0.2; done
        countersign approve "$(countersign inbox --json | sed -n 's/.*"request_id": *"\\([^"]*\\)".*/\\1/p')"
        wait $agent; kill $console; wait $console"""
    )
