//! The numbers of a time.

use serde_json::{Value, json};

use super::Page;
use super::history::lived;

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

#[tokio::test(flavor = "multi_thread")]
async fn each_number_is_the_count_of_the_requests_that_its_filter_finds() {
    let page = lived().await;
    let until = page.desk.app.now().0 + 1;
    let since = until - 600_000;
    let seen = page.call("overview", of(since, until, 6, None)).await;
    assert_eq!((&seen["hasty"], &seen["frontMs"]), (&json!(1), &json!(700)));
    let time = json!({"sinceMs": since, "untilMs": until});
    let decided = |origin: &str| json!({"state": "decided", "origin": origin});
    let mut table: Vec<(Value, Value)> = vec![
        (seen["open"].clone(), json!({"state": "waiting"})),
        (seen["human"].clone(), decided("operator")),
        (seen["automatic"].clone(), decided("automatic")),
        (
            seen["hasty"].clone(),
            json!({"state": "decided", "origin": "operator", "frontUnderMs": seen["hastyMs"]}),
        ),
        (
            seen["caught"].clone(),
            json!({"state": "decided", "origin": "operator", "verdict": "caught"}),
        ),
        (seen["expired"].clone(), json!({"state": "expired"})),
        (
            seen["stalled"].clone(),
            json!({"overdue": true, "sinceMs": null, "untilMs": null}),
        ),
    ];
    for verdict in seen["verdicts"].as_array().unwrap() {
        let word = &verdict["verdict"]["value"];
        table.push((verdict["count"].clone(), json!({"verdict": word})));
    }
    for pace in seen["paces"].as_array().unwrap() {
        let find = json!({"state": "decided", "origin": "operator", "agent": pace["agent"], "tool": pace["tool"]["value"]});
        table.push((pace["decided"].clone(), find));
    }
    for piece in seen["volume"].as_array().unwrap() {
        let start = piece["startMs"].as_i64().unwrap();
        let end = until.min(start + seen["stepMs"].as_i64().unwrap());
        for (series, narrow) in [
            ("arrived", json!({})),
            ("allowed", json!({"state": "decided", "verdict": "allowed"})),
            ("denied", json!({"state": "decided", "verdict": "refused"})),
            ("expired", json!({"state": "expired"})),
        ] {
            let piece_only = both(&narrow, &json!({"sinceMs": start, "untilMs": end}));
            table.push((piece[series].clone(), piece_only));
        }
    }
    let mut counted = 0;
    for (number, narrow) in table {
        let count = page.call("history_count", both(&time, &narrow)).await;
        assert_eq!(
            count,
            json!({"requests": number, "whole": true}),
            "{narrow}"
        );
        counted += number.as_u64().unwrap();
    }
    assert!(counted > 15, "the numbers are not all nought: {seen}");
    page.close().await;
}

/// The fields of both, those of the second where both have them.
fn both(one: &Value, other: &Value) -> Value {
    let mut fields = one.as_object().unwrap().clone();
    fields.extend(other.as_object().unwrap().clone());
    Value::Object(fields)
}
