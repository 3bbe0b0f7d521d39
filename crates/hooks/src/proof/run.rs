//! One run of a configured hook, started as the program starts it.

use std::env;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use countersign_sdk::PROBE;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use uuid::Uuid;

use super::configured::Configured;
use crate::program::Program;

/// A console denies a probe at once; a hook that takes longer waits for a console.
const LONG_ENOUGH: Duration = Duration::from_secs(20);

/// How it ended.
pub(super) enum Ended {
    /// None: by a signal.
    Exited {
        code: Option<i32>,
        out: String,
        err: String,
    },
    /// The program's time ran out.
    TimedOut,
    /// Ours did.
    Waits,
    NotStarted(String),
}

/// A call that hooks are asked about: the tool, and its arguments.
pub(super) type Sample = (String, Value);

pub(super) fn probe() -> Sample {
    (PROBE.to_owned(), json!({}))
}

pub(super) async fn run(
    program: Program,
    hook: &Configured,
    folder: &Path,
    sample: &Sample,
) -> Ended {
    let mut command = Command::new(shell(program));
    let flag = if program == Program::Codex {
        "-lc"
    } else {
        "-c"
    };
    command
        .args([flag, &hook.command])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let variable = match program {
        Program::Gemini => "GEMINI_PROJECT_DIR",
        _ => "CLAUDE_PROJECT_DIR",
    };
    command.env(variable, folder);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NotStarted(error.to_string()),
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    let limit = hook.timeout.min(LONG_ENOUGH);
    let event = event(program, hook.event, folder, sample).to_string();
    match timeout(limit, finished(&mut child, event)).await {
        Ok(ended) => ended,
        Err(_) => {
            // The shell's children, too; they may be gone.
            if let Some(group) = group {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            match hook.timeout <= LONG_ENOUGH {
                true => Ended::TimedOut,
                false => Ended::Waits,
            }
        }
    }
}

async fn finished(child: &mut Child, event: String) -> Ended {
    use tokio::io::AsyncReadExt as _;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let written = async {
        if let Some(mut stdin) = child.stdin.take() {
            // A hook that reads nothing has still an exit code.
            let _ = stdin.write_all(event.as_bytes()).await;
        }
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read_out = async {
        if let Some(mut stdout) = stdout {
            let _ = stdout.read_to_end(&mut out).await;
        }
    };
    let read_err = async {
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_end(&mut err).await;
        }
    };
    tokio::join!(written, read_out, read_err);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match child.wait().await {
        Ok(status) => Ended::Exited {
            code: status.code(),
            out: text(&out),
            err: text(&err),
        },
        Err(error) => Ended::NotStarted(error.to_string()),
    }
}

/// The user's shell where the program takes that.
fn shell(program: Program) -> String {
    let own = env::var("SHELL").unwrap_or_default();
    let known = ["sh", "bash", "zsh"].iter().any(|&name| {
        let file = own.rsplit('/').next();
        file == Some(name)
    });
    match program {
        Program::ClaudeCode | Program::Codex if known => own,
        Program::Gemini => "bash".to_owned(),
        _ => "/bin/sh".to_owned(),
    }
}

fn event(program: Program, name: &str, folder: &Path, (tool, args): &Sample) -> Value {
    let id = Uuid::new_v4().to_string();
    let cwd = folder.display().to_string();
    match program {
        Program::ClaudeCode | Program::Codex | Program::Gemini => json!({
            "session_id": id, "transcript_path": "", "cwd": cwd,
            "hook_event_name": name,
            "tool_name": tool, "tool_input": args, "tool_use_id": id,
        }),
        Program::Cursor => {
            let mut event = json!({
                "conversation_id": id, "generation_id": id, "hook_event_name": name,
                "workspace_roots": [cwd], "cwd": cwd,
            });
            let fields = match (name, args.get("command")) {
                ("preToolUse", _) => {
                    json!({ "tool_name": tool, "tool_input": args, "tool_use_id": id })
                }
                ("beforeShellExecution", Some(command)) => json!({ "command": command }),
                _ => json!({
                    "hook_event_name": "beforeMCPExecution",
                    "tool_name": tool, "tool_input": args.to_string(),
                }),
            };
            if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
                event.extend(fields);
            }
            event
        }
        Program::Copilot => json!({
            "sessionId": id, "cwd": cwd, "toolName": tool, "toolArgs": args.to_string(),
        }),
        Program::OpenCode => json!({
            "event": "tool.execute.before", "sessionID": id, "callID": id,
            "directory": cwd, "tool": tool, "args": args,
        }),
    }
}
