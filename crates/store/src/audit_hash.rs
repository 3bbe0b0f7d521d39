//! The hash of a row of the audit chain, and the text that it is over.
//!
//! Its shortcut to a canonical form gives the same bytes as the general one.

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::StoreError;

const DOMAIN: &[u8] = b"countersign-audit-v1\n";

/// A hash as text: lowercase hexadecimal digits.
pub fn hex(hash: &[u8]) -> String {
    HEXLOWER.encode(hash)
}

/// The hash of a row: SHA-256 over the domain, the previous hash and the canonical JSON of its fields.
///
/// # Errors
/// [`StoreError::Corrupt`] when the detail has no canonical form.
pub fn row_hash(
    prev: &[u8],
    (seq, at, actor, action, subject): (i64, &str, &str, &str, &str),
    detail: &Value,
) -> Result<[u8; 32], StoreError> {
    let detail = canonical_detail(detail)?;
    Ok(hash_of(prev, (seq, at, actor, action, subject), &detail))
}

pub(super) fn canonical_detail(detail: &Value) -> Result<String, StoreError> {
    if let Some(text) = plain_form(detail) {
        return Ok(text);
    }
    countersign_wire::canonical_json(detail)
        .map_err(|_| StoreError::corrupt("an audit detail without a canonical form"))
}

/// A text as JSON. Texts without anything to escape, which most are, stay as they are.
fn push_text(json: &mut String, text: &str) {
    let as_it_is = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(as_it_is) {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&Value::from(text).to_string());
    }
}

/// The canonical form of an object that holds only texts, as that of nearly every entry does: its names in their
/// order, and each text has one spelling. None for anything else.
fn plain_form(detail: &Value) -> Option<String> {
    let mut fields = Vec::with_capacity(8);
    for (name, value) in detail.as_object()? {
        // The order of other names is that of UTF-16.
        let plain = name.is_ascii() && (value.is_string() || is_count(value));
        fields.push(plain.then_some((name.as_str(), value))?);
    }
    fields.sort_unstable_by_key(|(name, _)| *name);
    let mut form = String::with_capacity(256);
    for (name, value) in fields {
        form.push(if form.is_empty() { '{' } else { ',' });
        push_text(&mut form, name);
        form.push(':');
        match value {
            Value::String(text) => push_text(&mut form, text),
            number => form.push_str(&number.to_string()),
        }
    }
    if form.is_empty() {
        form.push('{');
    }
    form.push('}');
    Some(form)
}

/// A whole number that every reader of JSON holds exactly and writes in the same way.
fn is_count(value: &Value) -> bool {
    value
        .as_u64()
        .is_some_and(|count| u32::try_from(count).is_ok())
}

/// The canonical object is put together by hand: its names are in their order, a text has one spelling, and the detail
/// is canonical already.
pub(super) fn hash_of(
    prev: &[u8],
    (seq, at, actor, action, subject): (i64, &str, &str, &str, &str),
    detail: &str,
) -> [u8; 32] {
    let mut canonical = String::with_capacity(384 + detail.len());
    for (name, text) in [
        ("{\"action\":", action),
        (",\"actor\":", actor),
        (",\"at\":", at),
    ] {
        canonical.push_str(name);
        push_text(&mut canonical, text);
    }
    canonical.push_str(",\"detail\":");
    canonical.push_str(detail);
    canonical.push_str(",\"seq\":");
    canonical.push_str(&seq.to_string());
    canonical.push_str(",\"subject\":");
    push_text(&mut canonical, subject);
    canonical.push('}');
    let mut hasher = Sha256::new();
    hasher.update(DOMAIN);
    hasher.update(prev);
    hasher.update(canonical.as_bytes());
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_the_one_of_the_schema_page() {
        let fields = (
            1,
            "2026-11-21T12:00:00.000Z",
            "U..",
            "decide",
            "acme/billing-bot/r1",
        );
        let hash = row_hash(&[0; 32], fields, &json!({})).unwrap();
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "ef48e2238e64e956b3cc1c73814b3a479efab40b85b688659b4861f9a05a802b"
        );
    }

    #[test]
    fn the_hash_is_over_the_canonical_form_whatever_the_texts_are() {
        let odd: String = (0..0x100_u32)
            .chain([0x2028, 0xfeff, 0x1_f600])
            .filter_map(char::from_u32)
            .collect();
        let detail = json!({ "b": 1, "a": [odd, { "\u{1f600}": 1, "\u{fb33}": 2 }] });
        let texts = ["", "\"quoted\" \\ /", odd.as_str()];
        for text in texts {
            let fields = json!({
                "action": text, "actor": text, "at": text, "detail": detail, "seq": 7, "subject": text,
            });
            let canonical = countersign_wire::canonical_json(&fields).unwrap();
            let whole = [DOMAIN, &[3; 32], canonical.as_bytes()].concat();
            assert_eq!(
                row_hash(&[3; 32], (7, text, text, text, text), &detail).unwrap(),
                <[u8; 32]>::from(Sha256::digest(whole))
            );
        }
    }

    #[test]
    fn a_number_in_a_detail_has_one_spelling() {
        for number in [
            json!(0),
            json!(u32::MAX),
            json!(1_u64 << 32),
            json!(9_007_199_254_740_991_u64),
            json!(-1),
            json!(1.0),
            json!(-0.0),
            json!(0.1),
            json!(1e21),
            json!(1e-7),
        ] {
            let detail = json!({ "name": "text", "count": number });
            assert_eq!(
                canonical_detail(&detail).unwrap(),
                countersign_wire::canonical_json(&detail).unwrap()
            );
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Value::from),
            any::<u64>().prop_map(|number| json!(number >> 11)),
            any::<i32>().prop_map(Value::from),
            any::<u32>().prop_map(|number| json!(f64::from(number) / 8.0)),
            any::<Option<bool>>().prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 4, |inner| {
            vec((any::<String>(), inner), 0..4).prop_map(|fields| fields.into_iter().collect())
        })
    }

    proptest! {
        #[test]
        fn a_detail_has_one_canonical_form_however_it_is_made(
            fields in vec(("[ -~]{0,4}|\\PC{0,3}", any_value()), 0..6)
        ) {
            let detail: Value = fields.into_iter().collect();
            prop_assert_eq!(
                canonical_detail(&detail).unwrap(),
                countersign_wire::canonical_json(&detail).unwrap()
            );
        }

        #[test]
        fn texts_alone_have_one_canonical_form(
            fields in vec(("[ -~]{0,4}|\\PC{0,3}", any::<String>()), 0..6)
        ) {
            let detail: Value = fields.into_iter().collect();
            prop_assert_eq!(
                canonical_detail(&detail).unwrap(),
                countersign_wire::canonical_json(&detail).unwrap()
            );
        }
    }
}
