//! Each query against a real file.

mod earlier;
mod hellos;
mod history_plans;
mod outgoing;
mod schema;

use countersign_wire::{AgentKey, RequestKey, Risk, VerdictSet};

use super::outbox::{self, OutboxRow};
use super::pool::temporary;
use super::receipts::{self, NewReceipt};
use super::request_list::{self, Filter};
use super::request_states::{self, StateChange};
use super::requests::{self, NewRequest};
use super::tool_record::ToolCall;
use super::{Writer, agents, alarms, bus_stream, meta, sql, tool_record, unanswered};
use crate::domain::{Delivery, State, Timestamp};

fn key(id: &str) -> RequestKey {
    format!("acme/bot/{id}").parse().unwrap()
}

fn row(id: &str, seq: i64, deadline: i64) -> NewRequest<'static> {
    NewRequest {
        ws: "acme".into(),
        agent: "bot".into(),
        request_id: id.into(),
        kind: Some("tool_call".into()),
        tool: Some(format!("tool-{}", seq % 2)),
        risk: Risk::Medium,
        title: None,
        run_id: None,
        thread_id: None,
        call_id: None,
        trace_id: None,
        span_id: None,
        group_id: None,
        allowed: VerdictSet::from_words(["approve", "modify"]),
        approvals_required: 1,
        args_digest: Some("sha256:aa".into()),
        request_digest: "sha256:bb".into(),
        raw: b"{}",
        stream_epoch: "e".into(),
        stream_seq: seq,
        requested_at: Some(Timestamp(1)),
        stored_at: Timestamp(1_000 + seq),
        received_at: Timestamp(2_000 + seq),
        lifetime_ms: 60_000,
        deadline_at: Timestamp(deadline),
        state: State::Pending,
        error: None,
        tightened_at: None,
        tool_digest: None,
        findings: None,
        device_effects: None,
        effect: None,
    }
}

/// A call of the agent's first tool.
fn bot(before: i64) -> ToolCall<'static> {
    ToolCall {
        workspace: "acme",
        agent: "bot",
        tool: "tool-0",
        before,
    }
}

/// Calls of a tool by another agent.
fn others(writer: &mut Writer, tool: &str, seqs: std::ops::RangeInclusive<i64>) {
    let rows: Vec<NewRequest<'_>> = seqs
        .map(|seq| NewRequest {
            agent: "evil".into(),
            tool: Some(tool.to_owned()),
            ..row(&format!("r{seq}"), seq, 10_000 - seq)
        })
        .collect();
    let tx = writer.begin().unwrap();
    requests::insert(&tx, &rows).unwrap();
    tx.commit().unwrap();
}

fn filled(writer: &mut Writer, count: i64) -> Vec<i64> {
    let rows: Vec<NewRequest<'_>> = (1..=count)
        .map(|seq| row(&format!("r{seq}"), seq, 10_000 - seq))
        .collect();
    let tx = writer.begin().unwrap();
    let ids = requests::insert(&tx, &rows).unwrap();
    tx.commit().unwrap();
    ids.into_iter().map(|(id, _)| id).collect()
}

/// How SQLite looks for what a statement asks, step by step.
pub(crate) fn plan(sqlite: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let explain = format!("EXPLAIN QUERY PLAN {sql}");
    let mut explain = sqlite.prepare(&explain).unwrap();
    // Its parameters are left open.
    let steps = explain.raw_query().mapped(|row| row.get("detail"));
    steps.map(Result::unwrap).collect()
}

fn outgoing(request: i64, id: &str, state: &str, release_at: i64) -> OutboxRow {
    OutboxRow {
        id: id.into(),
        kind: outbox::Kind::Decision,
        request,
        subject: "countersign.v1.decision.acme.bot.r1".into(),
        payload: b"{}".to_vec(),
        signer: "U".into(),
        sig: None,
        release_at,
        attempts: 0,
        last_error: None,
        state: state.into(),
    }
}

#[tokio::test]
async fn the_schema_is_the_one_that_was_agreed() {
    let (_folder, writer, _reader) = temporary().await;
    let tables: Vec<String> = sql::column(
        &writer,
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE '_sqlx%'
         ORDER BY type, name",
        [],
    )
    .unwrap();
    insta::assert_snapshot!(tables.join(";\n"));
}

#[tokio::test]
async fn what_grows_without_end_is_searched_by_an_index() {
    let (_folder, writer, _reader) = temporary().await;
    for (sql, index) in [
        (
            "SELECT seq FROM audit WHERE subject = ? AND action IN (?, ?)
             AND action <> 'request' AND action <> 'decide' AND action <> 'decision'
             ORDER BY seq DESC LIMIT 1",
            "audit_by_subject",
        ),
        (
            "SELECT id FROM requests WHERE verdict = ? AND id < ? ORDER BY id DESC LIMIT 1",
            "requests_by_verdict",
        ),
        (
            "SELECT id FROM requests WHERE ws = ? AND agent = ? AND request_id = ?",
            "sqlite_autoindex_requests_1",
        ),
        (
            "SELECT id FROM requests WHERE ws = ? AND tool = ? AND id < ? ORDER BY id DESC LIMIT 1",
            "requests_by_tool",
        ),
        (
            "SELECT id FROM requests WHERE ws = ? AND agent = ? AND tool = ?
             AND substr(args_digest, 8, 8) = substr(?, 8, 8) AND state = 'decided'
             AND args_digest IS NOT NULL AND id < ? ORDER BY id DESC LIMIT 1",
            "requests_by_call",
        ),
    ] {
        let plan = plan(&writer, sql);
        let [step] = plan.as_slice() else {
            panic!("{sql}: more than a search: {plan:?}");
        };
        assert!(
            step.contains("SEARCH") && step.contains(index),
            "{sql}: {step}"
        );
    }
}

#[tokio::test]
async fn rows_get_numbers_in_the_order_of_arrival_and_a_taken_key_is_left_out() {
    let (_folder, mut writer, _reader) = temporary().await;
    let ids = filled(&mut writer, 130);
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    let tx = writer.begin().unwrap();
    let again = [row("r1", 500, 1), row("new", 501, 1), row("other", 1, 1)];
    let inserted = requests::insert(&tx, &again).unwrap();
    assert_eq!(
        inserted.iter().map(|(_, seq)| *seq).collect::<Vec<_>>(),
        [501]
    );
    let found = requests::records(&tx, &[key("r7"), key("nobody"), key("r8")]).unwrap();
    assert_eq!(found.len(), 2);
    let waiting = super::agents_waiting::waiting_by_agent(&tx).unwrap();
    assert_eq!(waiting, [("acme".to_owned(), "bot".to_owned(), 131)]);
}

#[tokio::test]
async fn the_inbox_is_in_the_order_of_deadlines_and_history_in_that_of_arrival() {
    let (_folder, mut writer, reader) = temporary().await;
    filled(&mut writer, 5);
    let names = |rows: Vec<request_list::RequestSummary>| -> Vec<String> {
        rows.into_iter().map(|row| row.request_id).collect()
    };
    let all = Filter::default();
    for (most, wanted) in [
        (None, &["r5", "r4", "r3", "r2", "r1"] as &[_]),
        (Some(2), &["r5", "r4"]),
    ] {
        let mut waiting = Vec::new();
        request_list::inbox(&reader, &all, most, false, |row| waiting.push(row))
            .await
            .unwrap();
        assert_eq!(names(waiting), wanted);
    }
    let first = request_list::history(&reader, &all, None, 2).await.unwrap();
    let after = first.last().map(|row| row.id);
    assert_eq!(names(first), ["r5", "r4"]);
    assert_eq!(
        names(
            request_list::history(&reader, &all, after, 9)
                .await
                .unwrap()
        ),
        ["r3", "r2", "r1"]
    );
    let table = [
        (
            Filter {
                tool: Some("tool-0".into()),
                ..all.clone()
            },
            2,
        ),
        (
            Filter {
                agent: Some("nobody".into()),
                ..all.clone()
            },
            0,
        ),
        (
            Filter {
                workspace: Some("acme".into()),
                risk: Some("medium".into()),
                ..all.clone()
            },
            5,
        ),
        (
            Filter {
                state: Some(State::Decided),
                ..all.clone()
            },
            0,
        ),
        (
            Filter {
                since: Some(Timestamp(1_003)),
                until: Some(Timestamp(1_005)),
                ..all.clone()
            },
            2,
        ),
        (
            Filter {
                verdict: Some("approve".into()),
                ..all.clone()
            },
            0,
        ),
    ];
    for (filter, count) in table {
        let found = request_list::history(&reader, &filter, None, 100)
            .await
            .unwrap();
        assert_eq!(found.len(), count, "{filter:?}");
    }
}

#[tokio::test]
async fn only_the_first_tighten_counts_and_none_lengthens() {
    let (_folder, mut writer, _reader) = temporary().await;
    let ids = filled(&mut writer, 2);
    let tx = writer.begin().unwrap();
    let at = Timestamp(1);
    assert!(requests::tighten(&tx, ids[0], Timestamp(99_999), at).unwrap());
    assert!(!requests::tighten(&tx, ids[0], Timestamp(5), at).unwrap());
    assert!(requests::tighten(&tx, ids[1], Timestamp(5), at).unwrap());
    let overdue = requests::overdue(&tx, Timestamp(5), 10).unwrap();
    assert_eq!(overdue, [ids[1]]);
    assert_eq!(requests::next_deadline(&tx).unwrap(), Some(Timestamp(5)));
}

#[tokio::test]
async fn many_rows_change_their_state_at_once_and_no_other_row_does() {
    let (_folder, mut writer, reader) = temporary().await;
    let ids = filled(&mut writer, 100);
    let changes: Vec<StateChange> = ids[..70]
        .iter()
        .map(|id| StateChange {
            id: *id,
            state: State::Expired,
            verdict: Some("expired".into()),
            origin: Some("timeout".into()),
            decided_at: Some(Timestamp(9)),
            delivery: Delivery::Stored,
        })
        .collect();
    let tx = writer.begin().unwrap();
    request_states::change_states(&tx, &changes).unwrap();
    let all = unanswered::page(&tx, unanswered::EndedCursor::default(), 1_000);
    let (all, end) = all.unwrap();
    assert_eq!((all.len(), end), (70, None));
    let (mut paged, mut at) = (Vec::new(), Some(unanswered::EndedCursor::default()));
    while let Some(place) = at {
        let (page, next) = unanswered::page(&tx, place, 30).unwrap();
        assert!(page.len() <= 30);
        paged.extend(page);
        at = next;
    }
    assert_eq!(paged, all, "each once");
    outbox::insert(&tx, &[outgoing(ids[0], "d", "queued", 0)], &[]).unwrap();
    let rest = unanswered::page(&tx, unanswered::EndedCursor::default(), 1_000);
    assert_eq!(rest.unwrap().0.len(), 69);
    tx.commit().unwrap();
    assert_eq!(requests::counts(&reader).await.unwrap(), (30, 0));
}

#[tokio::test]
async fn an_outgoing_decision_is_stored_if_it_is_ours_and_lost_if_it_is_not() {
    let (_folder, mut writer, reader) = temporary().await;
    let ids = filled(&mut writer, 4);
    let tx = writer.begin().unwrap();
    let rows = [
        outgoing(ids[0], "ours", "queued", 0),
        outgoing(ids[1], "other", "queued", 0),
        outgoing(ids[2], "held", "holding", 50),
        outgoing(ids[3], "late", "queued", 0),
    ];
    outbox::insert(&tx, &rows, &[]).unwrap();
    assert_eq!(outbox::next_release(&tx).unwrap(), Some(Timestamp(50)));
    assert!(outbox::due(&tx, Timestamp(49)).unwrap().is_empty());
    assert_eq!(outbox::due(&tx, Timestamp(50)).unwrap().len(), 1);
    outbox::release(&tx, &[("held".into(), "sig".into())]).unwrap();
    let on_stream = [(ids[0], None, "ours"), (ids[1], None, "theirs")];
    outbox::settle(&tx, &on_stream, &[]).unwrap();
    let late = outbox::close(&tx, "late", "late").unwrap();
    assert_eq!(late, Some((outbox::Kind::Decision, ids[3])));
    assert_eq!(outbox::close(&tx, "ours", "late").unwrap(), None);
    outbox::clear_failed(&tx, ids[3]).unwrap();
    tx.commit().unwrap();
    let mut states = Vec::new();
    for id in ids {
        states.push(
            outbox::read(&reader, id)
                .await
                .unwrap()
                .map(|row| row.state),
        );
    }
    let expected = ["stored", "lost", "queued"].map(|word| Some(word.to_owned()));
    assert_eq!(states[..3], expected);
    assert_eq!(states[3], None);
    assert_eq!(outbox::count_open(&reader).await.unwrap(), 1);
}

#[tokio::test]
async fn a_repeated_receipt_is_left_out() {
    let (_folder, mut writer, _reader) = temporary().await;
    let receipt = |seq| NewReceipt {
        key: key("r1"),
        decision_id: "d".into(),
        stage: "executed".into(),
        at: Timestamp(seq),
        detail: b"{}".to_vec(),
        stream_seq: seq,
    };
    let tx = writer.begin().unwrap();
    assert_eq!(
        receipts::insert(&tx, &[receipt(1), receipt(2)]).unwrap(),
        [1]
    );
    tx.commit().unwrap();
    assert_eq!(receipts::of_request(&writer, &key("r1")).unwrap().len(), 1);
}

#[tokio::test]
async fn small_tables_keep_what_they_are_given() {
    let (_folder, mut writer, reader) = temporary().await;
    let agent: AgentKey = "acme/bot".parse().unwrap();
    let tx = writer.begin().unwrap();
    meta::put(&tx, meta::REALM, "a").unwrap();
    meta::put(&tx, meta::REALM, "b").unwrap();
    bus_stream::advance(&tx, "CS_REQUESTS", "e", 7, Timestamp(3)).unwrap();
    agents::enroll(&tx, &agent, "U1", Timestamp(1)).unwrap();
    for at in [Timestamp(9), Timestamp(5)] {
        agents::note_alive(&tx, &[(agent.clone(), at)]).unwrap();
    }
    alarms::raise(&tx, "void_decision", "a/b/c", Timestamp(1)).unwrap();
    alarms::raise(&tx, "void_decision", "a/b/c", Timestamp(2)).unwrap();
    assert!(agents::revoke(&tx, &agent, Timestamp(2)).unwrap());
    assert!(!agents::revoke(&tx, &agent, Timestamp(2)).unwrap());
    tx.commit().unwrap();
    assert_eq!(
        meta::get(&reader, meta::REALM).await.unwrap().as_deref(),
        Some("b")
    );
    assert_eq!(bus_stream::all(&reader).await.unwrap()[0].next_seq, 7);
    let known = agents::all(&reader).await.unwrap();
    assert_eq!(
        (known[0].key.as_deref(), known[0].last_seen),
        (None, Some(9))
    );
    assert_eq!(alarms::newest(&reader).await.unwrap().len(), 1);
}
