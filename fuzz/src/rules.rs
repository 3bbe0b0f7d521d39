//! What reads rules and setup schemas: files of people, and values of the shared policy.

use std::collections::BTreeMap;

use countersign_domain::Timestamp;
use countersign_domain::controls::AutomaticOff;
use countersign_rules::evaluate::{Asked, Outcome, Setting, Used, Uses, evaluate};
use countersign_rules::read::{RULES_MAX, read_set};
use countersign_rules::setup::read_schema;
use countersign_rules::{Conditions, Effect, PolicySet, Rule, read_file};
use countersign_wire::parse_request;
use serde_json::{Value, json};

/// A call that a careless rule would match.
const SUBJECT: &str = "countersign.v1.request.acme.bot.r1";
const CALL: &str = r#"{"v":1,"request_id":"r1","kind":"tool_call","workspace":"acme","agent":{"name":"bot"},
    "tool":{"name":"pay"},"args":{"amount":10,"to":"somebody@example.org"},"risk":"low",
    "args_digest":null,
    "allowed_verdicts":["approve","deny"],"requested_at":"2026-11-21T12:00:00.000Z"}"#;

/// Rules are read or refused with a reason; what is read is written and read again as the same, and
/// lets nothing run that it does not say.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match read_file(text) {
        Ok(read) => hold(read),
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|at| at.line > 0 && at.column > 0));
        }
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    match read_set(&value, "rules") {
        Ok(read) => hold(read),
        Err(problems) => assert!(!problems.is_empty()),
    }
    if let Err(problems) = read_schema(&value) {
        assert!(!problems.is_empty());
    }
}

fn hold(read: Vec<Rule>) {
    assert!(read.len() <= RULES_MAX);
    let written: Vec<Value> = read.iter().map(Rule::to_json).collect();
    let value = json!({ "schema": 1, "rules": written });
    let again = read_set(&value, "rules").expect("what was read can be read again");
    assert!(
        read.iter()
            .zip(&again)
            .all(|(one, other)| one.says_the_same(other))
    );
    let approves = read.iter().any(|rule| rule.effect == Effect::Approve);
    let Ok(policy) = PolicySet::new(read, BTreeMap::new()) else {
        return;
    };
    let twice = PolicySet::new(again, BTreeMap::new()).expect("the same rules");
    assert_eq!(policy.digest(), twice.digest());
    for off in [None, Some(AutomaticOff::Panic)] {
        if lets_run(&policy, off) {
            assert!(approves && off.is_none());
        }
    }
}

fn lets_run(policy: &PolicySet, approves_off: Option<AutomaticOff>) -> bool {
    let mut call: Value = serde_json::from_str(CALL).expect("JSON");
    let digest = countersign_wire::args_digest(&call["args"]).expect("a digest");
    call["args_digest"] = json!(digest);
    let payload = serde_json::to_vec(&call).expect("JSON");
    let parsed = parse_request(SUBJECT, &payload).expect("a request");
    let rules = policy.rules().iter();
    let uses: Uses = rules
        .map(|of| (of.rule.id.clone(), Used::default()))
        .collect();
    let conditions = Conditions::default();
    let setting = Setting {
        now: Timestamp(1_795_000_000_000),
        approves_off,
        bypass: None,
        author_may: true,
        uses: &uses,
        explain: true,
        conditions: &conditions,
    };
    let found = evaluate(policy, &Asked::of(&parsed), &setting);
    matches!(found.outcome, Outcome::Approve(_))
}
