//! The numbers of a time.

use serde_json::{Value, json};

use super::Page;

fn of(since: i64, until: i64, pieces: i64, workspace: Option<&str>) -> Value {
    json!({"sinceMs": since, "untilMs": until, "pieces": pieces, "workspace": workspace})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pieces_cover_the_time_without_a_gap_and_count_each_request_once() {
    let page = Page::open().await;
    for (agent, count) in [("acme/bot", 7), ("other/bot", 3)] {
        let agent = page.agent(agent).await;
        for number in 0..count {
            agent
                .ask(&format!("r{number}"), ("pay", "low"), json!({}))
                .await;
        }
    }
    page.in_state("other/bot/r2", "pending").await;
    page.in_state("acme/bot/r6", "pending").await;
    let now = page.desk.app.now().0;
    for (since, until, pieces) in [
        (now - 3_600_000, now + 60_000, 1),
        (now - 3_600_000, now + 60_000, 7),
        (now - 1_000_003, now + 60_001, 400),
        (0, now + 60_000, 96),
        (i64::MIN / 4, i64::MAX / 4, 3),
    ] {
        let seen = page.call("overview", of(since, until, pieces, None)).await;
        let volume = seen["volume"].as_array().unwrap();
        assert_eq!(i64::try_from(volume.len()).unwrap(), pieces);
        let starts: Vec<i64> = volume
            .iter()
            .map(|piece| piece["startMs"].as_i64().unwrap())
            .collect();
        let step = starts.get(1).map_or(until - since, |second| second - since);
        let expected: Vec<i64> = (0..pieces).map(|place| since + place * step).collect();
        assert_eq!(starts, expected);
        assert!(
            since + (pieces * step) >= until,
            "the last piece reaches the end"
        );
        let arrived: u64 = volume
            .iter()
            .map(|piece| piece["arrived"].as_u64().unwrap())
            .sum();
        assert_eq!(
            (arrived, seen["open"].as_u64()),
            (10, Some(10)),
            "{since} {until} {pieces}"
        );
    }
    page.call("overview", of(i64::MAX - 1, i64::MAX, 400, None))
        .await;
    let one = page
        .call("overview", of(0, now + 60_000, 1, Some("other")))
        .await;
    assert_eq!(one["volume"][0]["arrived"], 3);
    let before = page.call("overview", of(0, now - 3_600_000, 2, None)).await;
    assert_eq!(
        (&before["open"], &before["pace"]),
        (&json!(0), &json!(null))
    );
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_none_and_a_number_of_pieces_that_no_chart_has_are_refused() {
    let page = Page::open().await;
    for (since, until, pieces) in [
        (5, 5, 1),
        (6, 5, 1),
        (i64::MAX, i64::MIN, 1),
        (i64::MIN, i64::MAX, 2),
        (0, 1_000, 0),
        (0, 1_000, 401),
        (0, 1_000, i64::from(u32::MAX)),
    ] {
        let code = page.code("overview", of(since, until, pieces, None)).await;
        assert_eq!(code, "usage", "{since} {until} {pieces}");
    }
    page.close().await;
}
