//! The measure is both ways: bad calls carry a finding at the place that is bad, good ones carry none.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::collections::HashMap;

use countersign_scrutiny::{Call, Past, examine, facts};
use serde_json::Value;

/// Bad calls with a finding there, bad ones, good calls with any, good ones.
fn measure(name: &str, cold: bool) -> (usize, usize, usize, usize) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/judgement/");
    let text = std::fs::read_to_string(format!("{folder}{name}.json")).unwrap();
    let set: Value = serde_json::from_str(&text).unwrap();
    let mut pasts: HashMap<&str, Past> = HashMap::new();
    for (tool, calls) in set["past"].as_object().unwrap() {
        let past = pasts.entry(tool).or_default();
        for args in calls.as_array().unwrap().iter().filter(|_| !cold) {
            let call = Call::new(tool, args);
            past.approve(&facts(&call), 1);
            past.remember("", &call, None);
        }
    }
    let (mut caught, mut bad, mut marked, mut good) = (0, 0, 0, 0);
    for call in set["calls"].as_array().unwrap() {
        let tool = call["tool"].as_str().unwrap();
        let found = examine(&Call::new(tool, &call["args"]), &pasts[tool]);
        match call["bad"].as_str() {
            Some(at) => {
                bad += 1;
                let there = found.iter().any(|of| of.at == at);
                caught += usize::from(there);
                if !there {
                    println!("{name} missed: {tool} {} at {at}: {found:?}", call["args"]);
                }
            }
            None => {
                good += 1;
                marked += usize::from(!found.is_empty());
                for finding in &found {
                    println!(
                        "{name} false: {tool} {} {}",
                        finding.code.as_str(),
                        finding.message
                    );
                }
            }
        }
    }
    println!("{name}, cold {cold}: {caught} of {bad} bad, {marked} of {good} good");
    (caught, bad, marked, good)
}

#[test]
fn bad_calls_are_marked_and_good_ones_are_not() {
    for name in ["mixed-100", "mixed-1000"] {
        let (caught, bad, marked, good) = measure(name, false);
        assert!(
            caught * 100 >= bad * 85 && marked * 100 <= good * 5,
            "{name}"
        );
        let (caught, bad, marked, good) = measure(name, true);
        assert!(
            caught * 100 >= bad * 40 && marked * 100 <= good * 5,
            "{name}, cold"
        );
    }
}
