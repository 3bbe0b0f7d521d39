//! Rejected messages: kept, shown with their code, answered, never approvable.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk};

/// Every kind of rejection that one message can have, with the bytes that earn it.
fn faults(agent: &Agent) -> Vec<(&'static str, Vec<u8>)> {
    let request = |id: &str| agent.request(id);
    let text = |id: &str, from: &str, to: &str| {
        let text = String::from_utf8(request(id).bytes()).unwrap();
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1).into_bytes()
    };
    let deep = |id: &str| {
        let nested = "[".repeat(70) + &"]".repeat(70);
        request(id)
            .set(
                "metadata",
                serde_json::from_str(&format!("{{\"a\":{nested}}}")).unwrap(),
            )
            .bytes()
    };
    let mut bom = vec![0xef, 0xbb, 0xbf];
    bom.extend(request("not_json").bytes());
    vec![
        ("not_json", bom),
        (
            "bad_version",
            request("bad_version").set("v", json!(2)).bytes(),
        ),
        (
            "unknown_kind",
            request("unknown_kind").set("kind", json!("wish")).bytes(),
        ),
        (
            "missing_field",
            request("missing_field").without("risk").bytes(),
        ),
        (
            "wrong_type",
            request("wrong_type").set("title", json!(7)).bytes(),
        ),
        (
            "bad_timestamp",
            request("bad_timestamp")
                .set("requested_at", json!("yesterday"))
                .bytes(),
        ),
        ("bad_lifetime", request("bad_lifetime").lasting(0).bytes()),
        (
            "digest_mismatch",
            request("digest_mismatch")
                .set("args", json!({"other": 1}))
                .bytes(),
        ),
        ("subject_mismatch", request("another").bytes()),
        (
            "too_large",
            request("too_large")
                .set("reason", json!("x".repeat(600_000)))
                .bytes(),
        ),
        ("too_deep", deep("too_deep")),
        (
            "duplicate_key",
            text("duplicate_key", "\"v\":1", "\"v\":1,\"v\":1"),
        ),
        (
            "integer_out_of_range",
            text(
                "integer_out_of_range",
                "\"copies\":2",
                "\"copies\":9007199254740993",
            ),
        ),
        (
            "non_finite_number",
            text("non_finite_number", "\"copies\":2", "\"copies\":1e999"),
        ),
        (
            "lone_surrogate",
            text("lone_surrogate", "customer@", "\\ud800"),
        ),
    ]
}

#[tokio::test]
async fn each_rejected_message_is_listed_with_its_code_answered_and_never_approvable() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let faults = faults(&agent);
    for (code, payload) in &faults {
        agent.publish("request", code, payload.clone()).await;
    }
    for (code, _) in &faults {
        // The answer comes after the rejection.
        desk.show_when(code, |shown| shown["stream_seq"].is_number());
    }
    let lines = desk.lines(&["history", "--state", "rejected", "--json"]);
    assert_eq!(lines.len(), faults.len() + 1);
    for (code, payload) in &faults {
        let line = lines
            .iter()
            .find(|line| line["request_id"] == *code)
            .unwrap();
        assert_eq!(line["error_code"], *code, "{line}");
        assert_eq!(
            (&line["state"], &line["deadline_at"]),
            (&json!("rejected"), &Value::Null)
        );
        let decision = agent.decision(code).await.unwrap();
        assert_eq!(
            (&decision["verdict"], &decision["origin"]),
            (&json!("rejected"), &json!("system"))
        );
        for given in [
            &["approve", code, "--json"][..],
            &["respond", code, "--content", "x", "--json"],
        ] {
            let (exit, error, _) = desk.run(given).error();
            assert_eq!((exit, error.as_str()), (6, "not_approvable"), "{given:?}");
        }
        let shown = desk.json(&["show", code, "--json"]);
        assert_eq!(
            shown["request_digest"],
            countersign_wire::request_digest(payload).to_string()
        );
        let unreadable = ["not_json", "non_finite_number", "lone_surrogate"].contains(code);
        assert_eq!(shown["request"].is_null(), unreadable, "{code}");
        assert_eq!(shown["request_text"].is_string(), unreadable, "{code}");
    }
    for code in ["too_large", "unknown_kind"] {
        let reported = desk.run(&["show", code]).success().out;
        assert!(reported.len() < 64 << 10, "{code} floods a terminal");
        assert!(
            !reported.contains("can honour"),
            "{code}: no verdict is given"
        );
    }
    assert_eq!(
        desk.json(&["status", "--json"])["rejected"],
        json!(faults.len())
    );
    assert!(desk.lines(&["inbox", "--json"]).is_empty());
}

#[tokio::test]
async fn a_message_whose_subject_names_no_request_is_shown_by_its_sequence() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let request = agent.request("r1");
    let seq = agent.publish("request", "~no-id", request.bytes()).await;
    let id = format!("rejected:{seq}");
    let shown = desk.show_in_state(&id, "rejected");
    assert_eq!(
        (&shown["error_code"], &shown["workspace"]),
        (&json!("bad_subject"), &Value::Null)
    );
    assert_eq!(shown["request_id"], id);
    assert_eq!(shown["request"], request.0);
    let (exit, code, _) = desk.run(&["approve", &id, "--json"]).error();
    assert_eq!((exit, code.as_str()), (6, "not_approvable"));
    assert!(
        desk.run(&["show", &id])
            .success()
            .out
            .contains("bad_subject")
    );
}
