//! What counts, whatever the bucket brings in whichever order.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use countersign_rules::{Effect, Replaced};
use countersign_wire::realm::{Limits, Mark, SigningKey, Term};
use countersign_wire::{AgentControl, Context, SignedEnvelope};
use nkeys::KeyPair;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const REALM: Uuid = Uuid::from_u128(7);
/// When the server stores everything.
const NOON: &str = "2026-11-22T12:00:00Z";
const DENY: &str = r#"{"id":"no","effect":"deny","tool":["t"]}"#;

/// Ada has no limits, Ben may allow nothing in acme.
#[derive(Clone)]
struct Known(BTreeMap<String, Term>);

impl Signers for Known {
    fn term(&self, key: &str, _revision: u64) -> Option<Term> {
        self.0.get(key).cloned()
    }

    fn name(&self, _key: &str) -> Option<String> {
        None
    }

    fn is_operator(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }
}

struct Desk {
    ada: KeyPair,
    ben: KeyPair,
    signers: Known,
    registers: Registers,
    revision: u64,
}

fn agent() -> AgentKey {
    "acme/bot".parse().unwrap()
}

fn acme() -> WorkspaceName {
    "acme".parse().unwrap()
}

/// The time of what is signed.
fn at(second: u32) -> String {
    format!("2026-11-22T11:00:{second:02}.000Z")
}

impl Desk {
    fn new() -> Self {
        let (ada, ben) = (KeyPair::new_user(), KeyPair::new_user());
        let elsewhere = Limits {
            workspaces: Some(["other".to_owned()].into()),
            max_risk: None,
        };
        let term = |pair: &KeyPair, limits| {
            let operator = countersign_wire::PublicKey::of(pair).unwrap();
            let key = SigningKey::of_pair(pair, &REALM, &operator, "human", None).unwrap();
            let key = SigningKey::read(&key).unwrap();
            let began = Mark {
                n: 1,
                sequence: 0,
                policy: None,
            };
            let term = Term {
                operator: operator.to_string(),
                limits,
                key,
                began,
                ended: None,
            };
            (operator.to_string(), term)
        };
        let signers = Known([term(&ada, None), term(&ben, Some(elsewhere))].into());
        Self {
            ada,
            ben,
            signers,
            registers: Registers::default(),
            revision: 0,
        }
    }

    fn sealed(pair: &KeyPair, key: &PolicyKey, payload: &Value) -> Vec<u8> {
        let (subject, payload) = (key.subject(), payload.to_string());
        let sealed =
            SignedEnvelope::seal(pair, Context::Policy, &REALM, &subject, payload.as_bytes());
        sealed.unwrap().to_bytes().unwrap()
    }

    fn change(&mut self, key: &PolicyKey, value: Option<Vec<u8>>) -> PolicyChange {
        self.revision += 1;
        let stamp = Timestamp::parse(NOON).unwrap();
        PolicyChange {
            key: key.to_string(),
            value: value.map(Into::into),
            revision: self.revision,
            stamp: stamp.into(),
        }
    }

    fn take(&mut self, key: &PolicyKey, value: Option<Vec<u8>>) -> News {
        let change = self.change(key, value);
        let by = (&self.signers, &REALM);
        let news = self.registers.take_at_once(by, key, &change).unwrap();
        assert_eq!(self.registers.take_at_once(by, key, &change), None);
        news
    }

    fn signed(&mut self, key: &PolicyKey, payload: &Value) -> News {
        let value = Self::sealed(&self.ada, key, payload);
        self.take(key, Some(value))
    }

    fn stop(&self) -> Option<AgentControl> {
        let controls = self.registers.controls().read();
        let mut all = controls.agents();
        all.next().map(|(_, set)| set.state)
    }

    /// Effects of the rules in force, and why they were replaced.
    fn rules(&self) -> (Vec<Effect>, Option<Replaced>) {
        let in_force = self.registers.of(&acme()).unwrap();
        let effects = in_force.set.rules().iter().map(|of| of.rule.effect);
        (effects.collect(), in_force.replaced)
    }
}

fn panic(on: bool, second: u32) -> Value {
    json!({"v": 1, "on": on, "by": "Ada", "at": at(second)})
}

fn pause(state: &str, second: u32) -> Value {
    json!({"v": 1, "state": state, "by": "Ada", "at": at(second)})
}

fn rules(rules: &str, second: u32) -> Value {
    let rules: Value = serde_json::from_str(&format!("[{rules}]")).unwrap();
    json!({"v": 1, "schema": 1, "rules": rules, "by": "Ada", "at": at(second)})
}

fn setup(value: i64, second: u32) -> Value {
    let chosen = json!({"value": value, "by": "Ada", "at": at(second)});
    json!({"v": 1, "values": {"key": chosen}, "by": "Ada", "at": at(second)})
}

/// What somebody does to `panic`.
#[derive(Debug, Clone)]
enum Step {
    Signs { ada: bool, on: bool, second: u32 },
    StoresAgain(usize),
    StoresGarbage,
    Deletes,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<bool>(), any::<bool>(), 0..20_u32)
            .prop_map(|(ada, on, second)| Step::Signs { ada, on, second }),
        2 => (0..16_usize).prop_map(Step::StoresAgain),
        1 => Just(Step::StoresGarbage),
        1 => Just(Step::Deletes),
    ]
}

proptest! {
    #[test]
    fn panic_ends_only_by_the_newest_word_of_an_operator_without_limits(
        steps in prop::collection::vec(step(), 1..24)
    ) {
        let mut desk = Desk::new();
        let mut stored: Vec<(Vec<u8>, bool, bool, u32)> = Vec::new();
        // The last that counted.
        let mut last: Option<(Vec<u8>, u32)> = None;
        for step in steps {
            let value = match step {
                Step::Signs { ada, on, second } => {
                    let pair = if ada { &desk.ada } else { &desk.ben };
                    let bytes = Desk::sealed(pair, &PolicyKey::Panic, &panic(on, second));
                    stored.push((bytes, ada, on, second));
                    stored.last().cloned()
                }
                Step::StoresAgain(place) => stored.get(place).cloned(),
                Step::StoresGarbage | Step::Deletes => None,
            };
            let counts = value.as_ref().is_some_and(|(bytes, ada, on, second)| {
                let newer = last.as_ref().is_none_or(|(known, at)| known == bytes || at < second);
                newer && (*ada || *on)
            });
            let on = value.as_ref().is_none_or(|(_, _, on, _)| *on || !counts);
            let bytes = match (&value, &step) {
                (Some((bytes, ..)), _) => Some(bytes.clone()),
                (None, Step::Deletes) => None,
                (None, _) => Some(b"{}".to_vec()),
            };
            let news = desk.take(&PolicyKey::Panic, bytes);
            prop_assert_eq!(news.good, counts);
            prop_assert_eq!(news.kept.is_some(), counts);
            prop_assert_eq!(desk.registers.controls().read().panic().is_some(), on);
            if let Some((bytes, _, _, second)) = value.filter(|_| counts) {
                last = Some((bytes, second));
            }
        }
    }
}

#[test]
fn an_agent_whose_control_does_not_count_is_paused_and_one_that_was_stopped_stays_so() {
    let key = PolicyKey::Pause(agent());
    for (before, after) in [
        ("running", AgentControl::Paused),
        ("paused", AgentControl::Paused),
        ("stopped", AgentControl::Stopped),
    ] {
        let bad = [None, Some(b"{}".to_vec())];
        for value in bad {
            let mut desk = Desk::new();
            assert!(desk.signed(&key, &pause(before, 5)).good);
            assert!(!desk.take(&key, value).good);
            assert_eq!(desk.stop(), Some(after), "{before}");
            let unreadable = pause("fast", 6);
            let news = desk.signed(&key, &unreadable);
            assert!(
                !news.good && news.kept.is_some(),
                "it is kept, signed as it is"
            );
            assert_eq!(desk.stop(), Some(after), "{before}");
            desk.signed(&key, &pause("running", 7));
            assert_eq!(desk.stop(), None);
            let stale = Desk::sealed(&desk.ada, &key, &pause("stopped", 1));
            desk.take(&key, Some(stale));
            assert_eq!(
                desk.stop(),
                Some(AgentControl::Stopped),
                "a stop that is too old"
            );
        }
    }
}

#[test]
fn an_operator_under_limits_holds_back_and_relaxes_nothing() {
    let (pauses, ruled, setups) = (
        PolicyKey::Pause(agent()),
        PolicyKey::Rules(acme()),
        PolicyKey::Setup(agent()),
    );
    let by_setup = r#"{"id":"no","effect":"deny","tool":["t"],"when":"setup.key == 1"}"#;
    for (key, before, after, may) in [
        (&pauses, pause("running", 1), pause("stopped", 2), true),
        (&pauses, pause("stopped", 1), pause("paused", 2), false),
        (&pauses, pause("paused", 1), pause("running", 2), false),
        (&ruled, rules("", 1), rules(DENY, 2), true),
        (&ruled, rules(DENY, 1), rules("", 2), false),
        (&ruled, rules(DENY, 1), json!({"at": at(2)}), false),
        (&setups, setup(1, 1), setup(1, 2), true),
        (&setups, setup(1, 1), setup(2, 2), false),
    ] {
        let mut desk = Desk::new();
        if key == &setups {
            desk.signed(&ruled, &rules(by_setup, 1));
        }
        assert!(desk.signed(key, &before).good);
        let value = Desk::sealed(&desk.ben, key, &after);
        assert_eq!(desk.take(key, Some(value)).good, may, "{before} => {after}");
    }
    let mut desk = Desk::new();
    desk.signed(&ruled, &rules(DENY, 1));
    desk.signed(&setups, &setup(1, 1));
    let value = Desk::sealed(&desk.ben, &setups, &setup(2, 2));
    assert!(desk.take(&setups, Some(value)).good, "no rule asks by it");
}

#[test]
fn rules_that_do_not_count_deny_on_until_a_signed_value_takes_their_place() {
    let key = PolicyKey::Rules(acme());
    let mut desk = Desk::new();
    assert!(desk.take(&key, None).good, "nothing was deleted");
    desk.signed(&key, &rules(DENY, 1));
    assert_eq!(desk.rules(), (vec![Effect::Deny], None));
    assert!(!desk.take(&key, Some(b"{}".to_vec())).good);
    assert_eq!(desk.rules(), (vec![Effect::Deny], Some(Replaced::Unsigned)));
    assert!(!desk.take(&key, None).good, "nobody signs a deletion");
    assert_eq!(desk.rules(), (vec![Effect::Deny], Some(Replaced::Unsigned)));
    let news = desk.signed(&key, &json!({"v": 1, "schema": 99, "at": at(2)}));
    assert_eq!(news.kept.unwrap().1["rules"], 0);
    assert_eq!(
        desk.rules(),
        (vec![Effect::Deny], Some(Replaced::Unreadable))
    );
    assert!(desk.signed(&key, &rules("", 3)).good);
    assert_eq!(desk.rules(), (vec![], None));
    let news = desk.take(&key, None);
    assert!(news.kept.unwrap().0.is_deleted(), "there was none left");
    let old = Desk::sealed(&desk.ada, &key, &rules("", 3));
    assert!(
        !desk.take(&key, Some(old)).good,
        "signed before the deletion"
    );
}

#[test]
fn a_console_knows_after_a_restart_what_it_knew_before() {
    let (panics, ruled, setups) = (
        PolicyKey::Panic,
        PolicyKey::Rules(acme()),
        PolicyKey::Setup(agent()),
    );
    let mut desk = Desk::new();
    let values = [
        (&ruled, rules(DENY, 1)),
        (&setups, setup(1, 1)),
        // Last: its revision is not the first.
        (&panics, panic(true, 1)),
    ];
    let kept: Vec<Kept> = values
        .iter()
        .map(|(key, value)| desk.signed(key, value).kept.unwrap().0.into())
        .collect();
    let again = Registers::remembered(&desk.signers, &kept, &[]);
    assert!(again.controls().read().panic().is_some());
    assert_eq!(again.generation() > 0, !again.is_empty());
    for (revision, (key, value)) in (1..).zip(values) {
        let bytes = Desk::sealed(&desk.ada, key, &value);
        let mut change = desk.change(key, Some(bytes));
        change.revision = revision;
        let news = again.take_at_once((&desk.signers, &REALM), key, &change);
        // Of a control the bus says when the server stored it.
        assert_eq!(news.is_some(), key == &panics, "{key}");
    }
    again.forget_revisions();
    assert!(again.controls().read().panic().is_some());
    let mut change = desk.change(&panics, None);
    change.revision = 1;
    let bytes = Desk::sealed(&desk.ada, &panics, &panic(false, 2));
    change.value = Some(bytes.into());
    assert!(
        again
            .take_at_once((&desk.signers, &REALM), &panics, &change)
            .is_some()
    );
    assert!(again.controls().read().panic().is_none());
}

#[test]
fn an_alarm_of_the_console_counts_where_no_row_says_it() {
    let desk = Desk::new();
    let (key, noon) = (PolicyKey::Panic, Timestamp::parse(NOON).unwrap());
    desk.registers
        .alarmed(&key, (AlarmCode::RulesUnusable, noon));
    assert!(
        desk.registers.controls().read().none(),
        "an alarm of another kind"
    );
    desk.registers
        .alarmed(&key, (AlarmCode::ControlUnverified, noon));
    let controls = desk.registers.controls().read();
    assert_eq!(
        controls.panic().map(|set| set.by.as_str()),
        Some("unverified")
    );
}
