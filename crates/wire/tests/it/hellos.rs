//! Hellos: what can be read of one is kept, whatever is wrong with the rest.

use countersign_wire::{HelloReport, RejectionCode, read_hello};
use serde_json::{Value, json};

const HELLO: &str = "countersign.v1.hello.acme.bot";

fn read(hello: &Value) -> HelloReport {
    read_hello(HELLO, hello.to_string().as_bytes()).unwrap()
}

fn paths(report: &HelloReport) -> Vec<&str> {
    let paths = report.faults.iter().map(|fault| fault.path.as_str());
    paths.collect()
}

fn names(report: &HelloReport) -> Vec<&str> {
    let tools = report.hello.tools.as_deref().unwrap_or_default();
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn one_bad_tool_does_not_lose_the_others_and_is_named_by_its_path() {
    let report = read(&json!({"v": 1, "agent": {"name": "bot"}, "tools": [
        {"name": "good"}, 7, {"description": "no name"}, {"name": 5}, {"name": ""},
        {"name": "odd", "strict": "yes", "gated": 1, "args_schema": [], "risk": 3, "description": {}},
        {"name": "good", "risk": "safe"}, null, {"name": "x".repeat(201)}, {"name": "last", "strict": true},
    ]}));
    assert_eq!(names(&report), ["good", "odd", "last"]);
    assert_eq!(report.definitions.len(), 3);
    assert_eq!(
        paths(&report),
        [
            "/tools/1",
            "/tools/2/name",
            "/tools/3/name",
            "/tools/4/name",
            "/tools/5/description",
            "/tools/5/risk",
            "/tools/5/strict",
            "/tools/5/gated",
            "/tools/5/args_schema",
            "/tools/6/name",
            "/tools/7",
            "/tools/8/name",
        ]
    );
}

#[test]
fn a_bad_part_does_not_lose_the_others() {
    let whole = json!({"v": 1, "agent": {"name": "bot", "type": "janitor", "framework": "flexus"},
        "instance_id": "i-1", "tools": [{"name": "t"}], "setup_schema": {"k": {"bs_name": "k"}},
        "credentials": [{"tool_name": "t", "status": "missing", "missing_keys": ["K"]}],
        "skills": [{"name": "s"}], "new_field": 12_345_678_901_234_567_890_u64});
    let parts = [
        ("/agent/type", "agent", json!({"name": "bot", "type": 1})),
        ("/instance_id", "instance_id", json!(["x"])),
        ("/one_shot", "one_shot", json!("yes")),
        ("/tools", "tools", json!({"name": "t"})),
        ("/setup_schema", "setup_schema", json!("bs")),
        ("/credentials", "credentials", json!(true)),
        (
            "/credentials/0/missing_keys",
            "credentials",
            json!([{"missing_keys": [1]}]),
        ),
    ];
    for (path, field, value) in parts {
        let mut hello = whole.clone();
        hello[field] = value;
        let report = read(&hello);
        assert_eq!(paths(&report), [path]);
        let kept = &report.hello;
        let announced = [
            ("tools", kept.tools.is_some()),
            ("setup_schema", kept.setup_schema.is_some()),
            ("skills", kept.skills.is_some()),
        ];
        for (other, is_there) in announced {
            assert!(is_there || other == field, "{path} lost {other}");
        }
    }
    assert_eq!(
        paths(&read(&whole)),
        [""],
        "an integer that readers differ on is reported"
    );
}

#[test]
fn a_tools_own_word_on_its_gate_goes_before_its_origin() {
    for (tool, beyond) in [
        (json!({"name": "t"}), false),
        (json!({"name": "t", "origin": "local"}), false),
        (json!({"name": "t", "origin": "hosted"}), true),
        (json!({"name": "t", "origin": "provider_defined"}), true),
        (
            json!({"name": "t", "origin": "provider_defined", "gated": null}),
            true,
        ),
        (
            json!({"name": "t", "origin": "provider_defined", "gated": true}),
            false,
        ),
        (
            json!({"name": "t", "origin": "hosted", "gated": true}),
            false,
        ),
        (
            json!({"name": "t", "origin": "local", "gated": false}),
            true,
        ),
        (json!({"name": "t", "gated": false}), true),
    ] {
        let report = read(&json!({"v": 1, "agent": {"name": "bot"}, "tools": [tool]}));
        let read = &report.hello.tools.as_ref().unwrap()[0];
        assert_eq!(read.is_beyond_the_gate(), beyond, "{tool}");
    }
}

#[test]
fn a_hello_with_a_key_that_is_the_readers_own_is_refused_whatever_else_is_wrong_with_it() {
    let own = r#"{"$serde_json::private::RawValue":"{\"a\":1}"}"#;
    for other in ["", r#""x":1,"x":1,"#, r#""x":1e999,"#] {
        let hello = format!(
            r#"{{"v":1,{other}"agent":{{"name":"bot"}},"setup_schema":{own},"skills":{own}}}"#
        );
        let refused = read_hello(HELLO, hello.as_bytes()).unwrap_err();
        assert_eq!(refused.code.as_str(), "not_json", "{other}");
    }
}

#[test]
fn a_hello_is_refused_whole_only_where_nothing_of_it_can_be_told() {
    let table = [
        (r#"{"v":1,"agent":{"name":"bot"}"#, RejectionCode::NotJson),
        ("[]", RejectionCode::WrongType),
        (r#"{"agent":{"name":"bot"}}"#, RejectionCode::MissingField),
        (
            r#"{"v":2,"agent":{"name":"bot"}}"#,
            RejectionCode::BadVersion,
        ),
        (
            r#"{"v":1,"agent":{"name":"other"}}"#,
            RejectionCode::SubjectMismatch,
        ),
        (r#"{"v":1}"#, RejectionCode::MissingField),
    ];
    for (hello, code) in table {
        let error = read_hello(HELLO, hello.as_bytes()).unwrap_err();
        assert_eq!(error.code, code, "{hello}");
    }
    let deep = format!(
        r#"{{"v":1,"agent":{{"name":"bot"}},"skills":{}{}}}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    let error = read_hello(HELLO, deep.as_bytes()).unwrap_err();
    assert_eq!(error.code, RejectionCode::TooDeep);
}

#[test]
fn a_definition_has_one_digest_however_it_is_written_and_another_for_every_change() {
    let digest = |tool: &str| {
        let hello = format!(r#"{{"v":1,"agent":{{"name":"bot"}},"tools":[{tool}]}}"#);
        read_hello(HELLO, hello.as_bytes()).unwrap().definitions[0].digest
    };
    let tool = r#"{"name":"t","description":"d","args_schema":{"type":"object"}}"#;
    let same = r#"{ "args_schema" : {"type":"object"}, "description":"\u0064", "name":"t" }"#;
    assert_eq!(digest(tool), digest(same));
    for other in [
        tool.replace("\"d\"", "\"do\""),
        tool.replace("object", "string"),
        tool.replace("}}", "},\"strict\":true}"),
        tool.replace("}}", "},\"annotations\":{}}"),
    ] {
        assert_ne!(digest(tool), digest(&other), "{other}");
    }
    // Where no form is certain the bytes count: this tool is still listed, and reported.
    let twice = r#"{"name":"t","description":"d","description":"e"}"#;
    assert_ne!(digest(twice), digest(&twice.replacen("\"d\"", "\"x\"", 1)));
}

#[test]
fn what_runs_at_the_provider_is_beyond_the_gate() {
    for (origin, beyond) in [
        ("hosted", true),
        ("provider_defined", true),
        ("local", false),
        ("mcp", false),
        ("new_word", false),
    ] {
        let report = read(
            &json!({"v": 1, "agent": {"name": "bot"}, "tools": [{"name": "t", "origin": origin}]}),
        );
        assert_eq!(
            report.hello.tools.unwrap()[0].is_beyond_the_gate(),
            beyond,
            "{origin}"
        );
    }
}

#[test]
fn it_is_told_where_a_hello_may_define_a_tool_in_more_than_one_way() {
    let head = r#"{"v":1,"agent":{"name":"bot"}"#;
    for (rest, unread) in [
        (String::new(), false),
        (r#","tools":null"#.to_owned(), false),
        (r#","tools":[{"name":"x","risk":7}]"#.to_owned(), false),
        (r#","tools":[{"name":"x"},{"name":"x"}]"#.to_owned(), false),
        (r#","tools":{}"#.to_owned(), true),
        (r#","tools":[{"name":"x"},{}]"#.to_owned(), true),
        (r#","tools":[],"tools":[{"name":"x"}]"#.to_owned(), true),
    ] {
        let report = read_hello(HELLO, format!("{head}{rest}}}").as_bytes()).unwrap();
        assert_eq!(report.tools_unread, unread, "{rest}");
    }
    let many: Vec<Value> = (0..=1_000)
        .map(|n| json!({"name": format!("t{n}")}))
        .collect();
    for (all, unread) in [(&many[..1_000], false), (&many[..], true)] {
        let hello = json!({"v": 1, "agent": {"name": "bot"}, "tools": all});
        assert_eq!(read(&hello).tools_unread, unread, "{}", all.len());
    }
}

#[test]
fn a_name_that_is_listed_twice_with_other_words_is_defined_by_both() {
    let digest = |tools: Value| {
        let report = read(&json!({"v": 1, "agent": {"name": "bot"}, "tools": tools}));
        assert_eq!(report.definitions.len(), 1);
        report.definitions[0].digest
    };
    let (old, new) = (json!({"name": "x"}), json!({"name": "x", "risk": "low"}));
    assert_eq!(digest(json!([old, old])), digest(json!([old])));
    assert_ne!(digest(json!([old, new])), digest(json!([old])));
    assert_ne!(digest(json!([old, new])), digest(json!([new, old])));
}
