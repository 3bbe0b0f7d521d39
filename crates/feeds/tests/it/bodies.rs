//! What an event says: pure, from rows that are written here.

use countersign_feeds::event::{Event, Sender, TYPES, is_of_use, matches, of_row};
use countersign_store::audit::Row;
use countersign_store::feed_log::{DecisionFacts, Facts, LogRow};
use serde_json::{Value, json};

fn sender() -> Sender {
    Sender {
        realm: "R".to_owned(),
        console: "C".to_owned(),
        shown: |text| text.replace('\u{202e}', "<rlo>"),
    }
}

fn row(action: &str, subject: &str, detail: Value) -> LogRow {
    let row = Row {
        seq: 7,
        prev: vec![1; 32],
        hash: vec![2; 32],
        at: "2026-11-28T12:00:00.000Z".to_owned(),
        actor: "U1".to_owned(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        detail: detail.to_string(),
    };
    LogRow { row, facts: None }
}

fn asked(action: &str, detail: Value, facts: Facts) -> LogRow {
    LogRow {
        facts: Some(facts),
        ..row(action, "acme/bot/r1", detail)
    }
}

fn facts() -> Facts {
    Facts {
        kind: Some("tool_call".to_owned()),
        tool: Some("pay\u{202e}ä".to_owned()),
        risk: Some("high".to_owned()),
        args_digest: Some("sha256:a".to_owned()),
        request_digest: Some("sha256:r".to_owned()),
        stored_at: Some(1_000),
        deadline_at: Some(301_000),
        ..Facts::default()
    }
}

fn decided(effective: &str) -> Facts {
    let decision = DecisionFacts {
        id: Some("d1".to_owned()),
        payload: None,
        decided_by: Some(r#"{"name":"Ada","key":"U2","listed_name":"A"}"#.to_owned()),
        origin: Some("rule".to_owned()),
        rule_id: Some("r".to_owned()),
        rule_version: Some(3),
        stored_at: 2_000,
    };
    Facts {
        effective: Some(effective.to_owned()),
        decision: Some(decision),
        ..facts()
    }
}

fn events(log: &LogRow) -> Vec<Event> {
    of_row(&sender(), log, |_, _| true)
}

fn typed(log: &LogRow) -> (String, Value) {
    let event = events(log).remove(0);
    let body: Value = serde_json::from_str(&event.body).unwrap();
    assert_eq!(body["type"], event.kind);
    (event.kind, body)
}

#[test]
fn each_row_is_the_event_of_its_type_and_one_of_the_audit_log() {
    for (action, subject, detail, kind, workspace) in [
        (
            "alarm",
            "acme/bot/r1",
            json!({}),
            "alarm.raised",
            Some("acme"),
        ),
        ("alarm", "CS_REQUESTS", json!({}), "alarm.raised", None),
        (
            "alarm",
            "rules.acme",
            json!({}),
            "alarm.raised",
            Some("acme"),
        ),
        (
            "alarm_acknowledged",
            "acme/bot",
            json!({}),
            "alarm.acknowledged",
            Some("acme"),
        ),
        ("alarm_cleared", "soc", json!({}), "alarm.cleared", None),
        ("policy", "panic", json!({}), "control.changed", None),
        (
            "policy",
            "pause.acme.bot",
            json!({}),
            "control.changed",
            Some("acme"),
        ),
        (
            "policy",
            "bypass.acme.bot",
            json!({}),
            "control.changed",
            Some("acme"),
        ),
        (
            "policy",
            "rules.acme",
            json!({}),
            "rules.changed",
            Some("acme"),
        ),
        (
            "policy",
            "setup.acme.bot",
            json!({}),
            "rules.changed",
            Some("acme"),
        ),
        (
            "regret",
            "acme/bot/r1",
            json!({}),
            "rules.changed",
            Some("acme"),
        ),
        ("operator_waits", "U3", json!({}), "operator.changed", None),
        ("operators", "7", json!({}), "operator.changed", None),
        ("restore", "C", json!({}), "console.changed", None),
        (
            "quarantine",
            "CS_REQUESTS/12",
            json!({}),
            "audit.quarantine",
            None,
        ),
        (
            "vote",
            "acme/bot/r1/U1",
            json!({}),
            "audit.vote",
            Some("acme"),
        ),
        ("policy", "operators", json!({}), "audit.policy", None),
    ] {
        let log = row(action, subject, detail);
        let (found, body) = typed(&log);
        assert_eq!(
            (found.as_str(), body["data"]["workspace"].as_str()),
            (kind, workspace),
            "{action} {subject}"
        );
        let all = events(&log);
        assert_eq!(all.last().unwrap().kind, format!("audit.{action}"));
        assert_eq!(body["data"]["hash"], "02".repeat(32));
    }
}

#[test]
fn steps_of_a_request_say_what_it_was_then() {
    let waiting = json!({ "request_digest": "sha256:r" });
    let (kind, body) = typed(&asked("request", waiting.clone(), facts()));
    assert_eq!(kind, "request.waiting");
    assert_eq!(
        body,
        json!({
            "type": "request.waiting", "timestamp": "2026-11-28T12:00:00.000Z",
            "data": {
                "v": 1, "realm": "R", "console": "C", "seq": 7, "workspace": "acme", "agent": "bot", "request_id": "r1",
                "kind": "tool_call", "tool": "pay<rlo>ä", "risk": "high", "state": "pending", "verdict": null,
                "origin": null, "decided_by": null, "rule": null, "stage": null, "args_digest": "sha256:a",
                "request_digest": "sha256:r", "decision_id": null, "stored_at": "1970-01-01T00:00:01.000Z",
                "deadline_at": "1970-01-01T00:05:01.000Z", "decided_at": null,
            },
        })
    );
    for (effective, kind, state) in [
        ("approve", "request.decided", "decided"),
        ("terminate", "request.decided", "decided"),
        ("expired", "request.expired", "expired"),
        ("withdrawn", "request.withdrawn", "withdrawn"),
        ("void", "request.void", "void"),
    ] {
        for action in ["decision", "judged", "judged_again"] {
            let (found, body) = typed(&asked(
                action,
                json!({ "effective": effective }),
                decided(effective),
            ));
            let data = &body["data"];
            assert_eq!(
                (found.as_str(), data["state"].as_str()),
                (kind, Some(state))
            );
            assert_eq!(data["verdict"], effective);
            assert_eq!(data["decided_by"], json!({ "name": "Ada", "key": "U2" }));
            assert_eq!(data["rule"], json!({ "id": "r", "version": 3 }));
            assert_eq!(
                (&data["decision_id"], &data["decided_at"]),
                (&json!("d1"), &json!("1970-01-01T00:00:02.000Z"))
            );
        }
    }
    // It is the answer to what was never a request, and `rejected` has reported that.
    assert_eq!(
        events(&asked(
            "decision",
            json!({ "effective": "rejected" }),
            decided("rejected")
        ))
        .len(),
        1
    );
    assert_eq!(events(&asked("decision", json!({}), facts())).len(), 1);
    let receipt = Facts {
        receipt_of: Some("d1".to_owned()),
        ..decided("modify")
    };
    let (kind, body) = typed(&asked("receipt", json!({ "stage": "executed" }), receipt));
    assert_eq!(
        (kind.as_str(), &body["data"]["stage"]),
        ("receipt.executed", &json!("executed"))
    );
    assert_eq!(body["data"]["verdict"], "modify");
    let rejected = LogRow {
        facts: Some(facts()),
        ..row("rejected", "rejected:9", waiting.clone())
    };
    let (kind, body) = typed(&rejected);
    assert_eq!(
        (
            kind.as_str(),
            &body["data"]["agent"],
            &body["data"]["deadline_at"]
        ),
        ("request.rejected", &Value::Null, &Value::Null)
    );
    let probe = Facts {
        tool: Some("countersign_probe".to_owned()),
        ..facts()
    };
    let kinds: Vec<String> = events(&asked("request", waiting, probe))
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds, ["audit.request"]);
}

/// SHA-256 over `REALM "\n" TYPE "\n" X`, as anybody makes it.
fn id(kind: &str, unique: &str) -> String {
    let hash = countersign_wire::Sha256Digest::of_bytes(format!("R\n{kind}\n{unique}").as_bytes())
        .to_string();
    format!("evt_{}", &hash["sha256:".len()..][..32])
}

#[test]
fn ids_are_the_same_at_each_console() {
    let of = |log: &LogRow| events(log).remove(0).id;
    let waiting = asked("request", json!({ "request_digest": "sha256:r" }), facts());
    assert_eq!(of(&waiting), id("request.waiting", "acme/bot/r1\nsha256:r"));
    let decision = |action, facts| {
        asked(
            action,
            json!({ "effective": "void", "payload_digest": "sha256:p" }),
            facts,
        )
    };
    for action in ["decision", "judged"] {
        assert_eq!(
            of(&decision(action, decided("void"))),
            id("request.void", "acme/bot/r1\nd1\nvoid")
        );
    }
    let mut nameless = decided("void");
    nameless.decision = Some(DecisionFacts {
        payload: Some(b"x".to_vec()),
        ..DecisionFacts::default()
    });
    let digest = countersign_wire::Sha256Digest::of_bytes(b"x");
    assert_eq!(
        of(&decision("judged", nameless)),
        id("request.void", &format!("acme/bot/r1\n{digest}\nvoid"))
    );
    assert_eq!(
        of(&decision("judged_again", decided("void"))),
        id("request.void", &"02".repeat(32))
    );
    let receipt = asked(
        "receipt",
        json!({ "stage": "failed", "payload_digest": "sha256:p" }),
        facts(),
    );
    assert_eq!(of(&receipt), id("receipt.failed", "acme/bot/r1\nsha256:p"));
    let rejected = LogRow {
        facts: Some(facts()),
        ..row(
            "rejected",
            "rejected:9",
            json!({ "request_digest": "sha256:r" }),
        )
    };
    assert_eq!(of(&rejected), id("request.rejected", "\nsha256:r"));
    assert_eq!(
        events(&waiting)[1].id,
        id("audit.request", &"02".repeat(32))
    );
}

#[test]
fn a_body_is_ascii_on_one_line_and_bounded() {
    let log = row(
        "hold",
        "acme/bot",
        json!({ "places": vec!["/ä\n\u{7f}"; 4_000] }),
    );
    let event = events(&log).remove(0);
    assert!(event.body.is_ascii() && !event.body.contains('\n') && event.body.len() < 20 << 10);
    let body: Value = serde_json::from_str(&event.body).unwrap();
    assert_eq!(body["data"]["detail"], Value::Null);
    let small = row(
        "hold",
        "acme/bot",
        json!({ "places": ["/ä\n\u{7f}\u{1f600}"] }),
    );
    let body: Value = serde_json::from_str(&events(&small)[0].body).unwrap();
    assert_eq!(body["data"]["detail"]["places"][0], "/ä\n\u{7f}\u{1f600}");
    let long = Facts {
        tool: Some("x".repeat(9_000)),
        ..facts()
    };
    let body = typed(&asked("request", json!({}), long)).1;
    assert_eq!(body["data"]["tool"].as_str().unwrap().len(), 200);
}

#[test]
fn a_star_is_any_characters() {
    for (pattern, text, fits) in [
        ("request.*", "request.waiting", true),
        ("request.*", "requests", false),
        ("*", "", true),
        ("*.changed", "rules.changed", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxcyyb", false),
        ("a*a", "a", false),
        ("audit.[ab]*", "audit.answer", false),
        ("receipt.?", "receipt.x", false),
    ] {
        assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
    }
    assert!(TYPES.iter().all(|kind| is_of_use(kind)));
    for none in ["request", "audit.", "audit.nothing", "requests.*", ""] {
        assert!(!is_of_use(none), "{none}");
    }
}

#[test]
fn names_of_arguments_are_in_no_detail_but_those_of_findings() {
    for action in ["reader_answered", "typed_target"] {
        let log = row(
            action,
            "acme/bot",
            json!({ "pointer": "/canary", "places": ["/canary"] }),
        );
        let [event] = events(&log).try_into().unwrap();
        assert!(!event.body.contains("canary"), "{}", event.body);
        let body: Value = serde_json::from_str(&event.body).unwrap();
        assert_eq!(body["data"]["detail"], Value::Null);
    }
}
