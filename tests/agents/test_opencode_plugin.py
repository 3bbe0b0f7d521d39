"""OpenCode's plugin in Node: an approved call runs with the very arguments that were asked about."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from desk import ROOT

PLUGIN = ROOT / "crates/hooks/src/connect/opencode.js"
RUN = """
const { Countersign } = await import("data:text/javascript," + encodeURIComponent(process.argv[1]))
const given = JSON.parse((await import("node:fs")).readFileSync(process.argv[2], "utf8"))
const output = { args: given.args }
const before = JSON.stringify(output.args)
const content = output.args.content
const plugin = await Countersign({ directory: process.cwd() })
const during = given.during ? setTimeout(() => Object.assign(output.args, given.during), 50) : null
const end = { words: "" }
try {
  await plugin["tool.execute.before"]({ tool: "write", sessionID: "s", callID: "c" }, output)
} catch (error) {
  end.words = error.message
}
end.same = JSON.stringify(output.args) === before && output.args.content === content
end.args = given.returned ? output.args : null
const result = { output: "done" }
await plugin["tool.execute.after"]({ tool: "write", sessionID: "s", callID: "c", args: output.args }, result)
end.result = result.output
console.log(JSON.stringify(end))
"""
# Gives back what it was asked about, in as many parts as the pipe makes of it, or what a file says.
HOOK = """
import json, pathlib, sys, time
event = json.load(sys.stdin)
said = json.loads(pathlib.Path(sys.argv[1]).read_text())
if event["event"] == "tool.execute.after":
    answer = said.get("after", {})
else:
    answer = {"decision": "allow", "args": event["args"], "edited": False} | said.get("before", {})
time.sleep(said.get("wait", 0))
text = json.dumps(answer, ensure_ascii=False).encode()
for at in range(0, len(text), 4097):
    sys.stdout.buffer.write(text[at:at + 4097])
    sys.stdout.buffer.flush()
"""


def run(folder: Path, args: dict, said: dict | None = None, **more) -> dict:
    (folder / "said.json").write_text(json.dumps(said or {}))
    (folder / "hook.py").write_text(HOOK)
    (folder / "given.json").write_text(json.dumps({"args": args} | more))
    command = json.dumps(["python3", str(folder / "hook.py"), str(folder / "said.json")])
    plugin = PLUGIN.read_text().replace('["COMMAND"]', command)
    node = ["node", "--input-type=module", "-e", RUN, plugin, str(folder / "given.json")]
    done = subprocess.run(node, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("letters", ["é" * 33_000, "é" * 200_000, "a€𝄞" * 60_000])
def test_a_long_text_with_any_letters_runs_as_it_was(tmp_path, letters):
    assert run(tmp_path, {"content": letters, "filePath": "a"}) | {"args": None} == {
        "words": "",
        "same": True,
        "args": None,
        "result": "done",
    }


@pytest.mark.parametrize(
    "other",
    [{"content": "b"}, {"content": "a", "mode": 1}, {}, {"content": ["a"]}, None],
)
def test_an_approval_of_other_arguments_runs_nothing(tmp_path, other):
    ended = run(tmp_path, {"content": "a"}, {"before": {"args": other}})
    assert ended["words"] == "write was not run: its arguments are not the approved ones (digest_differs)"


def test_arguments_that_another_plugin_changes_meanwhile_run_nothing(tmp_path):
    ended = run(tmp_path, {"content": "a"}, {"wait": 1}, during={"content": "b"})
    assert "digest_differs" in ended["words"]


def test_an_edit_runs_in_place_and_words_are_added_to_the_result(tmp_path):
    said = {
        "before": {"args": {"content": "b"}, "edited": True},
        "after": {"words": "write ran with other arguments."},
    }
    ended = run(tmp_path, {"content": "a", "mode": 1}, said, returned=True)
    assert (ended["words"], ended["args"]) == ("", {"content": "b"})
    assert ended["result"] == "done\nwrite ran with other arguments."
