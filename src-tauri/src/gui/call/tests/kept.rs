//! A decision on the card that was shown reads it no second time, and never decides another request.

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use super::{Agent, Page};

/// A call that waits, asked with its own or these fields.
async fn ask(page: &Page, bot: &Agent, id: &str, risk: &str) -> String {
    bot.ask(id, ("pay", risk), json!({})).await;
    let key = format!("{}/{id}", bot.name);
    page.in_state(&key, "pending").await;
    key
}

async fn read(page: &Page, key: &str) -> Value {
    page.call("card", json!({ "key": key })).await
}

fn verdict(card: &Value, verdict: &str) -> Value {
    json!({"key": card["key"], "verdict": verdict, "seenRequestDigest": card["origin"]["requestDigest"],
        "seenArgsDigest": card["origin"]["argsDigest"], "edited": null, "seenEditDigest": null, "message": null,
        "answer": null, "typed": null, "revealed": []})
}

fn is_kept(page: &Page, card: &Value) -> bool {
    let digest = card["origin"]["requestDigest"].as_str().unwrap();
    let kept = &page.desk.kept;
    let card = kept.take(card["key"].as_str().unwrap(), digest);
    let is = card.is_some();
    card.into_iter().for_each(|card| kept.keep(card));
    is
}

/// Writes over a column of the stored request, as nothing in the product does.
async fn tamper(page: &Page, id: &str, change: &'static str) {
    let file = page.data.path().join("countersign.db");
    let file = format!("sqlite://{}", file.display());
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    let sql = format!("UPDATE requests SET {change} WHERE request_id = ?");
    let update = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id);
    assert_eq!(update.execute(&mut store).await.unwrap().rows_affected(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_press_reads_nothing_of_a_card_that_was_shown_and_decides_no_other_request() {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    let mut cards = Vec::new();
    for id in ["r1", "r2", "r3"] {
        let key = ask(&page, &bot, id, "high").await;
        cards.push(read(&page, &key).await);
    }
    // Whoever reads the first one again finds no request.
    tamper(&page, "r1", "raw = x'7b7d'").await;
    assert_eq!(
        page.code("card", json!({"key": "acme/bot/r1"})).await,
        "not_approvable"
    );
    let outcome = page.call("decide", verdict(&cards[0], "approve")).await;
    assert_eq!(outcome["state"], "decided");

    tamper(&page, "r2", "request_digest = 'sha256:00'").await;
    for given in ["approve", "deny"] {
        let args = verdict(&cards[1], given);
        assert_eq!(page.code("decide", args).await, "digest_differs", "{given}");
    }
    // What the page says that it saw is not what it was sent.
    let mut other = verdict(&cards[2], "deny");
    other["seenRequestDigest"] = cards[0]["origin"]["requestDigest"].clone();
    assert_eq!(page.code("decide", other).await, "digest_differs");
    let outcome = page.call("decide", verdict(&cards[2], "deny")).await;
    assert_eq!(outcome["verdict"], "deny");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_cards_that_wait_are_kept_and_no_critical_one() {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    let other = page.agent("acme/other").await;
    let mut cards = Vec::new();
    for id in ["r1", "r2", "r3", "r4", "r5"] {
        let key = ask(&page, &bot, id, "high").await;
        cards.push(read(&page, &key).await);
    }
    let kept: Vec<bool> = cards.iter().map(|card| is_kept(&page, card)).collect();
    assert_eq!(kept, [false, true, true, true, true]);
    // Read again, it is the newest one and there once.
    read(&page, "acme/bot/r2").await;
    let key = ask(&page, &bot, "r6", "critical").await;
    let critical = read(&page, &key).await;
    assert!(!is_kept(&page, &critical));
    assert!(is_kept(&page, &cards[1]));
    // The same bytes of another agent are another request.
    let mut namesake = cards[1].clone();
    namesake["key"] = json!(format!("{}/r2", other.name));
    assert!(!is_kept(&page, &namesake));
    page.call("decide", verdict(&cards[1], "approve")).await;
    assert!(!is_kept(&page, &cards[1]));
    page.in_state("r2", "decided").await;
    read(&page, "acme/bot/r2").await;
    assert!(!is_kept(&page, &cards[1]));
    page.close().await;
}
