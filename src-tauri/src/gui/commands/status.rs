//! The console's status, the time, and how to connect an agent.

use std::path::Path;

use countersign_core::domain::Timestamp;
use countersign_core::ops::pace::NEWEST;
use countersign_view::{
    ConnectCommand, ConnectHint, IpcError, Nothing, ServerTime, StatusView, TodayArgs, TodayView,
};

use crate::gui::desk::Desk;
use crate::gui::view::status_view;
use countersign_view::window::fault;

pub(crate) async fn status(desk: &Desk, _: Nothing) -> Result<StatusView, IpcError> {
    let status = desk.app.status().await.map_err(fault)?;
    Ok(status_view(&desk.app, status, desk.locked.borrow().is_on()))
}

pub(crate) async fn today(desk: &Desk, args: TodayArgs) -> Result<TodayView, IpcError> {
    let since = Timestamp(args.since_ms);
    let pace = desk.app.peoples_pace(since).await.map_err(fault)?;
    Ok(TodayView {
        decided: pace.decided,
        waiting_ms: pace.waiting_ms,
        front_ms: pace.front_ms,
        newest: NEWEST,
    })
}

pub(crate) async fn server_time(desk: &Desk, _: Nothing) -> Result<ServerTime, IpcError> {
    Ok(ServerTime {
        server_ms: desk.app.now().0,
    })
}

pub(crate) async fn connect_hint(desk: &Desk, _: Nothing) -> Result<ConnectHint, IpcError> {
    let bus = desk
        .app
        .bus()
        .map(|bus| bus.state().borrow().url_without_secrets.clone());
    let program =
        std::env::current_exe().map_or_else(|_| "countersign".to_owned(), |exe| quoted(&exe));
    let folder = quoted(desk.app.data().path());
    let workspace = desk.app.options().workspace.to_string();
    let run = format!("{program} --data-dir {folder}");
    let mut commands: Vec<_> = [
        (
            "Put Countersign in front of Claude Code",
            "connect claude-code",
        ),
        (
            "Put it in front of the servers of an MCP client",
            "connect mcp --file .mcp.json",
        ),
        (
            "Ask once from a shell, and wait for the answer",
            "ask --tool send_email --args '{\"to\":\"maria@acme.example\"}' --risk medium",
        ),
    ]
    .map(|(label, words)| ConnectCommand {
        label: label.to_owned(),
        command: format!("{run} {words}"),
    })
    .into();
    if let Some(path) = &desk.agent_json {
        commands.push(ConnectCommand {
            label: "Ask from Python, with sdk/python of the source installed".to_owned(),
            command: python(path),
        });
    }
    commands.push(ConnectCommand {
        label: "Give an agent its own credentials (writes agent.json)".to_owned(),
        command: format!("{run} enroll {workspace}/my-agent"),
    });
    Ok(ConnectHint {
        nats_url: bus.unwrap_or_else(|| "not connected".to_owned()),
        agent_json: desk
            .agent_json
            .as_deref()
            .map(|path| path.display().to_string()),
        program: run,
        commands,
    })
}

/// A whole agent.
fn python(agent_json: &Path) -> String {
    let path = serde_json::Value::from(agent_json.display().to_string());
    format!(
        r#"from countersign import SyncGate, ToolCall

with SyncGate({path}) as gate:
    call = ToolCall(name="send_email", args={{"to": "maria@acme.example"}}, risk="medium")
    decision = gate.ask(call, timeout=900)
    if decision.allowed:
        print("sending to", decision.args["to"])
        gate.receipt(decision, "executed", executed_args_digest=decision.args_digest)"#
    )
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        let table = [
            ("/opt/countersign", "/opt/countersign"),
            ("/home/m/my data", "'/home/m/my data'"),
            ("/home/o'neil", "'/home/o'\\''neil'"),
        ];
        for (path, word) in table {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }
}
