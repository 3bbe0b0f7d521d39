//! What a sentence counts and names is true.
#![allow(clippy::unwrap_used, missing_docs)]

use countersign_scrutiny::{Call, Denial, Past, examine, facts};
use serde_json::{Value, json};

fn said(tool: &str, args: &Value, past: &Past) -> Vec<String> {
    let found = examine(&Call::new(tool, args), past);
    found.into_iter().map(|of| of.message).collect()
}

#[test]
fn a_list_that_was_empty_counts_as_no_call_that_had_something() {
    let new = json!({"hosts": ["freemail.example"]});
    let mut past = Past::default();
    past.approve(&facts(&Call::new("deploy", &json!({"hosts": []}))), 17);
    assert!(said("deploy", &new, &past).is_empty());
    let args = json!({"hosts": ["hallberg.example"]});
    past.approve(&facts(&Call::new("deploy", &args)), 8);
    let says = "freemail.example is new here; 8 earlier calls had hallberg.example.";
    assert_eq!(said("deploy", &new, &past), [says]);
}

#[test]
fn a_command_that_cannot_be_read_is_said_once() {
    for (command, says) in [
        ("echo 'open", "The command cannot be read."),
        (
            &"x".repeat(70_000),
            "The command has more than 64 KiB, so it is not read whole.",
        ),
    ] {
        let found = said("bash", &json!({ "command": command }), &Past::default());
        assert_eq!(found, [says]);
    }
}

#[test]
fn a_denial_names_the_value_as_it_is_written_and_no_age() {
    let args = json!({"payee": "Mallory GmbH P-1180"});
    let mut past = Past::default();
    let denial = Denial {
        by: Some("lena".to_owned()),
        at: Some(1_800_000_000_000),
        why: Some("wrong account".to_owned()),
    };
    let call = Call::new("pay", &args);
    past.deny(&facts(&call), &denial);
    past.remember("", &call, Some(&denial));
    let says = "lena denied a call with Mallory GmbH P-1180: wrong account";
    assert_eq!(said("pay", &args, &past), [says]);
}
