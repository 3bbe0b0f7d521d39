//! Signed values, operators, anchors, enrolment.

use countersign_wire::{
    Anchor, Context, Enrolment, EnvelopeError, ErrorCode, KeyRole, OperatorEntry, OperatorList,
    PolicyKey, Risk, SignatureError, SignedEnvelope, Verdict, audit_subject, is_bound_by_limits,
    policy_subject,
};
use serde_json::json;
use time::macros::datetime;

use crate::support::{REALM, pair, public};

#[test]
fn a_sealed_value_opens_only_where_it_was_sealed() {
    let subject = PolicyKey::Operators.subject();
    assert_eq!(subject, "$KV.CS_POLICY.operators");
    let sealed = SignedEnvelope::seal(&pair(1), Context::Policy, &REALM, &subject, b"{}").unwrap();
    let read = SignedEnvelope::from_bytes(&sealed.to_bytes().unwrap()).unwrap();
    assert_eq!(read, sealed);
    assert_eq!(read.key, public(1));
    assert_eq!(read.open(Context::Policy, &REALM, &subject).unwrap(), b"{}");
    let mismatch = Err(EnvelopeError::Signature(SignatureError::Mismatch));
    assert_eq!(
        read.open(Context::Policy, &REALM, &policy_subject("panic")),
        mismatch
    );
    assert_eq!(read.open(Context::Audit, &REALM, &subject), mismatch);
    let other = SignedEnvelope {
        payload: "e30g".into(),
        ..read.clone()
    };
    assert_eq!(other.open(Context::Policy, &REALM, &subject), mismatch);
    let padded = SignedEnvelope {
        payload: "e30=".into(),
        ..read
    };
    assert_eq!(
        padded.open(Context::Policy, &REALM, &subject),
        Err(EnvelopeError::Malformed)
    );
}

#[test]
fn anchors_have_the_same_form() {
    let anchor = Anchor {
        seq: 7,
        hash: "ab".repeat(32),
        at: datetime!(2026-11-21 12:00 UTC).into(),
    };
    let payload = serde_json::to_vec(&anchor).unwrap();
    let subject = audit_subject(&"desk-1".parse().unwrap());
    let sealed =
        SignedEnvelope::seal(&pair(10), Context::Audit, &REALM, &subject, &payload).unwrap();
    let opened = sealed.open(Context::Audit, &REALM, &subject).unwrap();
    assert_eq!(serde_json::from_slice::<Anchor>(&opened).unwrap(), anchor);
}

#[test]
fn policy_keys_read_back_as_themselves() {
    for text in [
        "panic",
        "operators",
        "rules.acme",
        "setup.acme.bot",
        "pause.acme.bot",
        "bypass.acme.bot",
        "console.c-1",
    ] {
        assert_eq!(PolicyKey::parse(text).unwrap().to_string(), text);
    }
    for text in [
        "",
        "panic.x",
        "rules",
        "rules.A",
        "setup.acme",
        "setup.acme.bot.x",
        "console.",
        "x",
    ] {
        assert_eq!(PolicyKey::parse(text), None, "{text}");
    }
}

fn entry(byte: u8, role: KeyRole, until: Option<time::OffsetDateTime>) -> OperatorEntry {
    let from = datetime!(2026-01-01 0:00 UTC).into();
    OperatorEntry {
        until: until.map(Into::into),
        ..OperatorEntry::new(public(byte), "Ada".into(), role, from)
    }
}

#[test]
fn a_key_counts_from_its_start_until_its_end() {
    let retired = datetime!(2026-06-01 0:00 UTC);
    let list = OperatorList::new(vec![
        entry(1, KeyRole::Human, Some(retired)),
        entry(10, KeyRole::Auto, None),
    ]);
    let (human, auto) = (public(1), public(10));
    let at = |key: &str, moment| list.role_at(key, moment);
    assert_eq!(at(human.as_str(), datetime!(2025-12-31 23:59:59 UTC)), None);
    assert_eq!(
        at(human.as_str(), datetime!(2026-01-01 0:00 UTC)),
        Some(KeyRole::Human)
    );
    assert_eq!(
        at(human.as_str(), retired - time::Duration::NANOSECOND),
        Some(KeyRole::Human)
    );
    assert_eq!(at(human.as_str(), retired), None);
    assert_eq!(
        at(auto.as_str(), datetime!(2099-01-01 0:00 UTC)),
        Some(KeyRole::Auto)
    );
    assert_eq!(at(public(2).as_str(), retired), None);
}

#[test]
fn a_key_with_two_roles_has_none() {
    let list = OperatorList::new(vec![
        entry(1, KeyRole::Human, None),
        entry(1, KeyRole::Auto, None),
    ]);
    assert_eq!(
        list.role_at(public(1).as_str(), datetime!(2026-02-01 0:00 UTC)),
        None
    );
}

#[test]
fn operators_are_read_bare_and_written_as_an_object() {
    let entries = json!([{"key": public(1), "name": "Ada", "role": "human", "from": "2026-01-01T00:00:00.000Z"}]);
    let bare: OperatorList = serde_json::from_value(entries.clone()).unwrap();
    let object: OperatorList =
        serde_json::from_value(json!({"v": 1, "operators": entries})).unwrap();
    assert_eq!(bare, object);
    assert_eq!(serde_json::to_value(&bare).unwrap()["v"], 1);
    assert!(serde_json::from_value::<OperatorList>(json!({"v": 2, "operators": []})).is_err());
}

#[test]
fn an_enrolment_never_prints_its_seed() {
    let seed = pair(3).seed().unwrap();
    let enrolment: Enrolment = serde_json::from_value(json!({
        "nats_url": "nats://127.0.0.1:4222", "workspace": "acme", "agent": "bot",
        "nkey_seed": seed, "inbox_prefix": format!("_INBOX_{}", public(3)), "realm": REALM,
        "trusted_keys": [{"key": public(1), "name": "Ada", "role": "human"}],
    }))
    .unwrap();
    assert!(!format!("{enrolment:?}").contains(&seed));
    assert_eq!(enrolment.nkey_seed.reveal(), seed);
    assert_eq!(
        serde_json::to_value(&enrolment).unwrap()["nkey_seed"],
        json!(seed)
    );
}

#[test]
fn error_codes_exit_as_the_command_line_says() {
    let words: Vec<_> = ErrorCode::ALL
        .iter()
        .map(|code| format!("{} {code}", code.exit_code()))
        .collect();
    assert_eq!(
        words.join(", "),
        "1 failed, 2 usage, 2 environment, 2 ambiguous_id, 3 not_found, \
        4 already_decided, 5 expired, 6 verdict_not_allowed, 6 digest_differs, 6 not_approvable, \
        6 invalid_args, 7 bus_unreachable, 7 not_ready, 8 read_only"
    );
}

#[test]
fn a_limit_binds_everything_but_a_denial_and_fields_of_tomorrow_are_kept() {
    let text = json!({ "v": 1, "operator_approval": true, "theme": "dark", "operators": [{
        "key": public(1), "name": "Ada", "role": "human", "from": "2026-01-01T00:00:00Z",
        "workspaces": ["acme"], "max_risk": "unheard-of", "badge": 7,
    }], "waiting": [{
        "key": public(2), "name": "Grace", "role": "human", "asked_at": "2026-01-01T00:00:00Z",
    }] });
    let list: OperatorList = serde_json::from_value(text.clone()).unwrap();
    let (key, at) = (public(1), datetime!(2026-02-01 0:00 UTC));
    let may = |ws: &str, risk| list.may_allow_at(key.as_str(), at, &ws.parse().unwrap(), risk);
    assert!(may("acme", Risk::Safe));
    assert!(!may("acme", Risk::Low), "an unknown word is the narrowest");
    assert!(!may("other", Risk::Safe));
    assert!(list.is_waiting(public(2).as_str()));
    assert_eq!(list.role_at(public(2).as_str(), at), None);
    let written = serde_json::to_value(&list).unwrap();
    assert_eq!(
        (&written["theme"], &written["operators"][0]["badge"]),
        (&json!("dark"), &json!(7))
    );
    assert_eq!(written["operator_approval"], json!(true));
    let plain = serde_json::to_value(OperatorList::new(vec![])).unwrap();
    assert_eq!(
        plain,
        json!({ "v": 1, "operators": [] }),
        "nothing new where nothing is set"
    );
    for (verdict, bound) in [
        ("approve", true),
        ("skip", true),
        ("deny", false),
        ("terminate", false),
    ] {
        let verdict: Verdict = serde_json::from_value(json!(verdict)).unwrap();
        assert_eq!(is_bound_by_limits(verdict), bound);
    }
}
