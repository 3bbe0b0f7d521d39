//! The log and the errors of the real program, at their most talkative, contain no secret.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, ended, ended_in_time, eventually};

const PASSWORD: &str = "pw-of-ada-4711";
const ARGUMENT: &str = "account-4711-of-somebody";

/// Every key and enrolment that a console has made, as the seeds in them.
fn seeds(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric());
                found.extend(
                    words
                        .filter(|word| word.len() == 58 && word.starts_with('S'))
                        .map(str::to_owned),
                );
            }
        }
    }
    found
}

fn tells_none(text: &str, secrets: &[String], what: &str) {
    for secret in secrets {
        assert!(
            !text.contains(secret.as_str()),
            "{what} tells {secret}: {text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_and_an_agent_at_work_tell_no_seed_and_no_argument() {
    let desk = Desk::new().with("RUST_LOG", "trace");
    let console = Console::start(&desk);
    desk.run(&["enroll", "default/other"]).success();
    let agent = Agent::connect(console.agent_json()).await;
    agent
        .ask(&agent.request("r1").args(json!([ARGUMENT])))
        .await;
    // Rejected bytes are kept, and reported by their code alone.
    let broken = format!("{{\"v\": 1, \"{ARGUMENT}\": \"{ARGUMENT}\"");
    agent.publish("request", "r2", broken.clone()).await;
    let subject = |word: &str| format!("countersign.v1.{word}.default.local.r1");
    for word in ["receipt", "withdraw", "tighten"] {
        // What the bus says of it does not matter here.
        let announced = agent.client.request(subject(word), broken.clone().into());
        let _ = announced.await;
    }
    desk.show_in_state("r2", "rejected");
    let args = json!({ "to": ARGUMENT }).to_string();
    let ask = desk.start(
        &["ask", "--tool", "t", "--args", &args, "--explain", ARGUMENT],
        Stdio::null(),
    );
    let line: Value = eventually(|| {
        let listed = desk.run(&["inbox", "--json"]).lines();
        let asked = listed.into_iter().find(|line| line["tool"] == "t");
        asked.ok_or("not asked yet")
    });
    let id = line["request_id"].as_str().unwrap();
    let denied = desk.run(&["deny", id, "--message", "no"]);
    let asked = ended(ask.wait_with_output().unwrap());
    console.stop(Signal::SIGTERM);
    let log = fs::read_to_string(desk.path().join("serve.log")).unwrap();
    let mut secrets = seeds(&desk.path().join("keys"));
    secrets.extend(seeds(&desk.path().join("agents")));
    assert!(secrets.len() >= 5, "{secrets:?}");
    secrets.push(ARGUMENT.to_owned());
    for (what, text) in [("serve", &log), ("ask", &asked.err), ("deny", &denied.err)] {
        tells_none(text, &secrets, what);
    }
    // The setting took hold: without it nothing of this library is logged.
    assert!(log.contains("async_nats"), "{log}");
}

/// A file in a folder of its own, with these bytes.
fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A command in a data folder of its own that must fail.
fn fails(
    desk: &Desk,
    number: usize,
    arguments: &[&str],
    settings: &[(&str, &str)],
    config: Option<&str>,
) -> String {
    let folder = desk.path().join(format!("data-{number}"));
    fs::create_dir(&folder).unwrap();
    if let Some(config) = config {
        fs::write(folder.join("config.toml"), config).unwrap();
    }
    let mut command: Command = desk.command(arguments);
    command
        .env("COUNTERSIGN_DATA_DIR", &folder)
        .env("RUST_LOG", "trace")
        .envs(settings.iter().copied());
    let ended = ended_in_time(command);
    assert_ne!(ended.code, 0, "{arguments:?}: {ended:?}");
    let announced = format!("{}{}", ended.out, ended.err);
    assert!(!announced.trim().is_empty(), "{arguments:?}");
    announced
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_fails_tells_no_password_and_no_seed() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let address = console.url().trim_start_matches("nats://").to_owned();
    let seed = KeyPair::new_user().seed().unwrap();
    let other = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| file(other.path(), name, text).display().to_string();
    let nkey = at("refused.nk", &seed);
    let garbage = at("garbage.nk", &format!("{}X\n{PASSWORD}", &seed[..57]));
    let creds = at(
        "garbage.creds",
        &format!(
            "-----BEGIN NATS USER JWT-----\n{PASSWORD}\n------END\n-----BEGIN USER NKEY SEED-----\n{seed}\n"
        ),
    );
    let agent = at(
        "agent.json",
        &format!("{{\"nkey_seed\": \"{seed}\", \"nats_url\": \"nats://ada:{PASSWORD}@h\" \"x\"}}"),
    );
    let odd = at("odd.json", &json!({"nkey_seed": seed, "nats_url": format!("nats://ada:{PASSWORD}@h"), "workspace": PASSWORD}).to_string());
    let urls = [
        format!("nats://ada:{PASSWORD}@{address}"),
        format!("nats://ada:{PASSWORD}@127.0.0.1:1"),
        format!("nats://ada:{PASSWORD}@no-such-host.invalid:4222"),
        format!("nats://ada:{PASSWORD}@{address}:99999"),
        format!("nats://ada:{PASSWORD}/x#y@{address}"),
        format!("nats://ada:{PASSWORD}@[::1"),
        format!("http://ada:{PASSWORD}@{address}"),
        format!("ada:{PASSWORD}@{address}"),
        format!("nats://ada:{PASSWORD} x@{address}"),
        format!("nats://{PASSWORD}@{address}"),
        format!("tls://ada:{PASSWORD}@{address}"),
    ];
    let mut secrets = vec![PASSWORD.to_owned(), seed[..57].to_owned()];
    secrets.extend(seeds(&desk.path().join("keys")));
    let mut number = 0;
    let mut look = |arguments: &[&str], settings: &[(&str, &str)], config: Option<&str>| {
        number += 1;
        let text = fails(&desk, number, arguments, settings, config);
        tells_none(
            &text,
            &secrets,
            &format!("{arguments:?} {settings:?} {config:?}"),
        );
    };
    for url in &urls {
        look(&["serve"], &[("COUNTERSIGN_NATS_URL", url)], None);
        look(&["serve", "--nats-url", url], &[], None);
        look(
            &["doctor", "--json"],
            &[("COUNTERSIGN_NATS_URL", url)],
            None,
        );
        let line = format!("nats_url = {}\n", json!(url));
        look(&["serve"], &[], Some(&line));
        look(
            &["serve"],
            &[],
            Some(&format!("nats_url = \"{url}\" oops\n")),
        );
        look(
            &["serve"],
            &[],
            Some(&format!("nats_ur1 = {}\n", json!(url))),
        );
    }
    let url = format!("nats://{address}");
    for arguments in [
        &["serve", "--nats-url", &url, "--nats-nkey", &nkey][..],
        &["serve", "--nats-url", &url, "--nats-nkey", &garbage],
        &["serve", "--nats-url", &url, "--nats-creds", &creds],
        &["serve", "--nats-url", &url, "--nats-creds", &nkey],
        &["serve", "--nats-url", &url, "--nats-nkey", &seed],
        &["ask", "--tool", "t", "--agent-json", &agent],
        &["ask", "--tool", "t", "--agent-json", &odd],
        &["doctor", "--agent-json", &odd],
    ] {
        look(arguments, &[], None);
    }
    // A key of the console itself that somebody has damaged.
    let folder = desk.path().join("damaged");
    fs::create_dir_all(folder.join("keys")).unwrap();
    fs::write(folder.join("keys/human.nk"), format!("{}X", &seed[..57])).unwrap();
    let mut command = desk.command(&["serve"]);
    command
        .env("COUNTERSIGN_DATA_DIR", &folder)
        .env("RUST_LOG", "trace");
    let ended = ended_in_time(command);
    assert_ne!(ended.code, 0);
    tells_none(&ended.err, &secrets, "a damaged key");
}
