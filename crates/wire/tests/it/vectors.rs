//! The published vectors (`docs/protocol/vectors`): what every implementation reads the same.

use countersign_wire::{
    Context, DecisionCheck, DecisionFault, RequestFacts, Timestamp, decision_subject,
    parse_request, sign, verify_decision,
};
use serde_json::Value;
use time::Duration;

use crate::support::{REALM, STORED_AT, SUBJECT, facts, log, pair, public, published};

fn vectors(list: &str) -> Vec<Value> {
    let all: Value = serde_json::from_slice(&published("vectors/decisions.json")).unwrap();
    all[list].as_array().unwrap().clone()
}

fn example() -> String {
    String::from_utf8(published("examples/decision-approve.json")).unwrap()
}

/// Of the decision of these bytes, signed by the operator of the examples.
fn fault(text: &str) -> Option<&'static str> {
    let asked = parse_request(SUBJECT, &published("examples/request.json")).unwrap();
    let facts = RequestFacts {
        request_digest: asked.request_digest,
        ..facts()
    };
    let (subject, payload) = (decision_subject(&facts.key), text.as_bytes());
    let sig = sign(&pair(1), Context::Decision, &REALM, &subject, payload).unwrap();
    let judged = verify_decision(&DecisionCheck {
        subject: &subject,
        payload,
        key_header: Some(public(1).as_str()),
        sig_header: Some(sig.as_str()),
        stored_at: STORED_AT + Duration::seconds(20),
        standing: log().at(None),
        request: &facts,
    });
    judged.err().map(DecisionFault::as_str)
}

#[test]
fn a_time_stamp_reads_as_every_implementation_reads_it() {
    let rows = vectors("timestamps");
    assert!(rows.len() > 40);
    for row in rows {
        let (text, utc) = (row["text"].as_str().unwrap(), row["utc"].as_str());
        let read = text.parse::<Timestamp>().ok().map(|at| at.to_string());
        assert_eq!(read.as_deref(), utc, "{text}");
        let decided_at = Value::from(text).to_string();
        let decision = example().replace("\"2026-11-21T12:00:20.000Z\"", &decided_at);
        let expected = utc.is_none().then_some("malformed");
        assert_eq!(fault(&decision), expected, "{text}");
    }
}

#[test]
fn a_decision_is_judged_as_every_implementation_judges_it() {
    let rows = vectors("decisions");
    assert!(rows.len() > 30);
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap();
        assert_eq!(example().matches(text("from")).count(), 1, "{row}");
        let decision = example().replace(text("from"), text("to"));
        assert_eq!(fault(&decision), row["fault"].as_str(), "{}", text("what"));
    }
}
