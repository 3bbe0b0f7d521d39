"""A small MCP server that writes down every line it reads.

`server.py LOG [LINES]`: with a second file it first prints that file's lines as they are.
"""

import json
import sys
from pathlib import Path

log = Path(sys.argv[1])
TOOLS = [
    {
        "name": "pay",
        "description": "Pays somebody",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    },
    {"name": "typed", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
]


def send(message):
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def call(number, params):
    name = params["name"]
    if name == "boom":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "boom"}})
    elif name == "die":
        print("dying", file=sys.stderr, flush=True)
        sys.exit(7)
    elif name == "silent":
        pass
    elif name == "later":
        task = {"taskId": f"task-{number}", "status": "working", "ttl": 300}
        send({"jsonrpc": "2.0", "id": number, "result": {"task": task}})
    elif name == "elicit":
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
        params = {"message": "Which colour?", "requestedSchema": schema}
        send({"jsonrpc": "2.0", "id": f"form-{number}", "method": "elicitation/create", "params": params})
    else:
        text = {"type": "text", "text": json.dumps(params["arguments"])}
        result = {"content": [text], "structuredContent": {"ran": params["arguments"]}}
        send({"jsonrpc": "2.0", "id": number, "result": result | ({"isError": True} if name == "fail" else {})})


if len(sys.argv) > 2:
    sys.stdout.buffer.write(Path(sys.argv[2]).read_bytes())
    sys.stdout.buffer.flush()
for line in sys.stdin.buffer:
    with log.open("ab", buffering=0) as kept:
        kept.write(line)
    try:
        message = json.loads(line)
    except ValueError:
        continue
    if not isinstance(message, dict):
        continue
    number, method, params = message.get("id"), message.get("method"), message.get("params")
    if method == "initialize":
        info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "small"}}
        send({"jsonrpc": "2.0", "id": number, "result": info})
    elif method == "tools/list":
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": TOOLS}})
    elif method == "tools/call" and number is not None:
        call(number, params)
    elif isinstance(number, str) and number.startswith("form-") and method is None:
        text = {"type": "text", "text": json.dumps(message["result"])}
        send({"jsonrpc": "2.0", "id": int(number[5:]), "result": {"content": [text]}})
