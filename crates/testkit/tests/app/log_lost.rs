//! A bus whose realm log is not the one that a console knows: cut off, made anew, or parted.

use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::realm::{Change, ListedState, LogLine, operators_log};
use countersign_testkit::TempData;
use countersign_wire::{Sha256Digest, Verdict};

use crate::agent::{Desk, caught_up, colleague, listed, options};
use crate::realm_log::{code, has_alarm, log_of, remade_with, retirement, sees, slots_of, until};
use crate::recover::{becomes_read_only, copy_all, delete_stream, recovered};
use crate::rollback::Older;

/// What the protocol gives a console that knows more.
const PUT_BACK_LIMIT: Duration = Duration::from_secs(30);

/// Waits until the log on the bus is that of these slots.
async fn is_put_back(app: &App, slots: &[Vec<u8>]) {
    let wait = async {
        while slots_of(app).await != slots {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let put_back = tokio::time::timeout(PUT_BACK_LIMIT, wait).await;
    put_back.expect("the entries are put back");
}

/// Writes another root into the metadata of the stream; returns the one that was there.
async fn name_root(app: &App, root: &str) -> String {
    let client = async_nats::ConnectOptions::with_nkey(app.identity().login.seed().unwrap())
        .connect(app.embedded_server().unwrap().url())
        .await
        .unwrap();
    let streams = async_nats::jetstream::new(client);
    let stream = streams.get_stream("CS_DECISIONS").await.unwrap();
    let mut config = stream.cached_info().config.clone();
    let before = config
        .metadata
        .insert("countersign-root".into(), root.into());
    streams.update_stream(&config).await.unwrap();
    before.unwrap()
}

async fn why(app: &App) -> String {
    becomes_read_only(app).await;
    app.status().await.unwrap().read_only.unwrap()
}

fn digests(log: &[LogLine]) -> Vec<&str> {
    log.iter().map(|line| line.digest.as_str()).collect()
}

async fn rename(app: &App, name: &str) -> Result<(), String> {
    let own = app.identity().human_key().to_string();
    let change = Change::Rename(own, name.to_owned());
    let changed = app.change_operators(&change).await;
    let changed = changed.map_err(|error| error.code.to_string());
    changed.map(|written| assert!(written.changed))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_key_is_put_back_on_a_stream_that_was_made_anew_without_it() {
    for notices_the_gap in [false, true] {
        let desk = Desk::open().await;
        let data = TempData::new();
        let second = colleague(&desk, &data, "Grace").await;
        let grace = second.identity().human_key();
        sees(
            &desk.app,
            &second.identity().auto_key(),
            ListedState::InForce,
        )
        .await;
        second.shutdown().await;
        let end = retirement(&grace);
        desk.app.change_operators(&end).await.unwrap();
        let slots = slots_of(&desk.app).await;
        let log = operators_log(&desk.app).await.unwrap();
        assert_eq!(slots.len(), 4);

        let bus = desk.app.bus().unwrap();
        delete_stream(&desk, "CS_DECISIONS").await;
        if notices_the_gap {
            let reported = why(&desk.app).await;
            assert!(reported.contains("streams_missing"), "{reported}");
        }
        remade_with(&bus, &desk.app, slots[..3].to_vec()).await;
        is_put_back(&desk.app, &slots).await;
        becomes_read_only(&desk.app).await;
        assert_eq!(rename(&desk.app, "Eve").await.unwrap_err(), "read_only");
        assert!(!has_alarm(&desk.app, "log_differs", "CS_DECISIONS").await);

        recovered(&desk.app).await;
        caught_up(&desk.app).await;
        let again = operators_log(&desk.app).await.unwrap();
        assert_eq!(digests(&again), digests(&log));
        sees(&desk.app, &grace, ListedState::Ended).await;
        rename(&desk.app, "Ada L.").await.unwrap();
        assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
        desk.app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_cut_off_while_the_console_was_away_is_whole_again_and_decisions_wait() {
    let desk = Desk::open().await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let (bus, copy) = (data.path().join("nats/jetstream"), data.path().join("copy"));
    copy_all(&bus, &copy);
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    rename(&app, "Ada L.").await.unwrap();
    rename(&app, "Ada Lovelace").await.unwrap();
    let slots = slots_of(&app).await;
    app.shutdown().await;
    std::fs::remove_dir_all(&bus).unwrap();
    copy_all(&copy, &bus);

    let app = App::start(options(&data)).await.unwrap();
    let reported = why(&app).await;
    assert!(reported.contains("stream_went_back"), "{reported}");
    is_put_back(&app, &slots).await;
    assert_eq!(rename(&app, "Eve").await.unwrap_err(), "read_only");
    recovered(&app).await;
    caught_up(&app).await;
    assert_eq!(slots_of(&app).await, slots, "each entry is there once");
    rename(&app, "Ada").await.unwrap();
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_went_on_without_what_a_console_knows_is_left_alone_until_it_is_put_right() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("waits");
    request["expires_at"] = "2026-11-21T13:00:00.000Z".into();
    let waits = agent.ask(&request).await;
    listed(&desk.app, "waits").await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    caught_up(&app).await;
    rename(&app, "Ada L.").await.unwrap();
    let own = operators_log(&app).await.unwrap();
    app.shutdown().await;
    let (bus, right) = (
        data.path().join("nats/jetstream"),
        data.path().join("right"),
    );
    copy_all(&bus, &right);
    // A console that comes for the first time adds its console key.
    older
        .goes_on(&[&agent], async |grace| {
            sees(grace, &grace.identity().auto_key(), ListedState::InForce).await;
        })
        .await;
    older.put_back(&data);

    for _ in 0..2 {
        let app = App::start(options(&data)).await.unwrap();
        let reported = why(&app).await;
        assert!(
            reported.contains("log_differs") && reported.contains("bus recover"),
            "{reported}"
        );
        until("the alarm", async || {
            has_alarm(&app, "log_differs", "CS_DECISIONS").await
        })
        .await;
        assert_eq!(rename(&app, "Eve").await.unwrap_err(), "read_only");
        assert_eq!(code(&app, &waits, Verdict::Approve).await, "read_only");
        assert_eq!(operators_log(&app).await.unwrap(), own, "its own is shown");
        let there = log_of(&app).await;
        assert_eq!(there.chain.len(), 3, "nothing is added to the bus's");
        assert_ne!(there.chain[2].digest.to_string(), own[2].digest);
        app.shutdown().await;
    }

    // Its own log is kept where the bus's is a thief's.
    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let desk = Desk { data, app };
    delete_stream(&desk, "CS_DECISIONS").await;
    recovered(&desk.app).await;
    let Desk { data, app } = desk;
    caught_up(&app).await;
    assert_eq!(app.status().await.unwrap().read_only, None);
    until("the end of the alarm", async || {
        !has_alarm(&app, "log_differs", "CS_DECISIONS").await
    })
    .await;
    let kept = operators_log(&app).await.unwrap();
    assert_eq!(digests(&kept), digests(&own));
    assert_eq!(code(&app, &waits, Verdict::Approve).await, "done");
    assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
    app.shutdown().await;
    drop(data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_with_another_root_is_given_nothing_and_the_console_continues_once_it_is_named_again()
{
    let desk = Desk::open().await;
    rename(&desk.app, "Ada L.").await.unwrap();
    let slots = slots_of(&desk.app).await;
    let other = Sha256Digest::of_bytes(b"a founding of somebody else").to_string();
    let root = name_root(&desk.app, &other).await;
    let Desk { data, app } = desk;
    app.shutdown().await;
    let app = App::start(options(&data)).await.unwrap();
    let reported = why(&app).await;
    assert!(reported.contains("root_changed"), "{reported}");
    assert_eq!(slots_of(&app).await, slots);
    name_root(&app, &root).await;
    let mut caught_up = app.caught_up();
    let continues = tokio::time::timeout(PUT_BACK_LIMIT, caught_up.wait_for(|done| *done));
    drop(continues.await.unwrap().unwrap());
    assert_eq!(app.status().await.unwrap().read_only, None);
    assert!(!has_alarm(&app, "read_only", "root_changed").await);
    rename(&app, "Ada").await.unwrap();
    app.shutdown().await;
}
