use countersign_feeds::{Desk as _, begin};
use countersign_store::feed_events::{KeptEvent, count_retrying, retrying};
use countersign_store::feeds::{FeedNote, FeedRow};
use serde_json::json;

use crate::desk::{TestDesk, until};

const LINES: &str =
    "[[feed]]\nname = \"lines\"\nkind = \"file\"\nevents = [\"*\"]\npath = \"feeds/e.jsonl\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_new_feed_begins_with_this_start_of_the_console() {
    let desk = TestDesk::new().await;
    desk.log("read_only", "console", json!({})).await;
    desk.log("console_start", "console", json!({})).await;
    desk.log("alarm", "x", json!({})).await;
    assert!(begin(&desk, &desk.feeds(LINES)).await.unwrap());
    assert_eq!(desk.row("lines").await.cursor, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_of_a_realm_that_was_joined_in_this_start_is_not_sent() {
    let desk = TestDesk::new().await;
    desk.log("realm", "r", json!({})).await;
    desk.log("request", "acme/bot/r1", json!({})).await;
    desk.has_caught_up(false);
    assert!(!begin(&desk, &desk.feeds(LINES)).await.unwrap());
    desk.log("request", "acme/bot/r2", json!({})).await;
    desk.has_caught_up(true);
    assert!(begin(&desk, &desk.feeds(LINES)).await.unwrap());
    assert_eq!(desk.row("lines").await.cursor, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_keeps_its_place_for_thirty_days_out_of_the_settings() {
    let desk = TestDesk::new().await;
    let day = 86_400_000;
    begin(&desk, &desk.feeds(LINES)).await.unwrap();
    begin(&desk, &[]).await.unwrap();
    begin(&desk, &[]).await.unwrap();
    desk.log("console_start", "console", json!({})).await;
    desk.pass(29 * day);
    begin(&desk, &desk.feeds(LINES)).await.unwrap();
    assert_eq!(desk.row("lines").await.cursor, 0, "its own place");
    let changed = LINES.replace("[\"*\"]", "[\"alarm.*\"]");
    begin(&desk, &desk.feeds(&changed)).await.unwrap();
    begin(&desk, &desk.feeds(&changed)).await.unwrap();
    begin(&desk, &[]).await.unwrap();
    desk.pass(31 * day);
    begin(&desk, &desk.feeds(LINES)).await.unwrap();
    assert_eq!(desk.row("lines").await.cursor, 1, "that of this start");
    assert_eq!(
        desk.audited().await,
        ["added", "removed", "added", "changed", "removed", "added"]
    );
    until(async || true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_events_are_in_their_order_and_old_dead_ones_go_once_a_day() {
    let desk = TestDesk::new().await;
    let kept = |id: &str, kind: &str, state: &str| KeptEvent {
        id: id.to_owned(),
        seq: 5,
        kind: kind.to_owned(),
        state: state.to_owned(),
        ..KeptEvent::default()
    };
    let note = |kept: Vec<KeptEvent>, prunes| FeedNote {
        feed: "soc".to_owned(),
        kept,
        prunes,
        ..FeedNote::default()
    };
    let events = vec![
        kept("evt_0", "audit.alarm", "retrying"),
        kept("evt_1", "alarm.raised", "retrying"),
        kept("evt_2", "alarm.raised", "dead"),
    ];
    assert!(desk.note(note(events, false)).await);
    let open = retrying(desk.store(), "soc").await.unwrap();
    let ids: Vec<&str> = open.iter().map(|kept| kept.id.as_str()).collect();
    assert_eq!(ids, ["evt_1", "evt_0"]);
    assert_eq!(
        count_retrying(desk.store(), "soc").await.unwrap(),
        (2, Some(5))
    );
    assert_eq!(desk.kept("soc").await.len(), 3);
    assert!(desk.note(note(Vec::new(), true)).await);
    assert_eq!(desk.kept("soc").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_dead_events_the_newest_hundred_thousand_are_kept() {
    let desk = TestDesk::new().await;
    let dead = (1..=100_002).map(|seq| KeptEvent {
        id: format!("evt_{seq}"),
        seq,
        last_at: desk.now(),
        state: "dead".to_owned(),
        ..KeptEvent::default()
    });
    let note = FeedNote {
        feed: "soc".to_owned(),
        kept: dead.collect(),
        prunes: true,
        ..FeedNote::default()
    };
    assert!(desk.note(note).await);
    let kept = desk.kept("soc").await;
    assert_eq!((kept.len(), kept[0].seq), (100_000, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_of_one_state_the_second_writes_nothing() {
    let desk = TestDesk::new().await;
    let row = FeedRow {
        name: "soc".to_owned(),
        state: "ok".to_owned(),
        ..FeedRow::default()
    };
    let change = |cursor| FeedNote {
        feed: "soc".to_owned(),
        row: Some((
            FeedRow {
                cursor,
                revision: 1,
                ..row.clone()
            },
            0,
        )),
        kept: vec![KeptEvent {
            id: format!("evt_{cursor}"),
            state: "retrying".to_owned(),
            ..KeptEvent::default()
        }],
        ..FeedNote::default()
    };
    let first = FeedNote {
        row: Some((row.clone(), 0)),
        ..change(0)
    };
    assert!(desk.kept_note(&first).await && desk.kept_note(&change(1)).await);
    assert!(!desk.kept_note(&change(2)).await);
    assert_eq!(
        (desk.row("soc").await.cursor, desk.kept("soc").await.len()),
        (1, 2)
    );
}
