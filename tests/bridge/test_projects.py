"""Row U13 of the bridge to CommonGround, two projects, and the file that names them."""

from __future__ import annotations

import json


async def test_u13_two_projects_with_one_tool_name_stay_apart(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    for project in ("p1", "p2"):
        ground.card(f"u13-{project}", project=project)
        await ground.command(f"u13-{project}", project=project)
    for project in ("p1", "p2"):
        shown = await desk.card(f"u13-{project}")
        assert shown["request"]["agent"]["name"] == project
        desk.run("approve", shown["request"]["request_id"])
        await bridge.state(f"u13-{project}", "forwarded")
        subject = f"cg.v1r4.{project}.ch1.cmd.tool.mail.send"
        assert len(await ground.forwarded(f"u13-{project}", subject)) == 1


async def test_the_file_is_refused_with_line_and_column(world):
    desk, bridge = world.desk, world.bridge
    good = bridge.file.read_text()
    other = world.folder / "other.toml"
    bad = {
        'name = "Desk"': ('name = "desk"', "line 2"),
        "cg.v1r4.{project_id}.{channel_id}.cmd.sys.mail.send": (
            "cg.v1r4.{project_id}.{channel_id}.cmd.tool.mail.send",
            "cmd.sys",
        ),
        "cg.v1r4.{project_id}.{turn}.cmd.tool.mail.send": (
            "cg.v1r4.{project_id}.{channel_id}.cmd.tool.mail.send",
            "placeholders",
        ),
        'name = "fork_join"': ('name = "send_mail"', "keeps this name"),
        "schema = 1\nfolder = 1": ("schema = 1", "unknown field"),
    }
    for wrong, (right, said) in bad.items():
        other.write_text(good.replace(right, wrong, 1))
        command = ["bridge", "commonground", "check", "--config", str(other), "--json"]
        text = desk.fails(2, *command)
        assert said in text
        assert "column" in text
    assert json.loads(desk.run("bridge", "commonground", "check", "--config", str(bridge.file), "--json"))["ok"]
