//! Each code against calls that carry it and calls that look like it.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use countersign_scrutiny::{Call, Denial, Past, examine, facts};
use countersign_wire::args_digest;
use serde_json::{Map, Value, json};

fn tables() -> Map<String, Value> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/judgement/codes"
    );
    let mut all = Map::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        all.extend(serde_json::from_str::<Map<String, Value>>(&text).unwrap());
    }
    all
}

fn call<'a>(tool: &'a str, args: &'a Value) -> Call<'a> {
    let mut call = Call::new(tool, args);
    call.digest = args_digest(args).unwrap().to_string();
    call
}

/// The findings of an entry as code and place.
fn found(table: &Value, entry: &Value) -> (Vec<(String, String)>, String) {
    let name = table["name"].as_str().unwrap();
    let short = json!({ name: entry });
    let args = match entry {
        Value::String(_) => &short,
        entry => &entry["args"],
    };
    let tool = entry["tool"].as_str().or(table["tool"].as_str()).unwrap();
    let mut past = Past::default();
    let list = |key: &str| entry[key].as_array().cloned().unwrap_or_default();
    for _ in 0..entry["n"].as_u64().unwrap_or(1) {
        for earlier in list("past") {
            let call = call(tool, &earlier);
            past.approve(&facts(&call), 1);
            past.remember("", &call, None);
        }
    }
    for denied in list("denied") {
        let call = call(tool, &denied);
        past.deny(&facts(&call), &Denial::default());
        past.remember("", &call, Some(&Denial::default()));
    }
    for later in list("then") {
        let call = call(tool, &later);
        past.approve(&facts(&call), 1);
        past.remember("", &call, None);
    }
    let single = args.as_object().unwrap().keys().next().unwrap();
    let at = entry["at"]
        .as_str()
        .map_or(format!("/{single}"), str::to_owned);
    let found = examine(&call(tool, args), &past);
    let found = found
        .into_iter()
        .map(|of| (of.code.as_str().to_owned(), of.at));
    (found.collect(), at)
}

#[test]
fn every_code_is_carried_where_it_should_be_and_nowhere_else() {
    let mut wrong = Vec::new();
    for (name, table) in tables() {
        let code = table["code"].as_str().unwrap_or(&name).to_owned();
        let (carry, not) = (
            table["carry"].as_array().unwrap(),
            table["not"].as_array().unwrap(),
        );
        assert!(
            carry.len() >= 10 && not.len() >= 10,
            "{name}: {} {}",
            carry.len(),
            not.len()
        );
        for entry in carry {
            let (found, at) = found(&table, entry);
            if !found.contains(&(code.clone(), at.clone())) {
                wrong.push(format!("{name} misses {entry} at {at}: {found:?}"));
            }
        }
        for entry in not {
            let (found, _) = found(&table, entry);
            if found.iter().any(|(of, _)| *of == code) {
                wrong.push(format!("{name} on {entry}: {found:?}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
