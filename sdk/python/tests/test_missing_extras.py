"""An adapter whose framework is not installed names the extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

ADAPTERS = [
    ("openai_agents", "agents", "openai-agents"),
    ("claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk"),
    ("inspect_ai", "inspect_ai", "inspect-ai"),
    ("kate", "projectkate", "kate"),
    ("langgraph", "langchain", "langgraph"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ("selectools", "selectools", "selectools"),
    ("selectools_pending", "selectools", "selectools"),
]


@pytest.mark.parametrize(("module", "framework", "extra"), ADAPTERS, ids=[row[0] for row in ADAPTERS])
def test_the_error_names_the_extra(module, framework, extra):
    program = f"import sys; sys.modules[{framework!r}] = None; import countersign.adapters.{module}"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "ImportError: " in ended.stderr.splitlines()[-1]
    assert f"countersign-sdk[{extra}]" in ended.stderr.splitlines()[-1]
