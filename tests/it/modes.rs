//! What the program makes is its owner's alone, whatever the shell's umask.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Agent, Desk, Running, ended_in_time, eventually};

/// Everything below a folder, and the folder.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(all(&path)),
            false => found.push(path),
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// What is not 0700 for a folder or 0600 for a file.
fn open_to_others(paths: &[PathBuf]) -> Vec<String> {
    let wrong = |path: &&PathBuf| {
        // A socket is neither, and listens for its owner alone like a file.
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        mode(path) != wanted
    };
    let named = |path: &PathBuf| format!("{:o} {}", mode(path), path.display());
    paths.iter().filter(wrong).map(named).collect()
}

/// The program as a shell starts it that lets everybody read and write what it makes.
fn careless(desk: &Desk, data: &Path, arguments: &[&str]) -> Command {
    after("umask 000", desk, data, arguments)
}

/// The program as a shell starts it that has done something before.
fn after(first: &str, desk: &Desk, data: &Path, arguments: &[&str]) -> Command {
    let ours = desk.command(arguments);
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{first}; exec \"$0\" \"$@\""))
        .arg(ours.get_program())
        .args(arguments);
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env("COUNTERSIGN_DATA_DIR", data)
        .stdin(Stdio::null());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_and_folder_is_its_owners_alone_under_the_loosest_umask() {
    let desk = Desk::new();
    let data = desk.path().join("made/by/the-program");
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    let run = |arguments: &[&str]| {
        let ended = ended_in_time(careless(&desk, &data, arguments));
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
        ended
    };
    let mut serve = careless(&desk, &data, &["serve"]);
    let mut serve = Running(
        serve
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(serve.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let agent = Agent::connect(ready["agent_json"].as_str().unwrap()).await;
    agent.ask(&agent.request("r1").args(json!(["x"]))).await;
    eventually(|| {
        let ended = ended_in_time(careless(&desk, &data, &["approve", "r1"]));
        (ended.code == 0).then_some(()).ok_or(ended)
    });
    run(&["enroll", "default/other"]);
    let outside = desk.path().join("made/elsewhere");
    let out = outside.display().to_string();
    run(&["enroll", "default/third", "--out", &out]);
    let backup = outside.join("copy.db").display().to_string();
    run(&["backup", &backup, "--include-keys"]);
    run(&[
        "audit",
        "export",
        "--out",
        &outside.join("bundle").display().to_string(),
    ]);
    let running = all(&data);
    for name in [
        "countersign.db",
        "countersign.db-wal",
        "countersign.db-shm",
        "runtime.json",
        "console.lock",
    ] {
        assert!(
            running.iter().any(|path| path.ends_with(name)),
            "{name} is not in {running:?}"
        );
    }
    assert!(
        running.iter().any(|path| path.ends_with("nats/jetstream")),
        "{running:?}"
    );
    assert_eq!(
        open_to_others(&running),
        Vec::<String>::new(),
        "while it runs"
    );
    serve.signal(Signal::SIGTERM);
    assert_eq!(serve.wait(), Some(0));
    run(&["restore", &backup, "--replace"]);
    assert_eq!(
        open_to_others(&all(&data)),
        Vec::<String>::new(),
        "after it"
    );
    assert_eq!(
        open_to_others(&all(&outside)),
        Vec::<String>::new(),
        "elsewhere"
    );
}

#[test]
fn a_console_may_open_as_many_files_as_its_system_lets_it() {
    let desk = Desk::new();
    let mut serve = after("ulimit -Sn 256", &desk, desk.path(), &["serve"]);
    let serve = serve.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut serve = Running(serve.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(serve.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", serve.0.id())).unwrap();
    let files = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let mut files = files.unwrap().split_whitespace().map(|word| match word {
        "unlimited" => u64::MAX,
        number => number.parse().unwrap(),
    });
    let (soft, hard) = (files.next().unwrap(), files.next().unwrap());
    assert_eq!(soft, hard.min(65_536));
}
