#![allow(clippy::unwrap_used)]
use super::*;
use crate::Writer;
use crate::domain::reader::ReaderMark;
use crate::pool::temporary;

/// A call with changes to what a call that waits has; its row is its deadline.
fn call(writer: &Writer, row: i64, changes: &str) {
    let put = "INSERT INTO requests(id, ws, agent, request_id, kind, tool, risk, allowed, approvals_required,
           request_digest, stream_epoch, stream_seq, stored_at, received_at, lifetime, deadline_at, state, delivery,
           findings, raw)
         VALUES (?1, 'acme', 'bot', ?1, 'tool_call', 'pay', 'low', '[]', 1, 'd', 'e', ?1, 1000, 0, 0, ?1, 'pending',
           'stored', '[]', x'7b7d')";
    writer.execute(put, [row]).unwrap();
    change(writer, row, changes);
}

fn change(writer: &Writer, row: i64, changes: &str) {
    let sql = format!("UPDATE requests SET {changes} WHERE id = ?1");
    writer.execute(&sql, [row]).unwrap();
}

fn marked(row: i64) -> ReadCall {
    let (at, code, message) = ("/to".to_owned(), "other".to_owned(), "m".to_owned());
    let marks = vec![ReaderMark { at, code, message }];
    ReadCall {
        marks,
        ..ReadCall::of(row, Reading::Answered, None)
    }
}

fn kept(writer: &Writer, call: &ReadCall) -> Reading {
    keep(writer, call, 5_000).unwrap()
}

#[tokio::test]
async fn only_calls_that_wait_for_a_person_and_were_looked_at_are_in_line() {
    let (_folder, writer, reader) = temporary().await;
    for (row, changes) in [
        (1, "state = 'pending'"),
        (2, "state = 'holding'"),
        (3, "stored_at = 2001"),
        (4, "state = 'queued'"),
        (5, "state = 'decided', verdict = 'approve', origin = 'rule'"),
        (6, "state = 'expired'"),
        (7, "kind = 'question', tool = NULL"),
        (8, "kind = 'form', tool = NULL"),
        (9, "ws = 'lab'"),
        (10, "findings = NULL"),
        (11, "tool = 'countersign_probe'"),
        (12, "state = 'pending'"),
    ] {
        call(&writer, row, changes);
    }
    kept(&writer, &ReadCall::of(12, Reading::Asked, None));
    let mut found = waiting(&reader, r#"["acme"]"#, 2_000).await.unwrap();
    found.sort_unstable();
    assert_eq!(found, [(1, 1, true), (2, 2, true), (3, 3, false)]);
    let found = waiting(&reader, r#"["lab","none"]"#, 2_000).await.unwrap();
    assert_eq!(found, [(9, 9, true)]);
    assert_eq!(waiting(&reader, "[]", 2_000).await.unwrap(), []);
}

#[tokio::test]
async fn a_held_call_still_waits_and_an_answer_to_a_decided_one_is_late() {
    let (_folder, writer, reader) = temporary().await;
    for row in 1..=4 {
        call(&writer, row, "state = 'pending'");
        let asked = kept(&writer, &ReadCall::of(row, Reading::Asked, None));
        assert_eq!(asked, Reading::Asked);
    }
    let unanswered = under_way(&reader).await.unwrap();
    assert_eq!(unanswered[1], (2, "acme/bot/2".to_owned()));
    change(&writer, 1, "state = 'holding'");
    change(&writer, 2, "state = 'decided'");
    assert_eq!(kept(&writer, &marked(1)), Reading::Answered);
    assert_eq!(kept(&writer, &marked(2)), Reading::Late);
    // What has an answer keeps it, whatever is said later.
    kept(&writer, &ReadCall::of(1, Reading::Failed, None));
    kept(&writer, &ReadCall::of(3, Reading::Failed, None));
    kept(&writer, &marked(3));
    let mut words = Vec::new();
    for row in 1..=4 {
        let of = of_request(&reader, row).await.unwrap().unwrap();
        words.push((of.state, of.marks.is_some()));
    }
    let expected = [
        ("answered", true),
        ("late", false),
        ("failed", false),
        ("asked", false),
    ];
    assert_eq!(words, expected.map(|(word, has)| (word.to_owned(), has)));
    // One that is decided before it is sent never was.
    call(&writer, 5, "state = 'withdrawn'");
    let asked = kept(&writer, &ReadCall::of(5, Reading::Asked, None));
    assert_eq!(asked, Reading::Skipped);
    assert_eq!(asked_since(&reader, 4_999).await.unwrap(), 4);
    assert_eq!(asked_since(&reader, 5_000).await.unwrap(), 0);
}

#[tokio::test]
async fn what_a_rule_or_key_answered_is_not_skipped() {
    let (_folder, writer, reader) = temporary().await;
    for (row, changes) in [
        (1, "origin = 'rule'"),
        (2, "origin = 'setup_key'"),
        (3, "origin = 'operator'"),
        (4, "origin = NULL"),
    ] {
        call(&writer, row, changes);
    }
    skip(&writer, "[1,2,3,4]").unwrap();
    let counts = counts(&reader).await.unwrap();
    assert_eq!((counts.skipped, counts.asked), (2, 0));
    assert_eq!(of_request(&reader, 1).await.unwrap(), None);
}

#[tokio::test]
async fn its_marks_are_counted_apart_from_the_console_s_looks() {
    let (_folder, writer, reader) = temporary().await;
    let by_people = "state = 'decided', origin = 'operator', verdict =";
    let look = r#"findings = '[{"code":"beyond","weight":"look","at":"/a","message":"m"}]'"#;
    for (row, changes, is_marked) in [
        (1, format!("{by_people} 'deny'"), true),
        (2, format!("{by_people} 'terminate', {look}"), true),
        (3, format!("{by_people} 'approve', {look}"), true),
        (4, format!("{by_people} 'deny', {look}"), false),
        (5, "state = 'expired'".to_owned(), true),
        (6, "state = 'pending'".to_owned(), true),
        (
            7,
            "state = 'decided', origin = 'rule', verdict = 'deny'".to_owned(),
            true,
        ),
    ] {
        call(&writer, row, "state = 'pending'");
        kept(&writer, &ReadCall::of(row, Reading::Asked, None));
        let mut answer = marked(row);
        answer.dropped = 2;
        if !is_marked {
            answer.marks.clear();
        }
        kept(&writer, &answer);
        change(&writer, row, &changes);
    }
    let of = counts(&reader).await.unwrap();
    assert_eq!((of.asked, of.answered, of.dropped), (7, 7, 14));
    assert_eq!((of.marked, of.marked_decided, of.marked_denied), (6, 3, 2));
    assert_eq!((of.looked, of.looked_denied), (3, 2));
    let rows = super::marked(&writer, "[1,4,6,9]").unwrap();
    assert_eq!(rows, [1, 6]);
}
