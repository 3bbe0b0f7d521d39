#![allow(clippy::unwrap_used)]

use countersign_domain::trace::TreeRow;

use super::*;

fn span(id: i64, kind: &str, status: Option<&str>, at: (i64, Option<i64>)) -> SpanRow {
    SpanRow {
        id,
        ws: "acme".into(),
        agent: "bot".into(),
        span_id: format!("s{id}"),
        parent_span_id: None,
        name: format!("name {id}"),
        kind: kind.into(),
        status: status.map(Into::into),
        started_at: at.0,
        ended_at: at.1,
        request_id: None,
        call_id: None,
    }
}

fn gate(state: &str, verdict: Option<&str>, stored_at: i64) -> GateRow {
    GateRow {
        id: 1,
        ws: "acme".into(),
        agent: "bot".into(),
        request_id: "r1".into(),
        tool: Some("delete".into()),
        risk: "high".into(),
        state: state.into(),
        verdict: verdict.map(Into::into),
        origin: verdict.map(|_| "operator".into()),
        decided_by: Some(r#"{"name": "ada\u202e", "key": "K"}"#.into()),
        stored_at,
        decided_at: None,
        deadline_at: 0,
        span_id: None,
        call_id: None,
    }
}

fn entry(span: Option<SpanRow>, gate: Option<GateRow>, parent: Option<usize>) -> Entry {
    let place = TreeRow {
        bar: 0,
        parent,
        depth: usize::from(parent.is_some()),
        repairs: vec![Repair::ParentOfAnother],
    };
    Entry {
        waiting_ms: gate.as_ref().map(|_| 400),
        span,
        gate,
        place,
    }
}

fn tree(entries: Vec<Entry>, now: i64) -> TraceTree {
    let trace = Trace {
        trace_id: "t".into(),
        entries,
        truncated: false,
        duration_ms: 700,
        waiting_ms: 400,
    };
    let mut glances = Glances::default();
    let body = br#"{"usage": {"tokens_charged": 5}, "error": {"code": 502}}"#;
    assert!(glances.take(2, body).is_continue());
    trace_tree(&trace, &glances, false, now)
}

#[test]
fn times_count_from_the_start_and_usage_is_that_of_all_below() {
    let entries = vec![
        entry(
            Some(span(1, "agent", Some("ok"), (1_000, Some(1_700)))),
            None,
            None,
        ),
        entry(
            Some(span(2, "tool", Some("error"), (1_100, Some(1_200)))),
            None,
            Some(0),
        ),
        entry(None, Some(gate("decided", Some("approve"), 1_200)), Some(0)),
    ];
    let tree = tree(entries, 9_000);
    assert_eq!((tree.start_ms, tree.duration_ms), (1_000, 700));
    let [root, tool, asked] = tree.lines.as_slice() else {
        panic!("{tree:?}")
    };
    assert_eq!(root.usage.unwrap().tokens_charged, 5.0);
    assert_eq!(
        (tool.start_ms, tool.end_ms, tool.look),
        (100, Some(200), LineLook::Error)
    );
    assert_eq!(tool.code, Some(escape("502")));
    assert_eq!(
        (asked.kind, asked.look, asked.end_ms),
        (LineKind::Request, LineLook::Ok, Some(600))
    );
    assert_eq!(asked.request.as_deref(), Some("acme/bot/r1"));
    let wait = asked.wait.as_ref().unwrap();
    assert_eq!(
        (wait.start_ms, wait.end_ms, wait.verdict.as_deref()),
        (200, 600, Some("approve"))
    );
    assert_eq!(wait.by.as_ref().unwrap().marks(), 1, "a name is escaped");
    assert_eq!(asked.repairs, [LineRepair::ParentOfAnotherAgent]);
    assert_eq!(tree.agents, ["acme/bot"]);
}

#[test]
fn a_trace_that_goes_on_reaches_to_now_and_one_that_crashed_does_not() {
    let running = entry(
        Some(span(1, "agent", Some("running"), (1_000, None))),
        None,
        None,
    );
    assert_eq!(tree(vec![running], 5_000).duration_ms, 4_000);
    let ended = entry(
        Some(span(1, "agent", Some("error"), (1_000, Some(1_700)))),
        None,
        None,
    );
    let crashed = entry(
        Some(span(3, "tool", Some("running"), (1_100, None))),
        None,
        Some(0),
    );
    let tree = tree(vec![ended, crashed], 5_000);
    assert_eq!(
        (tree.duration_ms, tree.lines[1].look),
        (700, LineLook::Unfinished)
    );
}

#[test]
fn a_span_whose_request_waits_is_waiting_and_every_state_of_a_request_has_its_look() {
    let span = span(1, "approval", Some("running"), (0, None));
    let line = &tree(
        vec![entry(Some(span), Some(gate("holding", None, 0)), None)],
        1,
    )
    .lines[0];
    assert_eq!(line.look, LineLook::Waiting);
    let table = [
        ("pending", None, LineLook::Waiting),
        ("decided", Some("modify"), LineLook::Ok),
        ("decided", Some("deny"), LineLook::Denied),
        ("decided", Some("terminate"), LineLook::Denied),
        ("decided", Some("skip"), LineLook::Cancelled),
        ("expired", None, LineLook::Timeout),
        ("withdrawn", None, LineLook::Cancelled),
        ("void", None, LineLook::Error),
    ];
    for (state, verdict, look) in table {
        let line = &tree(vec![entry(None, Some(gate(state, verdict, 0)), None)], 1).lines[0];
        assert_eq!(line.look, look, "{state} {verdict:?}");
    }
}

#[test]
fn what_led_here_is_the_last_steps_before_the_request_without_what_holds_it() {
    let mut entries = vec![entry(
        Some(span(1, "agent", Some("running"), (0, None))),
        None,
        None,
    )];
    for id in 10..20 {
        let at = (id * 10, Some(id * 10 + 5));
        entries.push(entry(Some(span(id, "tool", Some("ok"), at)), None, Some(0)));
    }
    entries.push(entry(None, Some(gate("pending", None, 500)), Some(0)));
    entries.push(entry(
        Some(span(30, "tool", Some("ok"), (900, Some(950)))),
        None,
        Some(0),
    ));
    let tree = tree(entries, 1_000);
    let led = led_here(&tree, "acme/bot/r1").unwrap();
    let names: Vec<String> = led.lines.iter().map(|line| line.name.plain()).collect();
    assert_eq!(names.len(), LED + 1);
    assert_eq!(
        (names[0].as_str(), names[LED].as_str()),
        ("name 12", "delete")
    );
    assert_eq!((led.earlier, led.from_ms, led.to_ms), (2, 120, 900));
    assert!(
        led.lines
            .iter()
            .all(|line| line.depth == 0 && line.parent.is_none())
    );
    assert_eq!(led_here(&tree, "acme/bot/other"), None);
}

#[test]
fn a_run_in_another_conversation_is_a_subchat_and_what_is_above_counts_those_that_go_on() {
    // Kind, thread, parent, end; then the kind that is shown and the subchats below.
    let table = [
        ("agent", Some("main"), None, None, LineKind::Agent, 0),
        ("tool", None, Some(0), None, LineKind::Tool, 2),
        ("agent", Some("a"), Some(1), Some(9), LineKind::Subchat, 0),
        ("tool", Some("a"), Some(2), Some(9), LineKind::Tool, 0),
        ("agent", Some("b"), Some(1), None, LineKind::Subchat, 1),
        ("agent", Some("b.1"), Some(4), None, LineKind::Subchat, 0),
        ("agent", Some("c"), Some(1), None, LineKind::Subchat, 0),
        ("tool", Some("d"), Some(1), None, LineKind::Tool, 0),
        ("agent", Some("main"), Some(1), None, LineKind::Agent, 0),
        ("agent", None, Some(1), None, LineKind::Agent, 0),
        ("agent", Some(""), Some(1), None, LineKind::Agent, 0),
        ("agent", Some("alone"), None, None, LineKind::Agent, 0),
        ("agent", None, None, None, LineKind::Agent, 0),
        ("agent", Some("first"), Some(12), None, LineKind::Agent, 0),
    ];
    let mut glances = Glances::default();
    let mut entries = Vec::new();
    for (id, (kind, thread, parent, end, ..)) in (1..).zip(table) {
        let status = if end.is_some() { "ok" } else { "running" };
        entries.push(entry(
            Some(span(id, kind, Some(status), (0, end))),
            None,
            parent,
        ));
        let body = serde_json::json!({"thread_id": thread}).to_string();
        assert!(glances.take(id, body.as_bytes()).is_continue());
    }
    let trace = Trace {
        trace_id: "t".into(),
        entries,
        truncated: false,
        duration_ms: 9,
        waiting_ms: 0,
    };
    let tree = trace_tree(&trace, &glances, false, 9);
    let seen: Vec<_> = tree
        .lines
        .iter()
        .map(|line| (line.kind, line.subchats))
        .collect();
    assert_eq!(seen, table.map(|(.., kind, below)| (kind, below)));
}
