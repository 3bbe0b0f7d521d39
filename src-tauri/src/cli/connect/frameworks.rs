//! Frameworks: what to install and the two lines to add.
//!
//! The SDK is in no registry yet: what is named is its folder in a checkout.

use std::path::Path;

use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::output::Output;

/// Name, which is the SDK's extra too, and two lines of code in which `AGENT_JSON` is the path.
type Framework = (&'static str, [&'static str; 2]);

const PYTHON_GATE: &str = "gate = await stack.enter_async_context(Gate.connect(AGENT_JSON))";
const FRAMEWORKS: [Framework; 7] = [
    (
        "pydantic-ai",
        [
            PYTHON_GATE,
            "agent = Agent(model, tools=tools, capabilities=[CountersignApproval(gate)])",
        ],
    ),
    (
        "langgraph",
        [
            PYTHON_GATE,
            "agent = create_agent(model, tools, middleware=[CountersignMiddleware(gate)])",
        ],
    ),
    (
        "openai-agents",
        [
            PYTHON_GATE,
            "agent = Agent(name=\"agent\", tools=gated(gate, tools))",
        ],
    ),
    (
        "inspect-ai",
        [
            "export COUNTERSIGN_AGENT_JSON=AGENT_JSON",
            "inspect eval task.py --approval countersign/console",
        ],
    ),
    (
        "claude-agent-sdk",
        [PYTHON_GATE, "options = ClaudeGate(gate).options()"],
    ),
    (
        "selectools",
        [
            PYTHON_GATE,
            "see docs/guides/selectools.md for the agent's configuration",
        ],
    ),
    (
        "kate",
        [
            PYTHON_GATE,
            "see docs/guides/kate.md for the agent's configuration",
        ],
    ),
];

pub(super) fn find(name: &str) -> Option<Framework> {
    FRAMEWORKS.into_iter().find(|of| of.0 == name)
}

pub(super) fn names() -> String {
    FRAMEWORKS.map(|of| of.0).join(", ")
}

/// Prints what to do; no file of the person's changes.
pub(super) fn print(out: Output, name: &str, agent_json: &Path) -> Result<(), Failure> {
    let Some((extra, lines)) = find(name) else {
        return Ok(());
    };
    let install = format!("pip install './sdk/python[{extra}]'");
    let path = agent_json.display().to_string();
    let quoted = Value::from(path.as_str()).to_string();
    let lines = lines.map(|line| {
        line.replace("AGENT_JSON)", &format!("{quoted})"))
            .replace("=AGENT_JSON", &format!("={quoted}"))
    });
    if out.json {
        return Ok(out.json_line(&json!({
            "file": null, "backup": null, "agent_json": path, "changed": false,
            "install": install, "lines": lines,
        }))?);
    }
    for line in [&install].into_iter().chain(&lines) {
        out.line(line)?;
    }
    Ok(())
}
