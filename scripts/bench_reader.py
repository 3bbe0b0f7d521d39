"""What a second reader is worth: bad calls marked at the place, good ones marked, seconds and tokens.

    python scripts/bench_reader.py FOLDER [--program claude-code] [--model M] [--config FILE] [--at-once N]

FOLDER has sets of calls as `tests/data/judgement` has (`past`, `denied`, `calls` with `bad` and `also`). Each set
gets a console of its own, with the section `[reader]` of `--config`, or the named program. What was approved is asked
and approved first; then each call is asked, and its marks are read with `countersign show`. The twelve made-up cards
come last.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
import zoneinfo
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BINARY = os.environ.get("COUNTERSIGN_BIN") or str(ROOT / "target/debug/countersign")
DATE = re.compile(r"@\{([+-]?\d+)(?::(weekday|long|offset:[^}]+))?\}")
LONGEST = 120.0


def dated(text: str, today: datetime.date) -> str:
    def one(found: re.Match[str]) -> str:
        day = today + datetime.timedelta(days=int(found[1]))
        match found[2]:
            case None:
                return day.isoformat()
            case "weekday":
                return day.strftime("%A")
            case "long":
                return f"{day.day} {day.strftime('%B %Y')}"
            case offset:
                zone = zoneinfo.ZoneInfo(offset.removeprefix("offset:"))
                text = datetime.datetime.combine(day, datetime.time(12), zone).strftime("%z")
                return f"{text[:3]}:{text[3:]}"

    return DATE.sub(one, text)


class Console:
    def __init__(self, folder: Path, section: str) -> None:
        self.env = os.environ | {"COUNTERSIGN_DATA_DIR": str(folder), "COUNTERSIGN_KEYS": "file"}
        self.folder, self.section = folder, section
        self.process = subprocess.Popen(  # noqa: S603
            [BINARY, "serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env, text=True
        )
        ready = self.process.stdout.readline() if self.process.stdout else "{}"
        self.env["COUNTERSIGN_AGENT_JSON"] = json.loads(ready)["agent_json"]
        self.asking: list[subprocess.Popen[bytes]] = []

    def switch_on(self) -> None:
        (self.folder / "config.toml").write_text(self.section)
        time.sleep(2)

    def run(self, *words: str) -> list[dict[str, Any]]:
        done = subprocess.run([BINARY, "--json", *words], env=self.env, capture_output=True, text=True)  # noqa: S603
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ask(self, call: dict[str, Any]) -> str:
        """Asks and leaves it waiting; its id."""
        known = {line["request_id"] for line in self.run("inbox")}
        words = ["ask", "--tool", call["tool"], "--args", json.dumps(call["args"]), "--timeout", "3600"]
        self.asking.append(
            subprocess.Popen(  # noqa: S603
                [BINARY, *words], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            for line in self.run("inbox"):
                if line["request_id"] not in known:
                    return str(line["request_id"])
            time.sleep(0.05)
        raise RuntimeError("the call does not wait")

    def read(self, request: str) -> dict[str, Any]:
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            [shown] = self.run("show", request)
            if shown["reader"]["state"] not in ("asked", "off"):
                return dict(shown["reader"])
            time.sleep(0.1)
        return {"state": "failed", "findings": []}

    def answers(self) -> list[dict[str, Any]]:
        rows = self.run("audit", "export")
        details = [row["detail"] for row in rows if row.get("action") == "reader_answered"]
        return [json.loads(of) if isinstance(of, str) else of for of in details]

    def close(self) -> None:
        for one in self.asking:
            one.kill()
        self.process.terminate()
        self.process.wait()


def of_set(file: Path, section: str, today: datetime.date, at_once: int) -> dict[str, Any]:
    calls = json.loads(dated(file.read_text(), today))
    with tempfile.TemporaryDirectory() as folder:
        console = Console(Path(folder) / "data", section)
        try:
            for tool, past in calls.get("past", {}).items():
                for args in past:
                    console.run("approve", console.ask({"tool": tool, "args": args}))
            for tool, denied in calls.get("denied", {}).items():
                for one in denied if isinstance(denied, list) else [denied]:
                    request = console.ask({"tool": tool, "args": one["args"]})
                    console.run("deny", request, "--message", one["message"])
            console.switch_on()
            # Never more in line than are read at once, so that none is skipped.
            marks = []
            for start in range(0, len(calls["calls"]), at_once):
                some = [(call, console.ask(call)) for call in calls["calls"][start : start + at_once]]
                marks += [(call, console.read(request)) for call, request in some]
            return counted(marks) | {"answers": console.answers(), "tried": console.run("reader", "try")}
        finally:
            console.close()


def counted(marks: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    counts: dict[str, Any] = {"bad": 0, "found": 0, "good": 0, "marked": 0, "failed": 0}
    for call, read in marks:
        places = [mark["at"] for mark in read["findings"]]
        counts["failed"] += read["state"] != "answered"
        if "bad" in call:
            counts["bad"] += 1
            counts["found"] += any(at in places for at in [call["bad"], *call.get("also", [])])
        else:
            counts["good"] += 1
            counts["marked"] += bool(places)
    return counts


def line(name: str, of: dict[str, Any]) -> str:
    seconds = [answer["ms"] / 1000 for answer in of["answers"] if answer.get("ms")]
    tokens = [answer["tokens"] for answer in of["answers"] if answer.get("tokens")]
    middle = f"{statistics.median(seconds):.1f} s" if seconds else "no answer"
    told = f"{sum(tokens) // len(tokens)} tokens a call" if tokens else "tokens not told"
    return (
        f"{name:<12} {of['found']:>3} of {of['bad']:<3} bad at the place, "
        f"{of['marked']:>3} of {of['good']:<3} good marked, {of['failed']} failed, {middle}, {told}"
    )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path)
    words.add_argument("--program", default="claude-code")
    words.add_argument("--model")
    words.add_argument("--config", type=Path, help="a file with the section [reader], instead of --program")
    words.add_argument("--at-once", type=int, default=4)
    given = words.parse_args()
    model = f'model = "{given.model}"\n' if given.model else ""
    section = f'[reader]\nworkspaces = ["default"]\nprogram = "{given.program}"\n{model}'
    section += f"per_hour = 100000\ntimeout_s = 60\nat_once = {given.at_once}\n"
    if given.config:
        section = given.config.read_text()
    total: dict[str, Any] = {"bad": 0, "found": 0, "good": 0, "marked": 0, "failed": 0, "answers": [], "tried": []}
    for file in sorted(given.folder.glob("*.json")):
        of = of_set(file, section, datetime.datetime.now(datetime.UTC).date(), given.at_once)
        print(line(file.stem, of), flush=True)
        total = {name: total[name] + of[name] for name in total}
    print(line("all", total))
    for tried in total["tried"][-1:]:
        print("made up     ", json.dumps(tried))


if __name__ == "__main__":
    main()
