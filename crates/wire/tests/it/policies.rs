//! Signed values, signers, anchors, enrolment.

use countersign_wire::{
    Anchor, Context, Enrolment, EnvelopeError, ErrorCode, PolicyKey, Signature, SignatureError,
    SignedEnvelope, Signer, Verdict, audit_subject, is_bound_by_limits, policy_subject,
};
use serde_json::json;
use time::macros::datetime;

use crate::support::{REALM, digest_of, pair, public};

#[test]
fn a_sealed_value_opens_only_where_it_was_sealed() {
    let subject = PolicyKey::parse("panic").unwrap().subject();
    assert_eq!(subject, "$KV.CS_POLICY.panic");
    let sealed = SignedEnvelope::seal(&pair(1), Context::Policy, &REALM, &subject, b"{}").unwrap();
    let read = SignedEnvelope::from_bytes(&sealed.to_bytes().unwrap()).unwrap();
    assert_eq!(read, sealed);
    assert_eq!(read.key, public(1));
    assert_eq!(read.open(Context::Policy, &REALM, &subject).unwrap(), b"{}");
    let mismatch = Err(EnvelopeError::Signature(SignatureError::Mismatch));
    assert_eq!(
        read.open(Context::Policy, &REALM, &policy_subject("panic.x")),
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
        &format!("ask.{}", public(1)),
        &format!("ask.W{}", "A".repeat(52)),
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
        "operators",
        "ask.x",
        "x",
    ] {
        assert_eq!(PolicyKey::parse(text), None, "{text}");
    }
}

#[test]
fn an_enrolment_never_prints_its_seed() {
    let seed = pair(3).seed().unwrap();
    let enrolment: Enrolment = serde_json::from_value(json!({
        "nats_url": "nats://127.0.0.1:4222", "workspace": "acme", "agent": "bot",
        "nkey_seed": seed, "inbox_prefix": format!("_INBOX_{}", public(3)), "realm": REALM,
        "log": {"root": digest_of("root"), "n": 2, "digest": digest_of("head")},
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
fn limits_bind_everything_but_a_denial() {
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

#[test]
fn a_device_signs_with_an_assertion_and_a_key_with_64_bytes() {
    let device = format!("W{}", "A".repeat(52));
    for (text, is_key) in [(public(1).as_str(), Some(true)), (&device, Some(false))] {
        let signer: Signer = text.parse().unwrap();
        assert_eq!(
            (signer.as_str(), Some(signer.public_key().is_some())),
            (text, is_key)
        );
    }
    for text in [
        "",
        "W",
        "WAAAA",
        &device.replace('W', "X"),
        &format!("{device}A"),
    ] {
        assert!(text.parse::<Signer>().is_err(), "{text}");
    }
    let longest = format!("{}.e30.e30", "A".repeat(4088));
    for (text, read) in [
        ("A".repeat(86), true),
        ("e30.e30.e30".into(), true),
        ("A".repeat(85), false),
        ("e30.e30".into(), false),
        ("e30.e30.e30.e30".into(), false),
        ("e30=.e30.e30".into(), false),
        (longest.clone(), true),
        (format!("{longest}AAAA"), false),
    ] {
        assert_eq!(text.parse::<Signature>().is_ok(), read, "{text}");
    }
}
