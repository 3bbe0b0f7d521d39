//! The same of bypasses and setup keys, and of the audit entries of automatic approvals.

use countersign_wire::{Risk, Sha256Digest};
use nkeys::KeyPair;
use serde_json::{Value, json};

use super::{
    Change, NAME, UNDER_PANIC_OR_PAUSE, at, audited, broken, by_a_rule, by_itself, control,
    every_one_is_found, sound,
};
use crate::facts::Facts;
use crate::grants::{Bypass, Version};

const BYPASS: &str = "no bypass approved outside of its window or its limits";
const SETUP_KEY: &str = "setup keys approved only what their bindings let pass";
const AUDITED: &str = "every automatic approval is in the audit logs";

/// A request like that, changed; whoever approved it approved this.
fn asked(facts: &mut Facts, change: impl Fn(&mut Value)) {
    let request = facts.streams.requests.get_mut(NAME).unwrap();
    let mut body: Value = serde_json::from_slice(&request.payload).unwrap();
    change(&mut body);
    request.payload = serde_json::to_vec(&body).unwrap();
    let digest = Sha256Digest::of_bytes(&request.payload).to_string();
    let decision = facts.streams.decisions.get_mut(NAME).unwrap();
    let mut body: Value = serde_json::from_slice(&decision.payload).unwrap();
    body["request_digest"] = json!(digest);
    decision.payload = serde_json::to_vec(&body).unwrap();
}

/// A bypass of this agent, set and over in these seconds, and an approval by it.
fn bypassed(facts: &mut Facts, (from, until): (i64, i64), stored: i64) {
    bypass(facts, 7, from, Some((Risk::Low, at(until))));
    by_itself(facts, stored, "rule", ("bypass.acme.bot", 7));
}

fn bypass(
    facts: &mut Facts,
    revision: u64,
    second: i64,
    grant: Option<(Risk, time::OffsetDateTime)>,
) {
    let (at, value) = (at(second), Bypass { grant });
    let of = &mut facts.streams.grants.bypasses;
    let of = of.entry("acme/bot".parse().unwrap()).or_default();
    of.insert(revision, Version { at, value });
}

/// An approval by a setup key with this setup.
fn by_a_key(facts: &mut Facts, setup: &Value) {
    asked(facts, |body| {
        body["confirm"] = json!({"setup_key": "free_notes"})
    });
    let of = &mut facts.streams.grants.setups;
    let of = of.entry("acme/bot".parse().unwrap()).or_default();
    let (at, value) = (at(-10), setup.clone());
    of.insert(7, Version { at, value });
    by_itself(facts, 1, "setup_key", ("free_notes", 7));
}

fn bound() -> Value {
    json!({"v": 1, "bindings": {"free_notes": {"skips_when": true}}})
}

const CHANGES: [(&str, Change); 15] = [
    // A key that spares the question has the same limits as a rule.
    (UNDER_PANIC_OR_PAUSE, |facts, _| {
        by_a_key(facts, &bound());
        control(facts, -4, Some("acme/bot"), true);
    }),
    (BYPASS, |facts, _| bypassed(facts, (-20, -3), 1)),
    (BYPASS, |facts, _| bypassed(facts, (3, 20), 4)),
    (BYPASS, |facts, _| bypassed(facts, (-20, 9), 40)),
    // Somebody ended it.
    (BYPASS, |facts, _| {
        bypass(facts, 8, -5, None);
        bypassed(facts, (-20, 20), 1);
    }),
    (BYPASS, |facts, _| {
        bypass(facts, 7, -5, None);
        by_itself(facts, 1, "rule", ("bypass.acme.bot", 7));
    }),
    // It names one that never was.
    (BYPASS, |facts, _| {
        bypassed(facts, (-20, 20), 1);
        let grants = &mut facts.streams.grants;
        grants.bypasses.clear();
    }),
    (BYPASS, |facts, _| {
        asked(facts, |body| body["risk"] = json!("medium"));
        bypassed(facts, (-20, 20), 1);
    }),
    (BYPASS, |facts, _| {
        asked(facts, |body| body["tool"]["name"] = json!("pay"));
        bypassed(facts, (-20, 20), 1);
    }),
    (SETUP_KEY, |facts, _| {
        by_a_key(facts, &json!({"v": 1}));
    }),
    (SETUP_KEY, |facts, _| {
        let mut setup = bound();
        setup["values"] = json!({"free_notes": {"value": false}});
        by_a_key(facts, &setup);
    }),
    (SETUP_KEY, |facts, _| {
        by_a_key(facts, &bound());
        by_itself(facts, 1, "setup_key", ("another", 7));
    }),
    (SETUP_KEY, |facts, _| {
        asked(facts, |body| body["risk"] = json!("critical"));
        by_a_key(facts, &bound());
    }),
    (AUDITED, |facts, _| {
        by_a_rule(facts, 1);
        facts.consoles[0].rows.audited.clear();
        audited(&mut facts.consoles[0], "decision");
    }),
    (AUDITED, |facts, _| {
        by_a_rule(facts, 1);
        facts.consoles[1].rows.audited.clear();
    }),
];

#[test]
fn what_is_spared_within_its_limits_breaks_no_promise() {
    let human = KeyPair::new_user();
    // Sent when the window was over, made a second before that; a later bypass changes nothing.
    let mut facts = sound(&human);
    bypassed(&mut facts, (-20, 2), 9);
    bypass(&mut facts, 8, 3, None);
    assert_eq!(broken(&facts), Vec::<&str>::new());
    // The default counts as the value, and a value that was chosen as itself.
    for values in [json!({}), json!({"free_notes": {"value": true}})] {
        let mut facts = sound(&human);
        let mut setup = bound();
        setup["values"] = values;
        by_a_key(&mut facts, &setup);
        assert_eq!(broken(&facts), Vec::<&str>::new());
    }
    // A binding may say that it spares critical calls too.
    let mut facts = sound(&human);
    asked(&mut facts, |body| body["risk"] = json!("critical"));
    let mut setup = bound();
    setup["bindings"]["free_notes"]["critical"] = json!(true);
    by_a_key(&mut facts, &setup);
    assert_eq!(broken(&facts), Vec::<&str>::new());
}

#[test]
fn what_is_spared_beyond_its_limits_is_found() {
    every_one_is_found(&CHANGES);
}
