//! Keys that endorse later ones.

use countersign_wire::{
    KeyRole, OperatorEntry, OperatorList, PublicKey, Risk, SignedEnvelope, Timestamp, Vouch,
};
use nkeys::KeyPair;
use uuid::Uuid;

use crate::handovers::{REALM, entry, heir, only, public};

fn at(text: &str) -> Timestamp {
    format!("2026-02-{text}T00:00:00Z").parse().unwrap()
}

fn word(by: &KeyPair, key: &KeyPair) -> SignedEnvelope {
    Vouch::seal(by, &REALM, &public(key), at("10")).unwrap()
}

fn human(pair: &KeyPair) -> OperatorEntry {
    entry(pair, KeyRole::Human)
}

fn list(operators: Vec<OperatorEntry>, vouched: Vec<SignedEnvelope>) -> OperatorList {
    OperatorList {
        vouched,
        ..OperatorList::new(operators)
    }
}

/// The same table as in the Python SDK: an agent that knows Ann meets a list that Cem has signed.
#[test]
fn a_key_descends_by_words_and_handovers_from_those_who_stood_without_limits_and_from_nobody_else()
{
    let [ann, bea, cem] = [0, 1, 2].map(|_| KeyPair::new_user());
    let all = || vec![human(&ann), human(&bea), human(&cem)];
    let with = |change: &dyn Fn(&mut OperatorEntry)| {
        let mut entries = all();
        change(&mut entries[1]);
        entries
    };
    let chain = || vec![word(&ann, &bea), word(&bea, &cem)];
    let of_realm = |realm: u128| {
        let realm = Uuid::from_u128(realm);
        Vouch::seal(&ann, &realm, &public(&cem), at("10")).unwrap()
    };
    let mut claimed = word(&bea, &cem);
    claimed.key = public(&ann);
    let moved = SignedEnvelope {
        payload: word(&ann, &bea).payload,
        ..word(&ann, &cem)
    };
    for (what, operators, vouched, follows) in [
        ("vouched for", all(), vec![word(&ann, &cem)], true),
        ("over another", all(), chain(), true),
        (
            "over one who was retired later",
            with(&|bea| bea.until = Some(at("11"))),
            chain(),
            true,
        ),
        (
            "over one who was retired before",
            with(&|bea| bea.until = Some(at("09"))),
            chain(),
            false,
        ),
        (
            "over one who came after his word",
            with(&|bea| bea.from = at("11")),
            chain(),
            false,
        ),
        (
            "over one of some risk",
            with(&|bea| bea.max_risk = Some(Risk::High)),
            chain(),
            false,
        ),
        (
            "over one of some workspaces",
            with(&|bea| bea.workspaces = Some(vec![])),
            chain(),
            false,
        ),
        (
            "over a console's own key",
            with(&|bea| bea.role = KeyRole::Auto),
            chain(),
            false,
        ),
        (
            "over one who is not listed",
            vec![human(&ann), human(&cem)],
            chain(),
            false,
        ),
        (
            "by one who took over",
            vec![human(&ann), heir(&ann, &REALM, &bea), human(&cem)],
            vec![word(&bea, &cem)],
            true,
        ),
        (
            "took over from one",
            vec![human(&ann), human(&bea), heir(&bea, &REALM, &cem)],
            vec![word(&ann, &bea)],
            true,
        ),
        ("nobody's word", all(), vec![], false),
        ("the other way round", all(), vec![word(&cem, &ann)], false),
        (
            "a circle",
            all(),
            vec![word(&cem, &bea), word(&bea, &cem)],
            false,
        ),
        ("for oneself", all(), vec![word(&cem, &cem)], false),
        ("of another realm", all(), vec![of_realm(8)], false),
        ("another signer", all(), vec![claimed], false),
        ("other words", all(), vec![moved], false),
    ] {
        let list = list(operators, vouched);
        let known = only(&public(&ann));
        assert_eq!(
            list.descends(&REALM, public(&cem).as_str(), known),
            follows,
            "{what}"
        );
    }
}

#[test]
fn whoever_is_known_not_to_count_brings_nobody_in() {
    let [ann, bea, cem] = [0, 1, 2].map(|_| KeyPair::new_user());
    let words = vec![word(&ann, &bea), word(&bea, &cem)];
    let list = list(vec![human(&ann), human(&bea), human(&cem)], words);
    let (ann, bea, cem) = (public(&ann), public(&bea), public(&cem));
    let reader = |no: Option<&PublicKey>| {
        let (ann, no) = (ann.clone(), no.cloned());
        move |key: &str| match key {
            _ if no.as_ref().is_some_and(|no| no.as_str() == key) => Some(false),
            _ => (key == ann.as_str()).then_some(true),
        }
    };
    for (no, follows) in [(None, true), (Some(&bea), false), (Some(&cem), false)] {
        assert_eq!(list.descends(&REALM, cem.as_str(), reader(no)), follows);
    }
}

/// A console writes the list again with what it does not know.
#[test]
fn words_stand_beside_the_terms_and_a_list_without_them_reads_as_before() {
    let [ann, bea] = [0, 1].map(|_| KeyPair::new_user());
    let with = list(vec![human(&ann), human(&bea)], vec![word(&ann, &bea)]);
    let mut json = serde_json::to_value(&with).unwrap();
    assert_eq!(json["vouched"].as_array().map(Vec::len), Some(1));
    let again: OperatorList = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(again, with);
    json.as_object_mut().unwrap().remove("vouched");
    let before: OperatorList = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(before.operators, with.operators);
    assert_eq!(serde_json::to_value(&before).unwrap(), json);
}
