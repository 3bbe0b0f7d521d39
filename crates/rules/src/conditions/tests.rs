//! What conditions answer, and what they cannot do to the console.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn run(source: &str, args: Value) -> Result<bool, ConditionError> {
    let condition = Arc::new(Condition::compile(source).unwrap());
    let facts = Facts {
        args: Some(args),
        tool: Some("pay".to_owned()),
        agent: "bot".to_owned(),
        risk: "low",
        setup: json!({ "limit": 5 }),
        now: Timestamp::parse("2026-11-22T12:00:00Z"),
        ..Facts::default()
    };
    let answers = Conditions::default().run(&[condition], &Arc::new(facts), &mut { STEPS_MAX });
    answers.into_iter().next().unwrap()
}

#[test]
fn a_condition_answers_from_what_the_request_says() {
    for (source, args, answer) in [
        ("args.amount < 100", json!({"amount": 99}), true),
        ("args.amount < 100", json!({"amount": 99.5}), true),
        ("args.amount < 100.5", json!({"amount": 100}), true),
        ("args.amount < 100", json!({"amount": 100}), false),
        ("args.n == 1", json!({"n": 1.0}), true),
        ("args.a != null", json!({"a": 1}), true),
        ("args.a == null", json!({"a": null}), true),
        ("run == null", json!({}), true),
        ("args.a in ['x', 'y']", json!({"a": "x"}), true),
        ("!(args.a in ['x', 'y'])", json!({"a": "z"}), true),
        ("'a' in args", json!({"a": 1}), true),
        ("has(args.a)", json!({"b": 1}), false),
        ("size(args.id) < 20", json!({"id": "INV-1"}), true),
        (
            "args.items.all(i, i.price < 10)",
            json!({"items": [{"price": 1}, {"price": 9}]}),
            true,
        ),
        (
            "setup.limit > 3 && tool == 'pay' && agent == 'bot' && risk == 'low'",
            json!({}),
            true,
        ),
        (
            "now < timestamp('2027-01-01T00:00:00Z') && now.getHours() == 12",
            json!({}),
            true,
        ),
        // Noon in UTC: standard time in November, summer time in July.
        (
            "now.getHours('Europe/Berlin') == 13 && now.getHours('America/New_York') == 7",
            json!({}),
            true,
        ),
        (
            "timestamp('2026-07-01T12:00:00Z').getHours('Europe/Berlin') == 14",
            json!({}),
            true,
        ),
        ("args.a == [1, 2]", json!({"a": [1, 2]}), true),
        ("args == {'a': 1}", json!({"a": 1}), true),
        ("args.a != [1, 'x']", json!({"a": [2, "x"]}), true),
        ("args.a != [1]", json!({"a": [1, "x"]}), true),
        ("args.a == ['x', null]", json!({"a": ["x", null]}), true),
        ("args.a != [null]", json!({"a": ["x"]}), true),
        ("null != args.a", json!({"a": "x"}), true),
        ("args.a in ['x', null]", json!({"a": "x"}), true),
        ("args.a in ['x', null]", json!({"a": null}), true),
        ("null in args.a", json!({"a": ["x"]}), false),
        ("args.a != args.b", json!({"a": [1], "b": [2]}), true),
        (
            "args.items.exists_one(i, i != null)",
            json!({"items": [1, null]}),
            true,
        ),
    ] {
        assert_eq!(run(source, args), Ok(answer), "{source}");
    }
}

#[test]
fn a_value_of_another_type_is_an_error_and_never_an_answer() {
    for (source, args) in [
        ("args.amount < 100", json!({"amount": "99"})),
        ("args.amount < 100", json!({"amount": null})),
        ("args.amount < 100", json!({"amount": [99]})),
        ("args.amount < 100", json!({"amount": true})),
        ("args.amount < 100", json!({})),
        ("args.amount < 100", json!(null)),
        ("args.role != 'admin'", json!({"role": ["admin"]})),
        ("args.role != 'admin'", json!({"role": 1})),
        ("!(args.role == 'admin')", json!({"role": {}})),
        ("!(args.role in ['admin'])", json!({"role": ["admin"]})),
        ("args.list.all(i, i != 'x')", json!({"list": ["a", 1]})),
        ("args.list.all(i, i != 'x')", json!({"list": "abc"})),
        ("args.list != ['1']", json!({"list": [1]})),
        ("args.list != ['1', 'a']", json!({"list": ["2", 1]})),
        ("!(args.list == [['1']])", json!({"list": [[1]]})),
        ("!(args.list in [['1']])", json!({"list": [1]})),
        ("args.map != {'a': '1'}", json!({"map": {"a": 1}})),
        (
            "args.map != {'a': {'b': '1'}}",
            json!({"map": {"a": {"b": 1}}}),
        ),
        ("args.env != 'prod'", json!({"env": null})),
        ("!(args.env in ['prod'])", json!({"env": null})),
        ("args.list != ['a']", json!({"list": [null]})),
        ("args.a != args.b", json!({"a": [1], "b": [null]})),
        ("thread != 'T1'", json!({})),
        ("now != duration('1h')", json!({})),
        ("args.a", json!({"a": 1})),
        ("1 / args.a == 1", json!({"a": 0})),
        ("args.a + 9223372036854775807 > 0", json!({"a": 1})),
        ("args.a[5] == 1", json!({"a": [1]})),
        ("args.a < 1", json!({"a": u64::MAX})),
    ] {
        let answer = run(source, args.clone());
        let unsure = matches!(answer, Err(_) | Ok(false));
        assert!(unsure, "{source} with {args}: {answer:?}");
        if source != "args.a < 1" {
            assert!(answer.is_err(), "{source} with {args}: {answer:?}");
        }
    }
}

#[test]
fn an_error_does_not_repeat_what_the_arguments_hold() {
    for source in [
        "args.key < 1",
        "args.key == 1",
        "args.key[0] == 1",
        "int(args.key) == 1",
    ] {
        let error = run(source, json!({"key": "sk-secret"}))
            .unwrap_err()
            .to_string();
        assert!(!error.contains("secret"), "{source}: {error}");
    }
}

#[test]
fn what_is_too_large_is_not_looked_at() {
    let numbers: Vec<usize> = (0..=LIST_MAX).collect();
    let wide: serde_json::Map<String, Value> = (0..=LIST_MAX)
        .map(|n| (n.to_string(), Value::Null))
        .collect();
    for args in [
        json!({"a": numbers}),
        json!({"a": wide}),
        json!({"a": "x".repeat(TEXT_MAX)}),
    ] {
        assert_eq!(run("size(args.a) > 0", args), Err(ConditionError::TooLarge));
    }
    let fits: Vec<usize> = (1..=LIST_MAX).collect();
    assert_eq!(run("size(args.a) == 1000", json!({"a": fits})), Ok(true));
}

#[test]
fn what_may_take_too_long_is_not_begun_and_the_others_go_on() {
    let large: Vec<Value> = (0..LIST_MAX)
        .map(|n| json!([n, "some text to compare", {"price": n}]))
        .collect();
    let items: Vec<Value> = (0..LIST_MAX)
        .map(|n| json!({"price": n, "name": "some text to compare"}))
        .collect();
    let facts = Arc::new(Facts {
        args: Some(json!({ "l": large, "items": items, "text": "x".repeat(8 * 1024) })),
        ..Facts::default()
    });
    let same = |times: usize| vec!["args == args"; times].join(" && ");
    let found = ["args.l.filter(x, x in args.l).size() > 0"; 5].join(" && ");
    let doubled = |times: usize| format!("size({}) > 0", vec!["args.l"; times].join(" + "));
    for (source, expected) in [
        (&*format!("args.l.all(x, {})", same(60)), None),
        ("args.l.all(x, x in args.l)", None),
        (&found, None),
        ("args.l.map(x, args.l).size() > 0", None),
        (&doubled(100), None),
        (&doubled(10), Some(true)),
        (&same(10), Some(true)),
        ("args.l.all(x, args.text.contains('x'))", Some(true)),
        (
            "args.items.all(i, i.price < 1001 && i.name != 'x')",
            Some(true),
        ),
        ("args.items.map(i, i.price).exists(p, p > 998)", Some(true)),
        ("args.items.filter(i, i.price > 5).size() > 3", Some(true)),
    ] {
        let condition = Condition::compile(source).unwrap();
        let both = [
            Arc::new(condition),
            Arc::new(Condition::compile("true").unwrap()),
        ];
        let answers = Conditions::default().run(&both, &facts, &mut { STEPS_MAX });
        let expected = expected.ok_or(ConditionError::TooManySteps);
        assert_eq!(answers, [expected, Ok(true)], "{source}");
    }
}

#[test]
fn conditions_of_one_call_share_its_steps() {
    let condition = Arc::new(Condition::compile("args == args").unwrap());
    let list: Vec<usize> = (0..LIST_MAX).collect();
    let facts = Arc::new(Facts {
        args: Some(json!({ "l": list })),
        ..Facts::default()
    });
    let three = [&condition; 3].map(Arc::clone);
    let mut left = 5_000;
    let answers = Conditions::default().run(&three, &facts, &mut left);
    let none = || Err(ConditionError::TooManySteps);
    assert_eq!(answers, [Ok(true), Ok(true), none()]);
    assert_eq!(
        Conditions::default().run(&three, &facts, &mut left),
        [none(), none(), none()]
    );
}

#[test]
fn a_condition_that_does_not_end_is_let_go_of_and_left_alone_for_a_while() {
    let slow = Arc::new(Condition::compile("args.l.all(x, x in args.l)").unwrap());
    let quick = Arc::new(Condition::compile("true").unwrap());
    let list: Vec<usize> = (0..LIST_MAX - 100).collect();
    let facts = Arc::new(Facts {
        args: Some(json!({ "l": list })),
        ..Facts::default()
    });
    let conditions = Conditions::default();
    let both = [Arc::clone(&slow), Arc::clone(&quick)];
    let soon = Duration::from_micros(1);
    let answers = conditions.run_within(soon, &both, &facts, &mut { STEPS_MAX });
    assert_eq!(
        answers,
        [Err(ConditionError::TooSlow), Err(ConditionError::NoTime)]
    );
    let again = conditions.run(&both, &facts, &mut { STEPS_MAX });
    assert_eq!(
        again,
        [Err(ConditionError::TooSlow), Ok(true)],
        "the others go on"
    );
}

#[test]
fn the_deepest_conditions_that_are_taken_run() {
    let sources = [
        format!("0 < {}1", "1+".repeat(500)),
        format!("{}true", "!".repeat(1_000)),
        format!("0 < {}1", "-".repeat(1_000)),
        format!("{}true", "true?false:".repeat(90)),
        format!("has(args{}.a)", ".a".repeat(480)),
        format!("args{} == 1", "[0]".repeat(300)),
        format!("{}true", "true&&".repeat(165)),
        format!("{}1{} == 1", "(".repeat(90), ")".repeat(90)),
        format!("size({}{}) == 1", "[".repeat(90), "]".repeat(90)),
    ];
    for source in sources {
        if let Ok(condition) = Condition::compile(&source) {
            let facts = Facts {
                args: Some(json!({})),
                ..Facts::default()
            };
            let answers =
                Conditions::default()
                    .run(&[Arc::new(condition)], &Arc::new(facts), &mut { STEPS_MAX });
            assert_ne!(answers, [Err(ConditionError::Busy)], "{source}");
        }
    }
}

#[test]
fn too_many_slow_conditions_leave_the_console_alone() {
    let conditions = Conditions::default();
    let taken: Vec<_> = (0..THREADS_MAX)
        .map(|_| Counted::one_more(&conditions.running).unwrap())
        .collect();
    let quick = [Arc::new(Condition::compile("true").unwrap())];
    let facts = Arc::new(Facts::default());
    assert_eq!(
        conditions.run(&quick, &facts, &mut { STEPS_MAX }),
        [Err(ConditionError::Busy)]
    );
    drop(taken);
    assert_eq!(
        conditions.run(&quick, &facts, &mut { STEPS_MAX }),
        [Ok(true)]
    );
}
