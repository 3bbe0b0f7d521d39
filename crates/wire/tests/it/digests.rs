//! Canonical JSON (RFC 8785) and digests.

use countersign_wire::{DigestError, Sha256Digest, args_digest, canonical_json};
use serde_json::{Value, json};

use crate::support::digest_of;

#[test]
fn the_digest_of_the_worked_example() {
    let args = json!({"invoice_id": "INV-42"});
    let expected = "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95";
    assert_eq!(args_digest(&args).unwrap().to_string(), expected);
    assert_eq!(
        digest_of(r#"{"invoice_id":"INV-42"}"#).to_string(),
        expected
    );
}

#[test]
fn rfc_8785_section_3_2_2() {
    let text = r#"{
       "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
       "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
       "literals": [null, true, false]
     }"#;
    let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    assert_eq!(
        canonical_json(&serde_json::from_str(text).unwrap()).unwrap(),
        expected
    );
}

#[test]
fn rfc_8785_section_3_2_3_sorts_by_utf_16() {
    let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
        "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let canonical = canonical_json(&serde_json::from_str(text).unwrap()).unwrap();
    let places: Vec<_> = [
        "Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew",
    ]
    .map(|word| canonical.find(word).unwrap())
    .into();
    assert!(places.is_sorted(), "{canonical}");
}

#[test]
fn rfc_8785_appendix_b_numbers() {
    let rows: [(u64, &str); 22] = [
        (0x0000000000000000, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7fefffffffffffff, "1.7976931348623157e+308"),
        (0xffefffffffffffff, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xc340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44b52d02c7e14af5, "9.999999999999997e+22"),
        (0x44b52d02c7e14af6, "1e+23"),
        (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
        (0x444b1ae4d6e2ef4e, "999999999999999700000"),
        (0x444b1ae4d6e2ef4f, "999999999999999900000"),
        (0x444b1ae4d6e2ef50, "1e+21"),
        (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
        (0x3eb0c6f7a0b5ed8d, "0.000001"),
        (0x41b3de4355555553, "333333333.3333332"),
        (0x41b3de4355555554, "333333333.33333325"),
        (0x41b3de4355555555, "333333333.3333333"),
        (0x41b3de4355555556, "333333333.3333334"),
        (0x43143ff3c1cb0959, "1424953923781206.2"),
    ];
    for (bits, expected) in rows {
        let number = json!(f64::from_bits(bits));
        assert_eq!(canonical_json(&number).unwrap(), expected, "{bits:016x}");
        // The same through text: reading must not lose the last bit.
        let read: Value = serde_json::from_str(&format!("{:e}", f64::from_bits(bits))).unwrap();
        assert_eq!(canonical_json(&read).unwrap(), expected, "{bits:016x} read");
    }
}

#[test]
fn floats_written_differently_have_one_canonical_form() {
    for (text, expected) in [
        ("1.0e3", "1000"),
        ("1000.0", "1000"),
        ("9007199254740993.0", "9007199254740992"),
        ("-0.0", "0"),
        ("1e-400", "0"),
        ("0.1", "0.1"),
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical_json(&value).unwrap(), expected, "{text}");
    }
}

#[test]
fn values_without_a_certain_form_have_no_digest() {
    for value in [
        json!(1_u64 << 53),
        json!(i64::MIN),
        json!([{"a": u64::MAX}]),
    ] {
        assert_eq!(
            args_digest(&value),
            Err(DigestError::IntegerOutOfRange),
            "{value}"
        );
    }
    assert!(args_digest(&json!((1_u64 << 53) - 1)).is_ok());
    let deep = (0..65).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(args_digest(&deep), Err(DigestError::TooDeep));
}

#[test]
fn digests_are_lowercase_and_whole() {
    let good = digest_of("x").to_string();
    assert_eq!(good.parse::<Sha256Digest>().unwrap().to_string(), good);
    let shorter = good[..good.len() - 1].to_owned();
    let multibyte = format!("sha256:{}", "é".repeat(32));
    for bad in [
        "",
        "sha256:",
        &good[7..],
        &good.to_uppercase(),
        &shorter,
        &format!("{good}0"),
        &multibyte,
    ] {
        assert!(bad.parse::<Sha256Digest>().is_err(), "{bad}");
    }
}
