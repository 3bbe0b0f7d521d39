"""Writes docs/compatibility.md from the results of a test run: `make compatibility`.

The tests' names are the contract: `test_k6b_…` proves row K6b, and one of a framework's file proves the promise whose
words are in its name (`PROMISES`). With `--check` nothing is written: it fails where the page says of a system or a
framework what this run did not prove. Versions are not compared: a new release fails no test run by itself.
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs/compatibility.md"


class System(NamedTuple):
    letter: str
    """The first of its rows' names."""
    name: str
    package: str
    """Whose version is shown; a text of its own where it is no package."""
    played: str
    """What of it is not the real thing in the tests."""


SYSTEMS = [
    System("S", "selectools", "selectools", "the real package; its model plays a script"),
    System("K", "Kate SDK", "projectkate", "the real package; the models and the marketplace are played on loopback"),
    System(
        "R",
        "ravi",
        "agent-substrate 0.1.0 and 0.2.0",
        "the real packages' tool invoker; the older protocol by its shape",
    ),
    System("F", "Flexus", "flexus_client_kit 0.1.0", "a double (`flexus_kit.py`): the package is not on PyPI"),
    System(
        "U",
        "CommonGround",
        "v1r4",
        "a double (`tests/bridge/commonground.py`, `commonground_kit.py`): there is nothing to install",
    ),
]
FRAMEWORKS = {
    "pydantic_ai": ("pydantic-ai", ["pydantic-ai-slim"]),
    "langgraph": ("LangChain, LangGraph", ["langchain", "langgraph"]),
    "openai_agents": ("OpenAI Agents SDK", ["openai-agents"]),
    "claude_agent_sdk": ("Claude Agent SDK", ["claude-agent-sdk"]),
    "inspect_ai": ("Inspect AI", ["inspect-ai"]),
}
PROMISES = {
    "approve: runs once, with what was approved; receipt with its digest": r"approved_(it|call)_runs|approve_modify",
    "modify: runs as edited, or not": r"_an_edit|edited|approve_modify",
    "deny: the model reads why": r"\[deny\]|approve_modify|deny_rule",
    "skip": r"\[skip\]|skip_and_terminate",
    "respond": r"\[respond\]",
    "terminate": r"terminat",
    "time-out, console gone": r"nobody_answers|console_that_is_gone",
    "a rule that allows": r"a_rule",
    "two calls of one turn": r"two_calls|the_calls_of_a_turn|all_calls_of",
    "resume after SIGKILL": r"killed",
    "gate closed, bus gone": r"gate_that|closed_gate|bus_that_is_gone",
    "forged decision": r"forge|no_console_gave",
    "unknown verdict": r"unknown|\[nod\]",
    "an approved call that does not start": r"does_not_start|not_start_is_refused|deny_rule",
    "a tool that raises": r"that_raises|call_fails",
    "a cancelled run": r"cancelled_run",
    "planted secret nowhere": r"secret",
    "the guide's example": r"the_example",
}
TYPESCRIPT = {
    "ai": ("Vercel AI SDK", ["ai6", "ai"]),
    "openai-agents": ("OpenAI Agents SDK for JavaScript", ["@openai/agents"]),
    "claude-agent-sdk": ("Claude Agent SDK for TypeScript", ["@anthropic-ai/claude-agent-sdk"]),
    "langgraph": ("LangGraph.js", ["@langchain/langgraph", "langchain"]),
    "mastra": ("Mastra", ["@mastra/core"]),
}
"""By the names of their files in `sdk/typescript/test/frameworks`, and the packages of its package.json."""
TYPESCRIPT_PROMISES = {
    "approve: runs once, with what was approved; receipt with its digest": r"approve runs exactly|approve, modify",
    "modify: runs as edited, or not": r"an edit|approve, modify",
    "deny: the model reads why": r"deny, with a reason|approve, modify",
    "skip": r"skip",
    "respond": r"respond takes|is a question|questions are one form",
    "terminate": r"terminate",
    "time-out, console gone": r"console that is gone|nobody answers",
    "a rule that allows": r"a rule",
    "two calls of one turn": r"two calls",
    "resume after SIGKILL": r"after a kill",
    "gate closed, bus gone": r"closed gate|a bus that is gone",
    "forged decision": r"forge",
    "unknown verdict": r"unknown verdict",
    "an approved call that does not start": r"does not run, and its receipt|none of it runs",
    "a tool that raises": r"a tool that fails|call fails",
    "planted secret nowhere": r"no secret",
    "the guide's example": r"guide",
}
TOOLS = {
    "claude": "Claude Code",
    "codex": "Codex CLI",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "cursor": "Cursor",
    "copilot": "Copilot CLI",
    "mcp": "MCP",
}
TOLD = """# Compatibility

Written by the test run: `make compatibility`. Each row of a system is a test of that name (`test_k6b_…` is row K6b).
A test run fails where this page claims what it did not prove of a system or a framework.

The versions are those of `sdk/python/requirements.txt`: the newest of the major for which an adapter was written,
when that file was. The adapter of the Claude Agent SDK was written for 0.2.188; its tests pass with that one too.
"""


class Ran(NamedTuple):
    file: str
    name: str
    result: str


# Coding agents, and the version that was run for real.
AGENTS = {
    "Codex": "@openai/codex 0.171.0",
    "Gemini CLI": "@google/gemini-cli 0.61.0",
    "Copilot CLI": "@github/copilot 1.0.102",
    "OpenCode": "opencode-ai 1.18.33",
}
REAL = (
    "the real program with `make agents`, its model played on loopback; in CI a double that reads the same settings"
)
CURSOR = "| Cursor | hooks version 1 | a double by the documented shapes: it works only with its maker's servers |"
VS_CODE = (
    "| VS Code | documented events of its hooks | "
    "played events of the documented shapes: the program itself was not run |"
)

PROMETHEUS = (
    "both parsers of Prometheus's Python client read what a console serves; of the board and the alerts the names "
    "are compared, no server was run"
)


def ran(file: Path) -> list[Ran]:
    """The tests of one report of pytest, in its order. Skipped ones prove nothing and are left out."""
    found = []
    # Our own test run wrote it.
    for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314
        if case.find("skipped") is None:
            wrong = case.find("failure") is not None or case.find("error") is not None
            place, name = case.get("classname", ""), case.get("name", "")
            if place.endswith(".test.ts"):
                place = f"ts:{Path(place).name.removesuffix('.test.ts')}"
                if place in ("ts:guides", "ts:killed"):
                    # A guide's name ends with the language's where Python has one of the same name.
                    framework, _, words = name.partition(":")
                    name = "guide" if place == "ts:guides" else words
                    place = f"ts:{framework.removesuffix('-js').removesuffix('-ts')}"
            found.append(Ran(place.rpartition(".")[2], name, "failed" if wrong else "passed"))
    return found


def rows(tests: list[Ran]) -> dict[str, dict[str, str]]:
    """System to row to result."""
    table: dict[str, dict[str, str]] = defaultdict(dict)

    def add(system: str, row: str, result: str) -> None:
        known = table[system].get(row, "passed")
        table[system][row] = "failed" if "failed" in (known, result) else result

    for test in tests:
        for row in re.findall(r"(?<=_)[skrfu]\d+[a-e]?(?=_)", re.sub(r"\[.*", "", test.name)):
            system = next(one for one in SYSTEMS if one.letter == row[0].upper())
            add(system.name, row[0].upper() + row[1:], test.result)
        for key, (system_name, _) in FRAMEWORKS.items():
            if key in test.file or (test.file == "test_adapters_fail_closed" and f"[{key}" in test.name):
                for promise, words in PROMISES.items():
                    if re.search(words, test.name):
                        add(system_name, promise, test.result)
        if (framework := TYPESCRIPT.get(test.file.removeprefix("ts:"))) and test.file.startswith("ts:"):
            for promise, words in TYPESCRIPT_PROMISES.items():
                if re.search(words, test.name):
                    add(framework[0], promise, test.result)
        for key, system_name in TOOLS.items():
            if test.file in AGENT_FILES and (f"_{key}" in test.file or re.search(rf"[\[-]{key}", test.name)):
                add(system_name, re.sub(r"\[.*", "", test.name.removeprefix("test_")).replace("_", " "), test.result)
    return dict(table)


AGENT_FILES = {file.stem for file in (PAGE.parents[1] / "tests/agents").glob("test_*.py")}


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return package


def order(row: str) -> tuple[str, int, str]:
    known = re.fullmatch(r"([A-Z])(\d+)([a-e]?)", row)
    return (known[1], int(known[2]), known[3]) if known else (row, 0, "")


def page(table: dict[str, dict[str, str]]) -> str:
    lines = [TOLD, "| System | Tested with | In the tests it is |", "|---|---|---|"]
    for system in SYSTEMS:
        lines.append(f"| {system.name} | {version(system.package)} | {system.played} |")
    for name, packages in FRAMEWORKS.values():
        told = ", ".join(f"{one} {version(one)}" for one in packages)
        program = ", with the Claude Code inside it" if name == "Claude Agent SDK" else ""
        lines.append(f"| {name} | {told} | the real package{program}; the model is a fake or played on loopback |")
    lines += [f"| {name} | {told} | {REAL} |" for name, told in AGENTS.items()]
    lines += [CURSOR, VS_CODE]
    lines += [f"| Prometheus, Grafana | prometheus-client {version('prometheus-client')} | {PROMETHEUS} |"]
    lines += ["", "## Systems", "", "| System | Row | Result |", "|---|---|---|"]
    for system in SYSTEMS:
        for row in sorted(table.get(system.name, {}), key=order):
            lines.append(f"| {system.name} | {row} | {table[system.name][row]} |")
    names = [name for name, _ in FRAMEWORKS.values()]
    lines += ["", "## Frameworks", "", "An empty cell: it is not offered there, or has no test of its own.", ""]
    lines += [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for promise in PROMISES:
        cells = [table.get(name, {}).get(promise, "") for name in names]
        lines.append(f"| {promise} | {' | '.join(cells)} |")
    lines += ["", *typescript(table)]
    lines += ["", "## Coding tools", "", "| Tool | What was tried | Result |", "|---|---|---|"]
    for name in TOOLS.values():
        for row, result in table.get(name, {}).items():
            lines.append(f"| {name} | {row} | {result} |")
    return "\n".join(lines) + "\n"


def typescript(table: dict[str, dict[str, str]]) -> list[str]:
    """The frameworks of the TypeScript SDK."""
    wanted = json.loads((PAGE.parents[1] / "sdk/typescript/package.json").read_text())["devDependencies"]
    lines = ["## Frameworks of the TypeScript SDK", "", "AI SDK 7 and Mastra on Node 24, all others on Node 20.", ""]
    for name, packages in TYPESCRIPT.values():
        tested = (f"{one.rstrip('6')} {wanted[one].rpartition('@')[2]}" for one in packages)
        lines.append(f"- {name}: {', '.join(tested)}")
    names = [name for name, _ in TYPESCRIPT.values()]
    lines += ["", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for promise in TYPESCRIPT_PROMISES:
        cells = [table.get(name, {}).get(promise, "") for name in names]
        lines.append(f"| {promise} | {' | '.join(cells)} |")
    return lines


def claimed(text: str) -> set[tuple[str, str]]:
    """(system, row) of the tables of systems and frameworks that a page says passed."""
    found: set[tuple[str, str]] = set()
    names: list[str] = []
    for line in text.partition("## Coding tools")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| |"):
            names = cells[1:]
        elif names:
            found |= {(name, cells[0]) for name, cell in zip(names, cells[1:], strict=False) if cell == "passed"}
        elif cells[-1] == "passed":
            found.add((cells[0], cells[1]))
    return found


def main(arguments: list[str]) -> int:
    reports = [Path(name) for name in arguments if name != "--check"]
    new = page(rows([test for file in reports for test in ran(file)]))
    if "--check" not in arguments:
        PAGE.write_text(new)
        return 0
    old, proved = claimed(PAGE.read_text()), claimed(new)
    for system, row in sorted(old - proved):
        print(f"docs/compatibility.md says that this passed, and it did not run or failed: {system}, {row}")
    for system, row in sorted(proved - old):
        print(f"docs/compatibility.md does not have this yet, `make compatibility` adds it: {system}, {row}")
    return 1 if old - proved else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
