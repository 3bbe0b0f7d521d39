//! Frameworks: what to install and the two lines to add.
//!
//! The SDK is in no registry yet: what is named is its file, as `make dist` and a release have it.

use std::path::Path;

use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::output::Output;

/// Name, which is the extra of Python's SDK too, and two lines of code in which `AGENT_JSON` is the path.
type Framework = (&'static str, [&'static str; 2]);

const PYTHON_GATE: &str = "gate = await stack.enter_async_context(Gate.connect(AGENT_JSON))";
const TYPESCRIPT_GATE: &str = "const gate = await Gate.connect(AGENT_JSON)";
/// Frameworks that are there in both languages.
const BOTH: [(&str, &str); 3] = [
    ("langgraph", "langgraph-js"),
    ("openai-agents", "openai-agents-js"),
    ("claude-agent-sdk", "claude-agent-sdk-ts"),
];
const PYTHON: [Framework; 7] = [
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
/// Their package has no extras.
const TYPESCRIPT: [Framework; 5] = [
    (
        "ai",
        [
            TYPESCRIPT_GATE,
            "const result = await generateText({ model, prompt, tools: gateTools(gate, tools) })",
        ],
    ),
    (
        "mastra",
        [
            TYPESCRIPT_GATE,
            "const agent = new Agent({ id, name, instructions, model, tools: gateTools(gate, tools) })",
        ],
    ),
    (
        "langgraph-js",
        [
            TYPESCRIPT_GATE,
            "for (let next; (next = await answerInterrupts(graph, config, gate)); ) await graph.invoke(next, config)",
        ],
    ),
    (
        "openai-agents-js",
        [
            TYPESCRIPT_GATE,
            "const agent = new Agent({ name: \"agent\", tools: gated(gate, tools) })",
        ],
    ),
    (
        "claude-agent-sdk-ts",
        [
            TYPESCRIPT_GATE,
            "const options = { ...yours, ...claudeGate(gate) }",
        ],
    ),
];

pub(super) fn find(name: &str) -> Option<Framework> {
    PYTHON.into_iter().chain(TYPESCRIPT).find(|of| of.0 == name)
}

pub(super) fn names() -> String {
    let known: Vec<&str> = PYTHON.iter().chain(&TYPESCRIPT).map(|of| of.0).collect();
    known.join(", ")
}

/// Prints what to do; no file of the person's changes.
pub(super) fn print(out: Output, name: &str, agent_json: &Path) -> Result<(), Failure> {
    let Some((extra, lines)) = find(name) else {
        return Ok(());
    };
    let version = env!("CARGO_PKG_VERSION");
    let install = if TYPESCRIPT.iter().any(|of| of.0 == extra) {
        format!("npm install ./countersign-sdk-{version}.tgz")
    } else {
        format!("pip install './countersign_sdk-{version}-py3-none-any.whl[{extra}]'")
    };
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
    if let Some((language, other)) = counterpart(name) {
        out.line(&format!("{language}: countersign connect {other}"))?;
    }
    Ok(())
}

/// The same framework of the other language, and that language.
fn counterpart(name: &str) -> Option<(&'static str, &'static str)> {
    BOTH.into_iter().find_map(|(python, typescript)| {
        if name == python {
            Some(("TypeScript", typescript))
        } else if name == typescript {
            Some(("Python", python))
        } else {
            None
        }
    })
}
