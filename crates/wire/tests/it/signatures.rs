//! Signatures and what they cover.

use countersign_wire::{
    Context, PublicKey, Signature, SignatureError, sign, signing_input, verify,
};
use nkeys::KeyPair;
use uuid::Uuid;

use crate::support::{REALM, pair, public};

const SUBJECT: &str = "countersign.v1.decision.acme.billing-bot.r1";

#[test]
fn the_signed_text_is_the_one_of_the_protocol() {
    let text = signing_input(Context::Decision, &REALM, SUBJECT, b"{}");
    let expected = "countersign-v1\ndecision\n6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f0\n\
                    countersign.v1.decision.acme.billing-bot.r1\n\
                    44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn a_known_key_makes_a_known_signature() {
    insta::assert_snapshot!(public(1), @"UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L");
    let sig = sign(&pair(1), Context::Decision, &REALM, SUBJECT, b"{}").unwrap();
    insta::assert_snapshot!(sig, @"fBxNiqTigd-nG-tOZIe5nFU4fK8_g58cR1F9HRP39IgT1JdYFdhlNxOgpVCwB7yY_R2endfQPGwAsb8FDfrfBw");
}

#[test]
fn a_signature_holds_only_for_what_was_signed() {
    let (key, other) = (public(1), public(2));
    let sig = sign(&pair(1), Context::Decision, &REALM, SUBJECT, b"{}").unwrap();
    let check = |key: &PublicKey, context, realm: &Uuid, subject, payload, sig: &str| {
        verify(key.as_str(), context, realm, subject, payload, sig)
    };
    let text = sig.as_str();
    assert_eq!(
        check(&key, Context::Decision, &REALM, SUBJECT, b"{}", text),
        Ok(())
    );
    let mismatch = Err(SignatureError::Mismatch);
    assert_eq!(
        check(&other, Context::Decision, &REALM, SUBJECT, b"{}", text),
        mismatch
    );
    for context in [Context::Vote, Context::Policy, Context::Audit] {
        assert_eq!(check(&key, context, &REALM, SUBJECT, b"{}", text), mismatch);
    }
    assert_eq!(
        check(&key, Context::Decision, &Uuid::nil(), SUBJECT, b"{}", text),
        mismatch
    );
    assert_eq!(
        check(&key, Context::Decision, &REALM, &SUBJECT[1..], b"{}", text),
        mismatch
    );
    assert_eq!(
        check(&key, Context::Decision, &REALM, SUBJECT, b"{} ", text),
        mismatch
    );
}

#[test]
fn signatures_and_keys_are_read_strictly() {
    let sig = sign(&pair(1), Context::Vote, &REALM, SUBJECT, b"")
        .unwrap()
        .to_string();
    let padded = format!("{sig}==");
    let standard = format!("+{}", &sig[1..]);
    let cut = sig[..85].to_owned();
    // The last character carries four spare bits, which must be zero.
    let last = if sig.ends_with('A') { 'B' } else { 'z' };
    let spare = format!("{}{last}", &sig[..85]);
    for bad in [
        "",
        &padded,
        &standard,
        &cut,
        &format!("{sig}AAAA"),
        &"A".repeat(10_000),
        &spare,
    ] {
        assert_eq!(
            bad.parse::<Signature>().err(),
            Some(SignatureError::Malformed),
            "{bad}"
        );
    }
    let key = public(1).to_string();
    let account = KeyPair::new_account().public_key();
    let swapped = format!(
        "{}{}",
        &key[..55],
        if key.ends_with('A') { 'B' } else { 'A' }
    );
    for bad in [
        "",
        "U",
        &key.to_lowercase(),
        &key[..55],
        &format!("{key}A"),
        &account,
        &swapped,
    ] {
        assert!(bad.parse::<PublicKey>().is_err(), "{bad}");
    }
}

#[test]
fn a_public_key_cannot_sign() {
    let only_public = KeyPair::from_public_key(public(1).as_str()).unwrap();
    let result = sign(&only_public, Context::Decision, &REALM, SUBJECT, b"{}");
    assert_eq!(result, Err(SignatureError::CannotSign));
}
