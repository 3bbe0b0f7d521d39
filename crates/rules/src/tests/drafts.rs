//! What is drafted from a card, and how it reads in an editor.

use proptest::prelude::*;

use super::*;
use crate::body::{NoToml, read_rule, write_rule};
use crate::draft::{DraftFault, Grant, draft};

fn spring() -> Timestamp {
    noon().plus_ms(90 * 86_400_000)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!([])),
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        prop::sample::select(vec![1.0, 1.5, -0.25, 1e100]).prop_map(Value::from),
        "[a-z0-9 /~\"\\\\é#\n=]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let names = "[a-c/~\"é-]{1,3}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn args() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c/]{1,2}", value(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// Everything that is this value but for one place in it.
fn changed(value: &Value) -> Vec<Value> {
    let mut others = vec![json!({"new": value}), json!([value]), json!("other")];
    match value {
        Value::Object(map) => {
            let mut more = map.clone();
            more.insert("one more".to_owned(), json!(1));
            others.push(Value::Object(more));
            for (name, inner) in map {
                let mut less = map.clone();
                less.remove(name);
                others.push(Value::Object(less));
                for inner in changed(inner) {
                    let mut other = map.clone();
                    other.insert(name.clone(), inner);
                    others.push(Value::Object(other));
                }
            }
        }
        Value::Array(list) => {
            let mut more = list.clone();
            more.push(json!(1));
            others.push(Value::Array(more));
            for (place, inner) in list.iter().enumerate() {
                let mut less = list.clone();
                less.remove(place);
                others.push(Value::Array(less));
                for inner in changed(inner) {
                    let mut other = list.clone();
                    other[place] = inner;
                    others.push(Value::Array(other));
                }
            }
        }
        Value::String(text) => others.push(Value::from(format!("{text}*"))),
        Value::Number(number) => others.push(json!(number.as_f64().unwrap() + 1.0)),
        Value::Bool(word) => others.push(json!(!word)),
        Value::Null => others.push(json!(false)),
    }
    others
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_draft_matches_its_card_and_none_with_another_argument(args in args(), in_thread in any::<bool>()) {
        let digest = countersign_wire::args_digest(&args).unwrap();
        let asked = Asked { args_digest: Some(&digest), risk: Risk::High, ..pay(&args) };
        let grant = if in_thread { Grant::Thread } else { Grant::Until(spring()) };
        let drafted = draft(&asked, grant, noon(), |_| false).unwrap();
        let policy = set(vec![drafted.clone()]);
        prop_assert_eq!(word(&policy, &judge(&policy, &asked)), "approve pay");
        for other in changed(&args).iter().filter(|other| other.is_object() && **other != args) {
            // Numbers are compared by their value.
            let Ok(other_digest) = countersign_wire::args_digest(other) else { continue };
            if other_digest == digest { continue; }
            let other_asked = Asked { args: Some(other), args_digest: Some(&other_digest), ..asked };
            prop_assert_eq!(word(&policy, &judge(&policy, &other_asked)), "ask", "{} by {:?}", other, drafted);
        }
        // What is in the editor is the rule itself.
        let text = write_rule(&drafted).unwrap();
        prop_assert!(!text.replace('\n', " ").chars().any(countersign_wire::is_hostile));
        let read = read_rule(&text).map_err(|problems| TestCaseError::fail(format!("{problems:?} {text}")))?;
        prop_assert!(read.says_the_same(&drafted), "{}", text);
    }
}

#[test]
fn a_draft_matches_no_other_agent_tool_risk_or_thread() {
    let args = json!({"amount": 1});
    let asked = pay(&args);
    let drafted = draft(&asked, Grant::Thread, noon(), |_| false).unwrap();
    let policy = set(vec![drafted]);
    for (other, outcome) in [
        (asked, "approve pay"),
        (
            Asked {
                agent: "billing-bot-2",
                ..asked
            },
            "ask",
        ),
        (
            Asked {
                tool: Some("pay2"),
                ..asked
            },
            "ask",
        ),
        (
            Asked {
                risk: Risk::Medium,
                ..asked
            },
            "ask",
        ),
        (
            Asked {
                thread_id: Some("T2"),
                ..asked
            },
            "ask",
        ),
        (
            Asked {
                thread_id: None,
                ..asked
            },
            "ask",
        ),
    ] {
        assert_eq!(word(&policy, &judge(&policy, &other)), outcome, "{other:?}");
    }
}

#[test]
fn what_no_rule_may_let_run_is_not_drafted_and_the_reason_is_told() {
    let (args, hidden) = (json!({"amount": 1}), json!({"to": "a\u{202e}b"}));
    let plain = pay(&args);
    let always = Grant::Until(spring());
    for (asked, grant, says) in [
        (
            Asked {
                args: Some(&hidden),
                ..plain
            },
            always,
            "hide or reorder text",
        ),
        (
            Asked {
                approvals_required: 2,
                ..plain
            },
            always,
            "several operators",
        ),
        (
            Asked {
                takes_approval: false,
                ..plain
            },
            always,
            "takes no approval",
        ),
        (
            Asked {
                skill_tools: Some(&[]),
                ..plain
            },
            always,
            "outside the active skill",
        ),
        (
            Asked {
                tool_changed_at: Some(noon()),
                ..plain
            },
            always,
            "tool changed",
        ),
        (
            Asked {
                tool: None,
                ..plain
            },
            always,
            "calls no tool",
        ),
        (
            Asked {
                tool: Some("pay*"),
                ..plain
            },
            always,
            "wildcard",
        ),
        (
            Asked {
                thread_id: None,
                ..plain
            },
            Grant::Thread,
            "names no thread",
        ),
        (
            Asked {
                args: None,
                ..plain
            },
            always,
            "cannot be named",
        ),
        (plain, Grant::Until(noon()), "has passed"),
    ] {
        let fault: DraftFault = draft(&asked, grant, noon(), |_| false).unwrap_err();
        assert!(fault.to_string().contains(says), "{fault} for {says}");
    }
}

#[test]
fn secrets_and_long_arguments_are_named_by_their_digest() {
    let many: serde_json::Map<String, Value> = (0..60)
        .map(|place| (format!("a{place}"), json!(place)))
        .collect();
    for args in [
        json!({"api_key": "9f3ac01e9f3ac01e9f3ac01e9f3ac01e", "amount": 1}),
        json!({"nested": [{"password": "hunter2"}]}),
        json!({"text": "x".repeat(5_000)}),
        Value::Object(many),
    ] {
        let digest = countersign_wire::args_digest(&args).unwrap();
        let asked = Asked {
            args_digest: Some(&digest),
            ..pay(&args)
        };
        let drafted = draft(&asked, Grant::Thread, noon(), |_| false).unwrap();
        assert_eq!(drafted.matchers.args_digest, [digest], "{args}");
        assert!(drafted.matchers.args.is_empty());
        assert!(
            !write_rule(&drafted)
                .unwrap()
                .contains("9f3ac01e9f3ac01e9f3ac01e9f3ac01e")
        );
    }
}

#[test]
fn an_id_reads_like_the_tool_and_is_never_given_out_twice() {
    let args = json!({"amount": 1});
    for (tool, taken, id) in [
        ("crm.Update_Contact", vec![], "crm-update-contact"),
        ("pay", vec!["pay", "pay-2"], "pay-3"),
        ("支払い", vec![], "rule"),
        ("-x-", vec![], "x"),
    ] {
        let asked = Asked {
            tool: Some(tool),
            ..pay(&args)
        };
        let drafted = draft(&asked, Grant::Thread, noon(), |id| taken.contains(&id)).unwrap();
        assert_eq!(drafted.id, id);
    }
}

#[test]
fn a_problem_stands_at_the_line_of_the_editor() {
    let lines = "id = \"a\"\neffect = \"approve\"\ntool = [\"t\"]\n";
    let problems = read_rule(&format!("{lines}risk = [\"mild\"]\n")).unwrap_err();
    assert_eq!(
        (problems[0].line, problems[0].place.as_str()),
        (4, "risk[0]")
    );
    let missing = read_rule(lines).unwrap_err();
    assert_eq!((missing[0].line, missing[0].column), (1, 1));
    assert_eq!(missing[0].place, "expires_at");
    let no_toml = read_rule("id = \"a\"\neffect = \n").unwrap_err();
    assert_eq!(no_toml[0].line, 2);
    let two = read_rule("id = \"a\"\neffect = \"ask\"\n[[rule]]\nid = \"b\"\neffect = \"ask\"\n");
    assert!(two.unwrap_err()[0].message.contains("more than one"));
}

#[test]
fn every_field_of_a_rule_is_written_and_null_is_refused() {
    let whole = rule(
        "r",
        "approve",
        json!({
            "name": "Réf \u{202e} \u{1f600}", "enabled": "shadow", "agent": ["a-*"], "kind": ["tool_call"],
            "origin": ["local"], "framework": ["f"], "skill": ["s"], "thread_id": ["T\"1"],
            "args": {"/a~1b": {"in": [1, "x"], "min_len": 1}, "/n": {"lt": 9.5, "gt": -1}},
            "when": "args.n < 5 && tool == 'pay'", "limit": {"count": 2, "per": "1h"},
            "sum": {"pointer": "/n", "max": 500, "per": "1d"},
        }),
    );
    let text = write_rule(&whole).unwrap();
    assert!(read_rule(&text).unwrap().says_the_same(&whole), "{text}");
    let null = rule("r", "ask", json!({"args": {"/a": {"eq": null}}}));
    assert_eq!(write_rule(&null), Err(NoToml));
}

#[test]
fn a_rule_is_edited_in_the_letters_that_it_was_written_in_and_what_hides_stands_as_its_number() {
    let text = "id = \"a\"\nname = \"Rechnungen für Tests\"\neffect = \"ask\"\ntool = [\"送金する\", \"x\\u202Ey\\u200B\"]\n";
    let rule = crate::body::read_rule(text).unwrap();
    let written = write_rule(&rule).unwrap();
    assert!(
        written.contains("für Tests") && written.contains("送金する"),
        "{written}"
    );
    assert!(written.contains("x\\u202Ey\\u200B"), "{written}");
    assert_eq!(read_rule(&written).unwrap(), rule);
}
