//! Setup keys let a call pass only as an operator bound them.

use super::*;

fn with_key(value: Value, skips_when: Option<Value>, critical: bool) -> PolicySet {
    let mut setup = SetupInForce {
        revision: 7,
        ..SetupInForce::default()
    };
    setup.values.insert("key".to_owned(), value);
    if let Some(skips_when) = skips_when {
        let since = Timestamp(0);
        setup.bindings.insert(
            "key".to_owned(),
            Binding {
                skips_when,
                critical,
                since,
                redeclared: false,
            },
        );
    }
    let setup = BTreeMap::from([("billing-bot".to_owned(), setup)]);
    PolicySet::new(Vec::new(), setup).unwrap()
}

#[test]
fn each_polarity_works_by_explicit_choice_and_everything_else_asks() {
    let args = json!({});
    for (what, value, skips_when, passes) in [
        (
            "allow_dangerous = true skips",
            json!(true),
            Some(json!(true)),
            true,
        ),
        (
            "allow_dangerous = false asks",
            json!(false),
            Some(json!(true)),
            false,
        ),
        (
            "confirm_hire = true asks",
            json!(true),
            Some(json!(false)),
            false,
        ),
        (
            "confirm_hire = false skips",
            json!(false),
            Some(json!(false)),
            true,
        ),
        ("unbound asks", json!(true), None, false),
        ("1 is not true", json!(1), Some(json!(true)), false),
        (
            "a text is not true",
            json!("true"),
            Some(json!(true)),
            false,
        ),
        ("null is not false", json!(null), Some(json!(false)), false),
        ("numbers by value", json!(1), Some(json!(1.0)), true),
    ] {
        let policy = with_key(value, skips_when, false);
        let asked = Asked {
            setup_key: Some("key"),
            ..pay(&args)
        };
        let wanted = if passes { "approve by setup" } else { "ask" };
        assert_eq!(word(&policy, &judge(&policy, &asked)), wanted, "{what}");
    }
}

#[test]
fn a_key_that_its_agent_declares_otherwise_since_it_was_bound_asks() {
    let policy = with_key(json!(true), Some(json!(true)), true);
    let mut setup = policy.setup_of("billing-bot").unwrap().clone();
    setup.bindings.get_mut("key").unwrap().redeclared = true;
    let setup = BTreeMap::from([("billing-bot".to_owned(), setup)]);
    let policy = PolicySet::new(Vec::new(), setup).unwrap();
    let args = json!({});
    let asked = Asked {
        setup_key: Some("key"),
        ..pay(&args)
    };
    let found = judge(&policy, &asked);
    assert_eq!(word(&policy, &found), "ask");
    assert_eq!(
        found.setup,
        Some(SetupSays::NotCovered(Matcher::SetupChanged))
    );
}

#[test]
fn an_undeclared_key_another_agent_and_an_empty_key_ask() {
    let args = json!({});
    let policy = with_key(json!(true), Some(json!(true)), false);
    let asked = Asked {
        setup_key: Some("key"),
        ..pay(&args)
    };
    let other_key = Asked {
        setup_key: Some("other"),
        ..asked
    };
    let other_agent = Asked {
        agent: "sales-bot",
        ..asked
    };
    for asked in [other_key, other_agent] {
        let found = judge(&policy, &asked);
        assert_eq!(word(&policy, &found), "ask");
        assert_eq!(found.setup, Some(SetupSays::Undeclared));
    }
    for key in [None, Some("")] {
        let found = judge(
            &policy,
            &Asked {
                setup_key: key,
                ..asked
            },
        );
        assert_eq!(found.setup, None);
    }
}

#[test]
fn a_bound_key_stands_beneath_every_deny_and_ask_and_reaches_critical_only_when_told() {
    let args = json!({});
    let mut policy = with_key(json!(true), Some(json!(true)), false);
    let asked = Asked {
        setup_key: Some("key"),
        ..pay(&args)
    };
    let critical = Asked {
        risk: Risk::Critical,
        ..asked
    };
    assert_eq!(word(&policy, &judge(&policy, &critical)), "ask");
    let reported = with_key(json!(true), Some(json!(true)), true);
    assert_eq!(
        word(&reported, &judge(&reported, &critical)),
        "approve by setup"
    );
    for (effect, wanted) in [
        ("deny", "deny r"),
        ("ask", "ask r 1"),
        ("approve", "approve r"),
    ] {
        let setup = policy.setup_of("billing-bot").unwrap().clone();
        let setup = BTreeMap::from([("billing-bot".to_owned(), setup)]);
        policy = PolicySet::new(vec![rule("r", effect, json!({}))], setup).unwrap();
        assert_eq!(word(&policy, &judge(&policy, &asked)), wanted);
    }
    let hidden = json!({"a": "\u{202e}"});
    let policy = with_key(json!(true), Some(json!(true)), true);
    let found = judge(
        &policy,
        &Asked {
            args: Some(&hidden),
            ..asked
        },
    );
    assert_eq!(
        found.setup,
        Some(SetupSays::NotCovered(Matcher::HiddenCharacters))
    );
    let paused = judge_in(&policy, &asked, |setting| {
        setting.approves_off = Some(AutomaticOff::Paused)
    });
    assert_eq!(word(&policy, &paused), "ask");
}
