"""The guide for Prometheus and Grafana, its board and its alerts name what a console serves."""

from __future__ import annotations

import json
import re
import tomllib

import yaml
from desk import ROOT
from test_metrics import NAMES

GUIDES = ROOT / "docs/guides"
PAGE = (GUIDES / "grafana.md").read_text()
# What Prometheus adds or calls otherwise.
ADDED = {"instance", "job", "le"}
SUFFIXES = {"info": ["_info"], "counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
SERIES = {name + end: labels for name, (kind, labels) in NAMES.items() for end in SUFFIXES[kind]}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def check(expression: str, *shown: str) -> None:
    """It names series that there are, and of them only labels that they have."""
    assert expression.count("(") == expression.count(")"), expression
    named = re.findall(r"countersign_\w+", expression)
    assert named, expression
    assert set(named) <= set(SERIES), expression
    labels = ADDED.union(*(SERIES[name] for name in named))
    grouped = [word.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for word in group.split(",")]
    told = [label for text in shown for label in re.findall(r"{{\s*(?:\$labels\.)?(\w+)\s*}}", text)]
    assert set(grouped) | set(told) <= labels, (expression, shown)


def test_the_table_is_what_a_console_serves():
    rows = re.findall(r"^\| `(countersign_\w+)` \| (\w+) \| (.*?) \|", PAGE, re.MULTILINE)
    assert {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows} == {
        name: (kind, labels - {"le"}) for name, (kind, labels) in NAMES.items()
    }


def test_the_board_draws_what_there_is_from_a_source_that_is_chosen():
    board = json.loads((GUIDES / "grafana.json").read_text())
    [source] = board["templating"]["list"]
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    drawn = set()
    for panel in board["panels"]:
        assert panel["datasource"]["uid"] == f"${{{source['name']}}}", panel["title"]
        for target in panel["targets"]:
            check(target["expr"], target["legendFormat"])
            drawn |= set(re.findall(r"countersign_\w+", target["expr"]))
    # Each metric is on it.
    assert {name for name, (kind, _) in NAMES.items() if any(name + end in drawn for end in SUFFIXES[kind])} == set(
        NAMES
    )


def test_the_alerts_name_what_there_is():
    [group] = yaml.safe_load((GUIDES / "grafana-alerts.yaml").read_text())["groups"]
    assert len(group["rules"]) == 3
    for rule in group["rules"]:
        assert rule["annotations"].keys() == {"summary", "description"}
        check(rule["expr"], *rule["annotations"].values())


def test_the_settings_and_the_other_configurations_are_read():
    known = {"listen", "token_file", "tls_cert", "tls_key", "allow_plain_text"}
    for block in blocks("toml"):
        assert tomllib.loads(block)["metrics"].keys() <= known
    scrape, alertmanager = (yaml.safe_load(block) for block in blocks("yaml"))
    [job] = scrape["scrape_configs"]
    [target] = job["static_configs"]
    assert (job["job_name"], target["targets"]) == ("countersign", ["127.0.0.1:9464"])
    assert alertmanager["route"]["receiver"] == alertmanager["receivers"][0]["name"]
