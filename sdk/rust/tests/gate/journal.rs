//! Asks that survive their process (integrations, section 2), sentence by sentence.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use countersign_sdk::wire::{ApprovalRequest, Enrolment, Risk, Stage};
use countersign_sdk::{Ask, Decision, DecisionVerdict, Gate, GateError};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::console::{Console, LIMIT, Seen, delete_invoice};

const KEY: &str = "thread/call-1";

struct Desk {
    console: Console,
    folder: TempDir,
    seen: HashSet<String>,
}

impl Desk {
    async fn start() -> Self {
        let console = Console::start().await;
        let folder = tempfile::tempdir().unwrap();
        Self {
            console,
            folder,
            seen: HashSet::new(),
        }
    }

    /// The next that was not seen before: one that is waited for again is published again.
    async fn next_request(&mut self) -> Seen {
        loop {
            let seen = self.console.next_request().await;
            if self.seen.insert(seen.key.to_string()) {
                return seen;
            }
        }
    }

    fn pending(&self) -> PathBuf {
        self.folder.path().join("pending")
    }

    /// As one process after another opens it.
    async fn gate(&self) -> Gate {
        let builder = self.console.builder().journal(self.pending());
        builder.connect().await.unwrap()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.pending()).unwrap();
        files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().unwrap() == "json")
            .collect()
    }

    fn alter(&self, change: impl FnOnce(&mut Value)) {
        let path = &self.entries()[0];
        let mut entry = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        change(&mut entry);
        std::fs::write(path, entry.to_string()).unwrap();
    }

    /// Asks, and gives up while it waits.
    async fn left_waiting(&mut self, ask: Ask) -> Seen {
        let gate = self.gate().await;
        let asking = tokio::spawn(gate.ask(ask));
        let seen = self.next_request().await;
        asking.abort();
        let _ = asking.await;
        seen
    }

    /// The answer to the same call under the same key, in another life of the agent.
    async fn asked_again(&self) -> Result<Decision, GateError> {
        timeout(LIMIT, self.gate().await.ask(pay())).await.unwrap()
    }

    /// Requests and withdrawals that the bus holds.
    async fn messages(&self) -> u64 {
        let jetstream = async_nats::jetstream::new(self.console.client.clone());
        let stream = jetstream.get_stream("CS_REQUESTS").await.unwrap();
        stream.cached_info().state.messages
    }
}

fn pay() -> Ask {
    delete_invoice().key(KEY)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_folder_and_its_files_are_for_their_owner_alone() {
    let mut desk = Desk::start().await;
    desk.left_waiting(pay()).await;
    assert_eq!(mode(&desk.pending()), 0o700);
    for file in std::fs::read_dir(desk.pending()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[tokio::test]
async fn an_ask_that_ends_leaves_its_request_and_the_next_takes_its_answer_once() {
    let mut desk = Desk::start().await;
    for ending in ["abort", "close"] {
        let gate = desk.gate().await;
        let asking = tokio::spawn(gate.ask(pay()));
        let seen = desk.next_request().await;
        match ending {
            "abort" => asking.abort(),
            _ => assert!(gate.close().await),
        }
        let _ = asking.await;
        desk.console.approve(&seen).await;
        let decision = desk.asked_again().await.unwrap();
        assert!(decision.allowed());
        assert_eq!(decision.request(), &seen.key, "{ending}");
        assert_eq!(desk.entries(), Vec::<PathBuf>::new());
    }
    assert_eq!(
        desk.messages().await,
        2,
        "nothing is published twice under another id"
    );
    // Handed out once: the third ask is a new request.
    desk.left_waiting(pay()).await;
    assert_eq!(desk.messages().await, 3);
}

#[tokio::test]
async fn the_file_is_written_before_the_request_leaves_and_lost_bytes_are_published_again() {
    let mut desk = Desk::start().await;
    let seen = desk.left_waiting(pay()).await;
    let kept: Value = serde_json::from_slice(&std::fs::read(&desk.entries()[0]).unwrap()).unwrap();
    assert_eq!(kept["payload"].as_str().unwrap().as_bytes(), seen.payload);
    let jetstream = async_nats::jetstream::new(desk.console.client.clone());
    let stream = jetstream.get_stream("CS_REQUESTS").await.unwrap();
    stream.purge().await.unwrap();
    let gate = desk.gate().await;
    let asking = tokio::spawn(gate.ask(pay()));
    let again = desk.console.next_request().await;
    assert_eq!(again.payload, seen.payload);
    desk.console.approve(&again).await;
    assert!(asking.await.unwrap().unwrap().allowed());
}

#[tokio::test]
async fn an_entry_that_cannot_be_marked_or_written_lets_nothing_run() {
    let mut desk = Desk::start().await;
    let gate = desk.gate().await;
    let asking = tokio::spawn(gate.ask(pay()));
    let seen = desk.next_request().await;
    let entry = desk.entries().remove(0);
    std::fs::remove_file(&entry).unwrap();
    std::fs::create_dir(&entry).unwrap();
    desk.console.approve(&seen).await;
    assert_eq!(asking.await.unwrap().unwrap_err().code(), "journal");
    assert_eq!(gate.ask(pay()).await.unwrap_err().code(), "journal");
    assert_eq!(desk.messages().await, 1, "nobody was asked again");
}

#[tokio::test]
async fn the_same_key_for_another_call_withdraws_the_former_request() {
    let mut desk = Desk::start().await;
    let seen = desk.left_waiting(pay()).await;
    for other in [
        Ask::tool("delete_invoice", json!({ "invoice_id": "INV-43" })),
        Ask::tool("delete_order", json!({ "invoice_id": "INV-42" })),
    ] {
        let former = desk.left_waiting(other.key(KEY).timeout(LIMIT)).await;
        assert_ne!(former.key, seen.key);
    }
    let subject = countersign_sdk::wire::withdraw_subject(&seen.key);
    desk.console.stored("CS_REQUESTS", &subject, 1).await;
}

#[tokio::test]
async fn a_name_that_is_no_slug_goes_with_its_original() {
    let mut desk = Desk::start().await;
    for (native, expected) in [
        (json!({}), json!({"tool_name": "pay invoice"})),
        (
            json!({"cwd": "/"}),
            json!({"cwd": "/", "tool_name": "pay invoice"}),
        ),
    ] {
        let native = native.as_object().unwrap().clone();
        let ask = Ask::tool("pay invoice", json!({})).native(native);
        let seen = desk.left_waiting(ask.timeout(LIMIT)).await;
        let body: Value = serde_json::from_slice(&seen.payload).unwrap();
        assert_eq!(body["tool"]["name"], "pay-invoice-674e58b8");
        assert_eq!(body["native"], expected);
    }
}

#[tokio::test]
async fn a_higher_risk_is_a_new_request_and_a_lower_one_waits_for_the_same() {
    let mut desk = Desk::start().await;
    let low = desk.left_waiting(pay().risk(Risk::Low)).await;
    let high = desk.left_waiting(pay().risk(Risk::High)).await;
    assert_ne!(low.key, high.key);
    let subject = countersign_sdk::wire::withdraw_subject(&low.key);
    desk.console.stored("CS_REQUESTS", &subject, 1).await;
    for risk in [Risk::High, Risk::Medium, Risk::Safe] {
        let gate = desk.gate().await;
        let asking = tokio::spawn(gate.ask(pay().risk(risk)));
        sleep(Duration::from_millis(200)).await;
        asking.abort();
        let _ = asking.await;
    }
    let critical = desk.left_waiting(pay().risk(Risk::Critical)).await;
    assert_ne!(high.key, critical.key);
    // Three requests and two withdrawals.
    assert_eq!(desk.messages().await, 5);
}

#[tokio::test]
async fn one_that_waits_is_not_asked_a_second_time() {
    let mut desk = Desk::start().await;
    let gate = desk.gate().await;
    let asking = tokio::spawn(gate.ask(pay()));
    let seen = desk.next_request().await;
    for second in [gate, desk.gate().await] {
        assert_eq!(
            second.ask(pay()).await.unwrap_err().code(),
            "already_waiting"
        );
    }
    desk.console.approve(&seen).await;
    assert!(asking.await.unwrap().unwrap().allowed());
    let lost: Vec<_> = std::fs::read_dir(desk.pending()).unwrap().collect();
    assert!(lost.is_empty(), "neither entry nor lock is left: {lost:?}");
}

#[tokio::test]
async fn cancelling_takes_a_kept_request_back() {
    let mut desk = Desk::start().await;
    let gate = desk.gate().await;
    let asking = gate.ask(pay());
    let handle = asking.handle();
    let asking = tokio::spawn(asking);
    let seen = desk.next_request().await;
    handle.cancel("no longer");
    assert_eq!(
        asking.await.unwrap().unwrap().verdict(),
        &DecisionVerdict::Withdrawn
    );
    let subject = countersign_sdk::wire::withdraw_subject(&seen.key);
    desk.console.stored("CS_REQUESTS", &subject, 1).await;
    assert_eq!(desk.entries(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn the_timer_goes_on_and_an_approval_after_it_is_refused_as_late() {
    let mut desk = Desk::start().await;
    let seen = desk
        .left_waiting(pay().timeout(Duration::from_millis(700)))
        .await;
    sleep(Duration::from_millis(800)).await;
    desk.console.approve(&seen).await;
    let decision = desk.asked_again().await.unwrap();
    assert!(!decision.allowed());
    assert_eq!(decision.verdict(), &DecisionVerdict::Expired);
    let [receipt] = &desk.console.receipts(&seen, 1).await[..] else {
        panic!("one receipt")
    };
    assert_eq!(
        (receipt.stage, receipt.message.as_deref()),
        (Stage::Refused, Some("late"))
    );
    assert_eq!(desk.entries(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_clock_that_went_back_reads_as_run_out_and_after_another_boot_the_wall_clock_counts() {
    let mut desk = Desk::start().await;
    for (boot, clock, by, allowed) in [
        (None, "ticks", 1e3, false),
        (Some("another boot"), "wall", 1e3, false),
        (Some("another boot"), "ticks", 1e6, true),
    ] {
        let seen = desk.left_waiting(pay()).await;
        desk.console.approve(&seen).await;
        desk.alter(|entry| {
            entry[clock] = json!(entry[clock].as_f64().unwrap() + by);
            if let Some(boot) = boot {
                entry["boot"] = json!(boot);
            }
        });
        let decision = desk.asked_again().await.unwrap();
        assert_eq!(decision.allowed(), allowed, "{clock} {boot:?}");
    }
}

#[tokio::test]
async fn an_entry_that_is_not_this_agents_or_cannot_be_read_counts_as_none() {
    let mut desk = Desk::start().await;
    let mut former = desk.left_waiting(pay()).await;
    for (field, value) in [
        ("realm", json!("x")),
        ("workspace", json!("other")),
        ("agent", json!("other")),
        ("payload", json!("{")),
        ("v", json!(2)),
        ("wall", json!("now")),
    ] {
        desk.alter(|entry| entry[field] = value);
        let seen = desk.left_waiting(pay()).await;
        assert_ne!(seen.key, former.key, "{field}");
        former = seen;
    }
}

#[tokio::test]
async fn entries_older_than_their_deadline_and_a_day_are_removed_at_connect() {
    let mut desk = Desk::start().await;
    desk.left_waiting(pay()).await;
    for (seconds, left) in [(86_400.0, 1), (120.0, 0)] {
        desk.alter(|entry| entry["wall"] = json!(entry["wall"].as_f64().unwrap() - seconds));
        desk.gate().await;
        assert_eq!(desk.entries().len(), left);
    }
}

#[tokio::test]
async fn without_a_journal_or_a_key_an_ask_that_ends_is_withdrawn() {
    let mut desk = Desk::start().await;
    let (keyless, plain) = (desk.gate().await, desk.console.gate().await);
    for (gate, ask) in [(keyless, delete_invoice()), (plain, pay())] {
        let asking = tokio::spawn(gate.ask(ask));
        let seen = desk.next_request().await;
        asking.abort();
        let subject = countersign_sdk::wire::withdraw_subject(&seen.key);
        desk.console.stored("CS_REQUESTS", &subject, 1).await;
    }
}

#[tokio::test]
async fn a_raw_request_that_its_caller_keeps_stays_and_its_time_goes_on() {
    let mut desk = Desk::start().await;
    let seen = desk.left_waiting(pay()).await;
    let request: ApprovalRequest = serde_json::from_slice(&seen.payload).unwrap();
    let kept = |seconds| Ask::raw(request.clone()).kept_since(Duration::from_secs(seconds));
    let gate = desk.console.gate().await;
    let asking = tokio::spawn(gate.ask(kept(0)));
    sleep(Duration::from_millis(200)).await;
    asking.abort();
    let _ = asking.await;
    desk.console.approve(&seen).await;
    // Its 20 s are over: an approval in time is read too late.
    let late = gate.ask(kept(20)).await.unwrap();
    assert_eq!(late.verdict(), &DecisionVerdict::Expired);
    assert!(late.proof().is_none());
    let decision = gate.ask(kept(1)).await.unwrap();
    assert!(decision.allowed());
    let proof = decision.proof().unwrap();
    let subject = countersign_sdk::wire::decision_subject(&seen.key);
    assert_eq!((&proof.subject, proof.sig.is_empty()), (&subject, false));
    assert_eq!(
        desk.messages().await,
        1,
        "neither withdrawn nor published again"
    );
}

/// Asks in a process of its own, whose standard output has the verdict and the request's id.
fn process(enrolment: &Path, pending: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "journal::asks_in_its_own_process", "--nocapture"])
        .env("ASKS_AS", enrolment)
        .env("ASKS_IN", pending)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn asks_in_its_own_process() {
    let (Some(enrolment), Some(pending)) =
        (std::env::var_os("ASKS_AS"), std::env::var_os("ASKS_IN"))
    else {
        return;
    };
    let enrolment: Enrolment = serde_json::from_slice(&std::fs::read(enrolment).unwrap()).unwrap();
    let gate = Gate::builder(enrolment)
        .journal(pending)
        .connect()
        .await
        .unwrap();
    let decision = gate.ask(pay()).await.unwrap();
    println!(
        "\nanswer {} {}",
        decision.verdict(),
        decision.request().request_id
    );
}

#[tokio::test]
async fn a_killed_process_finds_its_request_again_and_leaves_no_lock() {
    let mut desk = Desk::start().await;
    let enrolment = desk.folder.path().join("agent.json");
    std::fs::write(
        &enrolment,
        serde_json::to_vec(&desk.console.enrolment()).unwrap(),
    )
    .unwrap();
    let mut first = process(&enrolment, &desk.pending());
    let seen = desk.next_request().await;
    first.kill().await.unwrap();
    desk.console.approve(&seen).await;
    let second = process(&enrolment, &desk.pending());
    let output = timeout(LIMIT, second.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    let wanted = format!("answer approve {}", seen.key.request_id);
    assert!(reported.contains(&wanted), "{reported}");
    assert_eq!(desk.messages().await, 1);
}

#[tokio::test]
async fn another_process_reports_what_became_of_the_call() {
    let mut desk = Desk::start().await;
    let gate = desk.gate().await;
    let asking = tokio::spawn(gate.ask(pay().degraded(|_| vec!["no_execution_report".into()])));
    let seen = desk.next_request().await;
    desk.console.approve(&seen).await;
    let decision = asking.await.unwrap().unwrap();
    let (request, id) = (
        decision.request().request_id.clone(),
        decision.decision_id().unwrap().to_owned(),
    );
    assert!(gate.close().await);
    let later = desk.gate().await.reports(request, id.clone());
    let ran = decision.args().unwrap();
    later.executed(ran).await.unwrap();
    later.failed(ran, "ToolError").await.unwrap();
    later.refused("not_started").await.unwrap();
    let receipts = desk.console.receipts(&seen, 4).await;
    assert_eq!(
        receipts[0].degraded.as_deref(),
        Some(&["no_execution_report".to_owned()][..])
    );
    let digest = seen.args_digest.map(|digest| digest.to_string());
    let reported: Vec<_> = receipts[1..]
        .iter()
        .map(|of| {
            (
                of.stage,
                of.executed_args_digest.clone(),
                of.message.as_deref(),
            )
        })
        .collect();
    assert!(receipts.iter().all(|of| of.decision_id == id));
    assert_eq!(
        reported,
        [
            (Stage::Executed, digest.clone(), None),
            (Stage::Failed, digest, Some("ToolError")),
            (Stage::Refused, None, Some("not_started")),
        ]
    );
}
