"""The smallest MCP server: writes down what it is asked, and knows no tool."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

for line in sys.stdin:
    with Path(os.environ["SEEN"]).open("a") as seen:
        seen.write(line)
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        }
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": []}
    else:
        answer["error"] = {"code": -32602, "message": "no such tool"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
