use countersign_feeds::begin;
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
