//! A right IBAN is never called wrong, and one with a slip of the pen always is.
#![allow(clippy::unwrap_used, missing_docs)]

use countersign_scrutiny::{Call, Code, Past, examine};
use serde_json::{Value, json};

/// Where the letters and digits of an IBAN stand in a text.
fn places(text: &str, iban: &str) -> Vec<usize> {
    let starts = text.char_indices().map(|(start, _)| start);
    let at = |start: usize| {
        let mut wanted = iban.chars().peekable();
        let mut found = Vec::new();
        for (place, sign) in text[start..].char_indices() {
            if wanted.next_if_eq(&sign).is_some() {
                found.push(start + place);
            } else if found.is_empty() || sign.is_alphanumeric() {
                break;
            }
            if wanted.peek().is_none() {
                return Some(found);
            }
        }
        None
    };
    starts.filter_map(at).next().unwrap()
}

fn found(text: &str) -> Vec<countersign_scrutiny::Finding> {
    let args = json!({ "text": text });
    examine(&Call::new("write_note", &args), &Past::default())
}

fn is_wrong(text: &str) -> bool {
    found(text)
        .iter()
        .any(|of| of.code == Code::BadChecksum && of.at == "/text")
}

#[test]
fn a_thousand_right_ones_are_right_and_each_slip_is_seen() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/judgement/v3/ibans.json"
    );
    let all: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(all.len(), 1_000);
    let mut wrong = Vec::new();
    for (number, one) in all.iter().enumerate() {
        let (text, iban) = (one["text"].as_str().unwrap(), one["iban"].as_str().unwrap());
        let said = found(text);
        if !said.is_empty() {
            wrong.push(format!("marked: {text:?} {said:?}"));
        }
        let places = places(text, iban);
        let digits: Vec<usize> = places
            .iter()
            .copied()
            .skip(2)
            .filter(|at| text.as_bytes()[*at].is_ascii_digit())
            .collect();
        let mut bytes = text.as_bytes().to_vec();
        let at = digits[number % digits.len()];
        bytes[at] = b'0' + (bytes[at] - b'0' + 1 + u8::try_from(number % 9).unwrap()) % 10;
        let changed = String::from_utf8(bytes).unwrap();
        if !is_wrong(&changed) {
            wrong.push(format!("a digit changed, not seen: {changed:?}"));
        }
        let pairs: Vec<(usize, usize)> = places
            .iter()
            .copied()
            .zip(places.iter().copied().skip(1))
            .skip(2)
            .filter(|(one, other)| {
                let of = |at: usize| text.as_bytes()[at];
                of(*one) != of(*other) && of(*one).is_ascii_digit() && of(*other).is_ascii_digit()
            })
            .collect();
        let Some((one, other)) = pairs.get(number % pairs.len().max(1)) else {
            continue;
        };
        let mut bytes = text.as_bytes().to_vec();
        bytes.swap(*one, *other);
        let swapped = String::from_utf8(bytes).unwrap();
        if !is_wrong(&swapped) {
            wrong.push(format!("two digits swapped, not seen: {swapped:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of 3,000 wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
