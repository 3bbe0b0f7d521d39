//! One run of the program itself, with the user's own login: it is made to create a file, and that call is denied.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::DecideCommand;
use countersign_core::store::request_list::Filter;
use countersign_hooks::{Program, Proof};
use countersign_wire::Verdict;
use tokio::process::Command;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::super::config::Settings;
use super::super::console::deciding_here;
use super::super::failure::Failure;
use super::super::output::Output as Out;

/// A model may think, and try again.
const AT_MOST: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(200);

/// The marker must not exist in the end.
pub(super) async fn run(settings: &Settings, out: Out, program: Program) -> Result<Proof, Failure> {
    let (name, words) = words(program);
    out.caution(&format!(
        "starts {name} once, with your own login for its model, and denies the call that it is asked to make"
    ));
    let failed = |error: io::Error| Failure::environment(error.to_string());
    let folder = tempfile::tempdir().map_err(failed)?;
    let marker = format!("countersign-probe-{}", Uuid::new_v4().simple());
    let prompt = format!(
        "Run this shell command once and nothing else: touch {marker}\nThen stop, whatever the result."
    );
    let mut command = Command::new(name);
    command
        .args(words)
        .arg(prompt)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    deciding_here(settings, async |app| {
        let mut denied = 0;
        let ended = tokio::select! {
            ended = timeout(AT_MOST, command.output()) => ended.ok(),
            () = deny_every(app, &marker, &mut denied) => None,
        };
        let ran = folder.path().join(&marker).exists();
        Ok(proof_of(name, ran, denied, ended))
    })
    .await
}

/// The program's own permissions let the call through: only the gate is tried.
fn words(program: Program) -> (&'static str, &'static [&'static str]) {
    match program {
        Program::ClaudeCode => ("claude", &["--allowedTools=Bash", "-p"]),
        Program::Codex => (
            "codex",
            &[
                "exec",
                "--skip-git-repo-check",
                "--sandbox",
                "workspace-write",
            ],
        ),
        Program::Gemini => ("gemini", &["--yolo", "-p"]),
        Program::Cursor => ("cursor-agent", &["--force", "-p"]),
        Program::Copilot => ("copilot", &["--allow-all-tools", "-p"]),
        Program::OpenCode => ("opencode", &["run"]),
    }
}

/// Denies what names the marker, until it is dropped. A denial that comes too late shows in the marker.
async fn deny_every(app: &App, marker: &str, denied: &mut u32) {
    loop {
        let waiting = app.inbox(&Filter::default()).await.unwrap_or_default();
        for row in waiting {
            let id = format!("{}/{}/{}", row.ws, row.agent, row.request_id);
            let raw = app.find(&id).await.map(|row| row.raw).unwrap_or_default();
            let names_it = String::from_utf8_lossy(&raw).contains(marker);
            if let (true, Ok(key)) = (names_it, app.resolve(&id).await) {
                let command = DecideCommand {
                    message: Some("probe".to_owned()),
                    ..DecideCommand::by_operator(key, Verdict::Deny)
                };
                *denied += u32::from(app.decide(command).await.is_ok());
            }
        }
        sleep(LOOK).await;
    }
}

fn proof_of(name: &str, ran: bool, denied: u32, ended: Option<io::Result<Output>>) -> Proof {
    let fix = "check that it runs by hand, then try again";
    match (ran, denied, ended) {
        (true, ..) => Proof::open(
            "allow",
            format!("{name} ran the call"),
            "run the same without --run to see why",
        ),
        (false, 1.., _) => Proof::held("deny", None),
        (_, _, Some(Err(error))) => {
            Proof::open("error", format!("{name} does not start: {error}"), fix)
        }
        (_, _, Some(Ok(output))) => {
            let words = String::from_utf8_lossy(&output.stderr);
            let last = words.lines().last().unwrap_or("it said nothing");
            Proof::open("error", format!("{name} made no call: {last}"), fix)
        }
        (_, _, None) => Proof::open("error", format!("{name} did not end"), fix),
    }
}
