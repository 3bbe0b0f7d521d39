//! An event that is not known for sure is never a yes.

use serde_json::{Value, json};

use super::step;
use crate::call::{Phase, Step};
use crate::program::Program::{self, *};

/// What is asked about: the tool and its arguments.
fn asked(program: Program, event: &Value, phase: Option<Phase>) -> Option<(String, Value)> {
    match step(program, event, phase) {
        Ok(Step::Ask(call)) => Some((call.tool, call.args)),
        _ => None,
    }
}

fn claude(name: &str) -> Value {
    json!({
        "session_id": "s1", "transcript_path": "t.jsonl", "cwd": "/w", "hook_event_name": name,
        "tool_name": "Bash", "tool_input": { "command": "rm -rf build" }, "tool_use_id": "u1",
    })
}

#[test]
fn copilot_is_read_in_both_dialects() {
    let args = json!({ "command": "rm -rf build" });
    let bash = Some(("bash".to_owned(), args.clone()));
    for (event, wanted) in [
        (
            json!({ "session_id": "s1", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "bash",
                "tool_input": args }),
            bash.clone(),
        ),
        (
            json!({ "hook_event_name": "PreToolUse", "sessionId": "s1", "tool_name": "run_in_terminal",
                "tool_input": args, "tool_use_id": "u1" }),
            Some(("run_in_terminal".to_owned(), args.clone())),
        ),
        (
            json!({ "sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": args.to_string() }),
            bash.clone(),
        ),
        (
            json!({ "sessionId": "s", "hookEventName": "preToolUse", "toolName": "bash", "toolArgs": args }),
            bash.clone(),
        ),
        (
            json!({ "session_id": "s", "tool_name": "bash", "tool_input": args }),
            bash,
        ),
    ] {
        for phase in [None, Some(Phase::Before)] {
            assert_eq!(asked(Copilot, &event, phase), wanted, "{event}");
        }
        assert!(
            step(Copilot, &event, Some(Phase::After)).is_err(),
            "{event}"
        );
    }
}

#[test]
fn an_event_that_is_not_known_is_refused() {
    let copilot = json!({ "sessionId": "s", "toolName": "bash", "toolArgs": "{}" });
    let with = |name: &str, value: Value| {
        let mut event = copilot.clone();
        event[name] = value;
        (Copilot, event)
    };
    let mut events = vec![
        with("toolResult", Value::Null),
        with("toolResult", json!("done")),
        with("toolResult", json!([])),
        with("tool_result", json!(1)),
        with("hook_event_name", json!("pretooluse")),
        with("hook_event_name", json!("userPromptSubmitted")),
        with("tool_name", json!("view")),
        (
            Copilot,
            json!({ "sessionId": "s", "name": "bash", "toolArgs": "{}" }),
        ),
        (
            Copilot,
            json!({ "sessionId": "s", "toolName": "bash", "toolArgs": "ls" }),
        ),
        (Copilot, json!({})),
        (
            Cursor,
            json!({ "conversation_id": "c", "hook_event_name": "pre_tool_use", "tool_name": "Write",
            "tool_input": {} }),
        ),
        (
            Cursor,
            json!({ "hook_event_name": "preToolUse", "tool_name": "Write", "tool_input": {} }),
        ),
        (
            Cursor,
            json!({ "conversation_id": "c", "hook_event_name": "beforeReadFile", "file_path": "/w/.env" }),
        ),
        (
            OpenCode,
            json!({ "event": "tool.execute", "tool": "bash", "sessionID": "s", "args": {} }),
        ),
        (Gemini, claude("PreToolUse")),
        (Codex, claude("BeforeTool")),
    ];
    for name in [
        "PreToolUse ",
        "pretooluse",
        "PRETOOLUSE",
        "preToolUse",
        "BeforeTool",
        "Notification",
        "",
    ] {
        events.push((ClaudeCode, claude(name)));
        events.push((Codex, claude(name)));
    }
    let mut nameless = claude("");
    nameless.as_object_mut().unwrap().remove("hook_event_name");
    events.push((ClaudeCode, nameless));
    for (program, event) in events {
        for phase in [None, Some(Phase::Before)] {
            assert!(step(program, &event, phase).is_err(), "{program:?} {event}");
        }
    }
}

#[test]
fn an_entry_takes_only_the_events_that_it_is_for() {
    use Phase::{After, Before, End};
    let post = json!({ "sessionId": "s", "toolName": "bash", "toolArgs": "{}", "toolResult": {} });
    let shell = json!({ "conversation_id": "c", "hook_event_name": "beforeShellExecution", "command": "ls" });
    for (program, event, before) in [
        (ClaudeCode, claude("PreToolUse"), true),
        (ClaudeCode, claude("PermissionRequest"), true),
        (ClaudeCode, claude("PostToolUse"), false),
        (ClaudeCode, claude("PostToolUseFailure"), false),
        (ClaudeCode, claude("SessionEnd"), false),
        (Codex, claude("PreToolUse"), true),
        (Codex, claude("PostToolUse"), false),
        (Gemini, claude("BeforeTool"), true),
        (Gemini, claude("AfterTool"), false),
        (Copilot, post, false),
        (Cursor, shell, true),
        (
            OpenCode,
            json!({ "event": "tool.execute.after", "tool": "bash", "sessionID": "s" }),
            false,
        ),
    ] {
        assert!(step(program, &event, None).is_ok(), "{event}");
        assert_eq!(
            step(program, &event, Some(Before)).is_ok(),
            before,
            "{event}"
        );
        for phase in [After, End] {
            assert_eq!(
                step(program, &event, Some(phase)).is_ok(),
                !before,
                "{event}"
            );
        }
    }
    for phase in [After, End] {
        let known = step(ClaudeCode, &claude("Notification"), Some(phase));
        assert!(matches!(known, Ok(Step::Other)));
    }
}

#[test]
fn cursor_names_its_tools_the_same_in_old_and_new_events() {
    let old = json!({ "conversation_id": "c", "hook_event_name": "beforeMCPExecution", "tool_name": "Read",
        "tool_input": "{\"a\": 1}", "url": "https://docs.example" });
    let new = json!({ "conversation_id": "c", "hook_event_name": "preToolUse", "tool_name": "MCP:Read",
        "tool_input": { "a": 1 } });
    let wanted = Some(("MCP:Read".to_owned(), json!({ "a": 1 })));
    assert_eq!(asked(Cursor, &old, None), wanted);
    assert_eq!(asked(Cursor, &new, None), wanted);
    let edit = json!({ "conversation_id": "c", "hook_event_name": "preToolUse", "tool_name": "Write",
        "tool_input": { "file_path": "/w/.git/hooks/pre-commit", "content": "x" } });
    assert_eq!(asked(Cursor, &edit, None).unwrap().0, "Write");
}
