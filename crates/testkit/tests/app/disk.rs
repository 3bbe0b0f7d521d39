//! A disk that takes what is written and then fails to keep it: the real look at the disk fails.

use std::os::fd::{IntoRawFd, RawFd};
use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::health;
use countersign_core::ops::verdicts::Decided;
use countersign_wire::{ErrorCode, Verdict};

use crate::agent::{Desk, LIMIT, caught_up, in_state, inbox_ids, listed, options, until, verdict};
use crate::spy::connect;

/// The flag with which SQLite opens its files, and the console does not open the log that it syncs.
const O_NOFOLLOW: u32 = 0o400_000;

/// The descriptor through which the console has the log of this folder brought to the disk.
fn log_that_is_synced(folder: &std::path::Path) -> RawFd {
    let log = folder.join("countersign.db-wal").canonicalize().unwrap();
    let ours = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == log))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|number| {
            let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
            let about = about.unwrap_or_default();
            let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
            flags.is_some_and(|flags| flags & O_NOFOLLOW == 0)
        });
    let ours: Vec<String> = ours.collect();
    assert_eq!(ours.len(), 1, "one descriptor of the log is not SQLite's");
    ours[0].parse().unwrap()
}

/// Puts a device that cannot be synced in the place of a descriptor of this process.
#[expect(
    unsafe_code,
    reason = "nothing else makes the real call fail without a broken disk"
)]
fn refuse_sync(descriptor: RawFd) {
    let device = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    assert!(device.sync_data().is_err(), "the device can be synced");
    // SAFETY: the descriptor is open and stays so; only what it refers to changes, and its owner only syncs it.
    let same = unsafe { nix::unistd::dup2_raw(&device, descriptor) }.unwrap();
    let _ = same.into_raw_fd();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_refuses_to_keep_what_was_written_ends_all_writing_and_what_was_said_stands() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut keys = Vec::new();
    for id in ["before", "refused", "waits"] {
        keys.push(agent.ask(&agent.request(id)).await);
    }
    listed(&desk.app, "waits").await;
    let reported = desk.app.decide(verdict(&keys[0], Verdict::Approve)).await;
    assert!(
        matches!(reported, Ok(Decided::Stored { .. })),
        "{reported:?}"
    );

    refuse_sync(log_that_is_synced(desk.data.path()));
    let refused = desk.app.decide(verdict(&keys[1], Verdict::Deny)).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "read_only");
    let mut health = desk.app.health();
    let failed = health.wait_for(|health| health.store_failed.is_some());
    let failed = tokio::time::timeout(LIMIT, failed).await.unwrap().unwrap();
    let why = failed.store_failed.clone().unwrap();
    drop(failed);
    assert!(
        why.contains("disk") && why.contains("start"),
        "it says what to do: {why}"
    );
    let status = desk.app.status().await.unwrap();
    assert_eq!(status.store_failed.as_deref(), Some(why.as_str()));
    assert_eq!(status.alarms[0].code, "store_failed");
    assert_eq!(health::not_ready(&desk.app), ["store_failed"]);
    let kept = desk.app.acknowledge_alarm(status.alarms[0].id).await;
    let kept = kept.unwrap_err();
    assert_eq!(kept.code, ErrorCode::InvalidArgs, "it lasts: {kept}");
    let other = App::read(options(&desk.data), false).await.unwrap();
    until("the folder's other commands say so", || async {
        other.status().await.unwrap().store_failed.is_some()
    })
    .await;
    other.shutdown().await;
    // For good: nothing is written any more, whatever comes.
    let late = agent.ask(&agent.request("late")).await;
    let refused = desk.app.decide(verdict(&keys[2], Verdict::Approve)).await;
    assert_eq!(refused.unwrap_err().code.as_str(), "read_only");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!inbox_ids(&desk.app).await.contains(&"late".to_owned()));

    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    let line = in_state(&app, "before", "decided").await;
    assert_eq!(
        line.verdict.as_deref(),
        Some("approve"),
        "it was reported so"
    );
    // What was refused is what the stream says, and nothing else.
    listed(&app, "late").await;
    let bus = app.bus().unwrap();
    let subject = agent.subject("decision", "refused");
    let stored = bus.read_last("CS_DECISIONS", &subject).await.unwrap();
    let state = listed(&app, "refused").await.state;
    match stored {
        Some(_) => assert_eq!(state, "decided"),
        None => assert!(["pending", "queued"].contains(&state.as_str()), "{state}"),
    }
    app.decide(verdict(&keys[2], Verdict::Approve))
        .await
        .unwrap();
    app.decide(verdict(&late, Verdict::Deny)).await.unwrap();
    assert_eq!(app.status().await.unwrap().store_failed, None);
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_another_program_holds_is_told_to_be_locked_until_it_lets_go() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut other = connect(&desk.data).await;
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();
    agent.ask(&agent.request("r1")).await;
    let codes = async || {
        let status = desk.app.status().await.unwrap();
        status
            .alarms
            .into_iter()
            .map(|alarm| alarm.code)
            .collect::<Vec<_>>()
    };
    // The writer waits 10 s for a lock.
    tokio::time::sleep(LIMIT).await;
    until("the lock is reported", async || {
        codes().await == ["store_locked"]
    })
    .await;
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    until("the lock is over", async || codes().await.is_empty()).await;
    listed(&desk.app, "r1").await;
    desk.app.shutdown().await;
}
