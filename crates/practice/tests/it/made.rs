//! A card differs from its call in one value, and that value is of the kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use countersign_practice::{ApprovedCall, Change, ChangeKind, PracticeCard, make};
use iban::Iban;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Approved calls of the project's own set, by tool, and some that it has not.
static CALLS: LazyLock<Vec<Vec<ApprovedCall>>> = LazyLock::new(|| {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/judgement/mixed-1000.json"
    );
    let set: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut past: Map<String, Value> = set["past"].as_object().unwrap().clone();
    past.insert(
        "http".to_owned(),
        json!([{"url": "https://api.nordwind.example/v1/orders", "verify_tls": true}]),
    );
    past.insert(
        "shell".to_owned(),
        json!([{"command": "cargo build\ncargo test"}]),
    );
    past.insert(
        "move".to_owned(),
        json!([{"src": "/srv/build/cache/a.tar", "env": "staging"}]),
    );
    past.insert(
        "mail".to_owned(),
        json!([{"to": "ana@hallberg.example", "cc": ["bo@hallberg.example"], "amount": "1200.50"}]),
    );
    let of = |(tool, args): (String, Value)| {
        let args = args.as_array().unwrap().iter().enumerate();
        args.map(|(number, args)| ApprovedCall {
            key: format!("acme/{tool}/0192f0c1-0000-7000-8000-{number:012x}").replace('_', "-"),
            tool: tool.clone(),
            args: args.clone(),
        })
        .collect()
    };
    past.into_iter().map(of).collect()
});

/// Leaves by pointer; an empty list or object is one.
fn leaves(value: &Value, at: &str, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                leaves(
                    value,
                    &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, &format!("{at}/{index}"), found);
            }
        }
        leaf => {
            found.insert(at.to_owned(), leaf.clone());
        }
    }
}

fn differing(one: &Value, other: &Value) -> Vec<String> {
    let (mut was, mut is) = (BTreeMap::new(), BTreeMap::new());
    leaves(one, "", &mut was);
    leaves(other, "", &mut is);
    let places: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    places
        .into_iter()
        .filter(|at| was.get(*at) != is.get(*at))
        .cloned()
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether the change is of its kind, read otherwise than it was made.
fn is_of_kind(change: &Change, before: &Value) -> bool {
    let was = change.was.as_ref().unwrap_or(&Value::Null);
    let number = |value: &Value| match value {
        Value::String(text) => text.replace(',', "").parse().unwrap_or(f64::NAN),
        other => other.as_f64().unwrap_or(f64::NAN),
    };
    let (old, new) = (text(was), text(&change.is));
    match change.kind {
        ChangeKind::LookAlikeHost => {
            // Little differs, behind the local part of an address.
            let same = old
                .chars()
                .zip(new.chars())
                .take_while(|(a, b)| a == b)
                .count();
            let end = old
                .chars()
                .rev()
                .zip(new.chars().rev())
                .take_while(|(a, b)| a == b)
                .count();
            let changed = old.chars().count().saturating_sub(same + end);
            let local = old
                .split_once('@')
                .map_or(0, |(local, _)| local.chars().count() + 1);
            changed <= 2 && same >= local && old != new
        }
        ChangeKind::OtherAccount => {
            let valid = |iban: &str| iban.parse::<Iban>().is_ok();
            old.len() == new.len() && old[..2] == new[..2] && valid(old) == valid(new)
        }
        ChangeKind::AmountTimes10 => (number(&change.is) / number(was) - 10.0).abs() < 1e-9,
        ChangeKind::WiderPath => {
            let folder = new.trim_end_matches('*');
            old.starts_with(folder) && new.len() <= old.len() + 1
                || old.rsplit_once('/').unzip().0 == new.rsplit_once('/').unzip().0
        }
        ChangeKind::SafeguardOff => change.is.is_boolean() != change.is.is_string(),
        ChangeKind::Production => new.contains("prod") && !old.contains("production"),
        ChangeKind::ExtraRecipient => match was {
            Value::Null => before.pointer(&change.at).is_none() && new.contains('@'),
            _ => new.starts_with(old) && new.matches('@').count() == old.matches('@').count() + 1,
        },
        ChangeKind::DestructiveLine | ChangeKind::PipedDownload => {
            let core = old.trim_end().trim_end_matches(';');
            let more = new.strip_prefix(core).unwrap_or_default();
            let piped = more.contains("http") && more.contains("| ");
            !more.is_empty() && piped == (change.kind == ChangeKind::PipedDownload)
        }
        ChangeKind::HiddenCharacter => {
            let hidden = |at: &char| "\u{200b}\u{200d}\u{2060}\u{202e}".contains(*at);
            new.chars().filter(|at| !hidden(at)).eq(old.chars())
                && new.chars().filter(hidden).count() == 1
        }
    }
}

fn check(card: &PracticeCard, calls: &[ApprovedCall]) {
    let source = card.source();
    assert!(calls.contains(source));
    assert!(!calls.iter().any(|call| call.key == card.key()));
    let (agent, id) = source.key.rsplit_once('/').unwrap();
    let (of, made) = card.key().rsplit_once('/').unwrap();
    assert_eq!((agent, id.len()), (of, made.len()));
    let Some(change) = card.change() else {
        assert_eq!(card.args(), &source.args);
        return;
    };
    assert_eq!(
        differing(&source.args, card.args()),
        [change.at.as_str()],
        "{change:?}"
    );
    assert_eq!(card.args().pointer(&change.at), Some(&change.is));
    assert_eq!(source.args.pointer(&change.at), change.was.as_ref());
    assert!(is_of_kind(change, &source.args), "{change:?}");
    let approved = calls
        .iter()
        .any(|call| call.args.pointer(&change.at) == Some(&change.is));
    assert!(!approved, "somebody approved {change:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exactly_one_value_differs_and_it_is_of_the_kind(seed: u64) {
        for calls in CALLS.iter() {
            if let Some(card) = make(calls, seed) {
                check(&card, calls);
                prop_assert_eq!(Some(card), make(calls, seed));
            }
        }
    }
}

#[test]
fn one_card_in_four_is_unchanged_and_every_kind_comes() {
    let mut kinds: BTreeMap<Option<ChangeKind>, u32> = BTreeMap::new();
    let mut all = 0;
    for seed in 0..100 {
        // Another seed for each tool.
        let made = CALLS.iter().zip((0..).map(|tool| seed * 1_000 + tool));
        for card in made.filter_map(|(calls, seed)| make(calls, seed)) {
            *kinds
                .entry(card.change().map(|change| change.kind))
                .or_default() += 1;
            all += 1;
        }
    }
    let unchanged = kinds.remove(&None).unwrap();
    assert!(
        (all / 5..all * 3 / 10).contains(&unchanged),
        "{unchanged} of {all}"
    );
    let missing: Vec<_> = ChangeKind::ALL
        .iter()
        .filter(|kind| !kinds.contains_key(&Some(**kind)))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {kinds:?}");
}

#[test]
fn an_id_is_never_that_of_a_request_however_short_ids_are() {
    let calls: Vec<ApprovedCall> = (0..10)
        .map(|number| ApprovedCall {
            key: format!("acme/a/r{number}"),
            tool: "pay".to_owned(),
            args: json!({"amount": 12}),
        })
        .collect();
    let keys: BTreeSet<String> = (0..100)
        .filter_map(|seed| Some(make(&calls, seed)?.key().to_owned()))
        .collect();
    assert_eq!(keys.len(), 100);
    assert!(
        keys.iter().all(|key| key.len() > "acme/a/r1-".len() + 10),
        "{keys:?}"
    );
}

#[test]
fn without_a_call_that_can_be_changed_there_is_no_card() {
    assert_eq!(make(&[], 1), None);
    let call = ApprovedCall {
        key: "acme/a/1".to_owned(),
        tool: "ping".to_owned(),
        args: json!({"n": 1}),
    };
    for seed in 0..50 {
        assert_eq!(make(std::slice::from_ref(&call), seed), None);
    }
}

#[test]
fn every_kind_reads_back() {
    for kind in ChangeKind::ALL {
        assert_eq!(ChangeKind::parse(kind.as_str()), Some(kind));
    }
}
