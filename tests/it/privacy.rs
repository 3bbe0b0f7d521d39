//! What others on the machine, and whoever reads the log, get to see.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::desk::{Agent, Console, Desk, ended, eventually};

const SECRET: &str = "account-4711-of-somebody";

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

#[tokio::test]
async fn no_log_level_prints_arguments() {
    for level in [
        "trace",
        "async_nats=trace,sqlx=trace",
        "async_nats::connection=trace,debug",
    ] {
        let desk = Desk::new().with("RUST_LOG", level);
        let console = Console::start(&desk);
        let arguments = format!(r#"{{"to":"{SECRET}"}}"#);
        let ask = ["ask", "--tool", "t", "--args", &arguments, "--json"];
        let child = desk.start(&ask, Stdio::null());
        let line = eventually(|| {
            let listed = desk.run(&["inbox", "--json"]);
            listed.lines().pop().ok_or(listed.code)
        });
        let id = line["request_id"].as_str().unwrap();
        let edited = format!(r#"{{"to":"{SECRET}","copies":1}}"#);
        let approved = desk
            .run_with(&edited, &["approve", id, "--args", "-"])
            .success();
        let asked = ended(child.wait_with_output().unwrap()).success();
        assert!(asked.out.contains(SECRET));
        let shown = desk.run(&["show", id]).success();
        assert!(shown.out.contains(SECRET));
        console.stop(Signal::SIGTERM);
        let log = std::fs::read_to_string(desk.path().join("serve.log")).unwrap();
        for text in [&log, &approved.err, &asked.err, &shown.err] {
            assert!(!text.contains(SECRET), "{level}: {text}");
        }
        // The setting took hold: without it nothing of this library is logged.
        assert!(log.contains("async_nats"), "{level}: {log}");
    }
}

#[tokio::test]
async fn every_file_is_private_in_a_folder_that_all_may_read() {
    let desk = Desk::new();
    std::fs::set_permissions(desk.path(), Permissions::from_mode(0o755)).unwrap();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1").args(json!([SECRET]))).await;
    desk.show_in_state("r1", "pending");
    desk.run(&["approve", "r1"]).success();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&desk.path().join("countersign.db")), 0o600);
    console.stop(Signal::SIGTERM);
    let found = files(desk.path());
    assert!(
        found
            .iter()
            .any(|file| file.starts_with(desk.path().join("nats")))
    );
    // The test itself writes the log.
    for file in found.iter().filter(|file| !file.ends_with("serve.log")) {
        assert_eq!(mode(file) & 0o077, 0, "{}", file.display());
    }
}
