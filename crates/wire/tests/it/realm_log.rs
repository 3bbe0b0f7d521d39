//! The vectors of the realm log and of devices: what every implementation reads alike.

use countersign_wire::realm::check_vectors;
use serde_json::{Value, json};

use crate::support::published;

fn vectors(name: &str) -> (Value, Vec<Value>) {
    let file = published(&format!("vectors/{name}.json"));
    let expected = serde_json::from_slice(&file).unwrap();
    (expected, check_vectors(&file).unwrap())
}

fn each(list: &Value, field: &str) -> Value {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[field].clone())
        .collect()
}

/// Only these fields of each.
fn both(list: &Value) -> Value {
    let list = list.as_array().unwrap().iter();
    list.map(|asked| json!({"console": asked["console"], "agent": asked["agent"]}))
        .collect()
}

#[test]
fn every_log_reads_as_every_implementation_reads_it() {
    let (expected, lines) = vectors("realm-log");
    let logs = expected["logs"].as_array().unwrap();
    assert!(logs.len() >= 16 && lines.len() == logs.len());
    for (log, line) in logs.iter().zip(lines) {
        let mut right = log["expect"].clone();
        right["name"] = log["name"].clone();
        right["words"] = each(&log["messages"], "word");
        right["decisions"] = both(&log["decisions"]);
        right["votes"] = both(&log["votes"]);
        right["registers"] = each(&log["registers"], "term");
        right["anchors"] = each(&log["anchors"], "holds");
        right["orders_agree"] = json!(true);
        for (field, right) in right.as_object().unwrap() {
            assert_eq!(line[field], *right, "{} {field}", log["name"]);
        }
        assert_eq!(
            line.as_object().unwrap().len(),
            right.as_object().unwrap().len()
        );
    }
}

#[test]
fn devices_sign_decide_and_set_what_every_implementation_lets_them() {
    let (expected, lines) = vectors("devices");
    let named = |field: &str, named: &str, right: &str| {
        let got = lines[0][field].as_array().unwrap();
        let rows = expected[field].as_array().unwrap();
        assert_eq!(got.len(), rows.len());
        for (row, got) in rows.iter().zip(got) {
            assert_eq!(*got, row[right], "{} {row}", row[named]);
        }
    };
    named("signatures", "name", "holds");
    named("decisions", "verdict", "expect");
    named("values", "key", "may");
    assert_eq!(lines.len(), 1);
}

#[test]
fn another_file_is_no_file_of_vectors() {
    for file in [
        "",
        "{}",
        "[]",
        r#"{"kind":"realm-log"}"#,
        r#"{"kind":"commands","rows":[]}"#,
    ] {
        assert_eq!(check_vectors(file.as_bytes()), None, "{file}");
    }
}
