#![allow(clippy::unwrap_used)]
use serde_json::Value;

use super::*;

const JSON: [Program; 4] = [
    Program::ClaudeCode,
    Program::Gemini,
    Program::Cursor,
    Program::Copilot,
];

fn wanted(path: &str, program: Program) -> Wanted {
    let command = [path, "hook", program.name(), "--timeout", "3600"];
    Wanted {
        command: command.map(str::to_owned).to_vec(),
        timeout: 3660,
        prompt: false,
        old_cursor: false,
    }
}

/// Files whose hooks are not ours, each with a style of its own.
const OTHERS: [&str; 5] = [
    "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"PreToolUse\": [\n            { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n        ]\n    },\n    \"env\": { \"A\": \"1\" }\n}\n",
    "{\"permissions\": {\"allow\": [\"Read\"]}, \"a\":  [1,   2.50]}",
    "{\n\t\"hooks\": {\n\t\t\"preToolUse\": [{\"bash\": \"x\"}],\n\t\t\"beforeShellExecution\": [{\"command\": \"y\"}]\n\t},\n\t\"version\": 1\n}\n",
    "{\n  \"x\": \"é\"\n}",
    "{\r\n  \"x\": 1\r\n}\r\n",
];

#[test]
fn what_is_ours_comes_and_goes_and_the_rest_keeps_its_bytes() {
    for program in JSON {
        for text in OTHERS {
            let first = connect(
                program,
                Some(text),
                &wanted("/opt/a b/countersign", program),
            )
            .unwrap();
            assert_ne!(first, text);
            let again = connect(
                program,
                Some(&first),
                &wanted("/opt/a b/countersign", program),
            )
            .unwrap();
            assert_eq!(again, first, "{program:?}: the same options change nothing");
            let moved = connect(
                program,
                Some(&first),
                &wanted("/usr/bin/countersign", program),
            )
            .unwrap();
            let count = |text: &str| text.matches(" hook ").count();
            assert_eq!(
                count(&moved),
                count(&first),
                "{program:?}: replaced, not added"
            );
            for piece in text.split(['\n', '\r', '{', '}', ']']) {
                let piece = piece.trim().trim_matches(',').trim();
                assert!(
                    first.contains(piece),
                    "{program:?} keeps {piece:?}\n{first}"
                );
            }
            let left = disconnect(program, &moved).unwrap().unwrap();
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let mut left = value(&left);
            if value(text).get("version").is_none() {
                left.as_object_mut().unwrap().shift_remove("version");
            }
            assert_eq!(left, value(text), "{program:?}");
        }
        assert!(connect(program, None, &wanted("countersign", program)).is_ok());
    }
}

#[test]
fn settings_that_can_be_read_in_two_ways_are_refused() {
    for text in [
        "{",
        "[]",
        "{\"a\": 1, \"a\": 2}",
        "{\"b\": {\"a\": 1, \"a\": 2}}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"PreToolUse\": {}}}",
        "{} // c",
    ] {
        let refused = connect(
            Program::ClaudeCode,
            Some(text),
            &wanted("countersign", Program::ClaudeCode),
        );
        assert!(refused.is_err(), "{text}");
    }
    assert!(
        connect(
            Program::Codex,
            Some("a = "),
            &wanted("countersign", Program::Codex)
        )
        .is_err()
    );
}

#[test]
fn codex_keeps_comments_and_order() {
    let text = "# mine\nmodel = \"o5\" # fast\n\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"lint\"\n\n[tools]\nweb = true\n";
    let first = connect(
        Program::Codex,
        Some(text),
        &wanted("/opt/countersign", Program::Codex),
    )
    .unwrap();
    // The trust that Codex writes behind our entries stays where it is.
    let trusted =
        format!("{first}\n[hooks.state.\"a:pre_tool_use:1:0\"]\ntrusted_hash = \"sha256:1\"\n");
    for text in [&first, &trusted] {
        let again = connect(
            Program::Codex,
            Some(text),
            &wanted("/opt/countersign", Program::Codex),
        );
        assert_eq!(again.as_ref(), Ok(text));
    }
    assert!(first.contains("# mine\nmodel = \"o5\" # fast"));
    assert_eq!(disconnect(Program::Codex, &first).unwrap().unwrap(), text);
}

mod bytes {
    //! Every byte that is not ours stays, in whatever style a person wrote the file.

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn blanks() -> impl Strategy<Value = String> {
        prop_oneof![4 => Just(String::new()), 3 => Just(" ".to_owned()), 3 => Just("\n  ".to_owned()), 1 => "[ \t\n]{1,4}", 1 => Just("\r\n\t".to_owned())]
    }

    /// Any value, as text.
    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("-1.50e2".to_owned()),
            Just("{}".to_owned()),
            Just("[ ]".to_owned()),
            "\"[a-z é/*#{}\\[\\],:]{0,8}\"",
            Just(r#""\u00e9\n\\\"""#.to_owned()),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                (prop::collection::vec((blanks(), inner.clone(), blanks()), 1..4))
                    .prop_map(|items| format!("[{}]", joined(items))),
                members(inner).prop_map(|members| format!("{{{members}}}")),
            ]
        })
    }

    fn joined(items: Vec<(String, String, String)>) -> String {
        let items = items
            .into_iter()
            .map(|(before, item, after)| before + &item + &after);
        items.collect::<Vec<_>>().join(",")
    }

    fn members(of: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let one = (blanks(), blanks(), of, blanks());
        prop::collection::btree_map("[a-g]{1,3}", one, 1..4).prop_map(|all: BTreeMap<_, _>| {
            let all = all
                .into_iter()
                .map(|(name, (before, colon, value, after))| {
                    (before, format!("\"{name}\"{colon}:{value}"), after)
                });
            joined(all.collect())
        })
    }

    const EVENTS: [&str; 5] = [
        "PreToolUse",
        "BeforeTool",
        "preToolUse",
        "beforeShellExecution",
        "Stop",
    ];

    /// Hooks of others, also of our events.
    fn others() -> impl Strategy<Value = String> {
        let hook = prop_oneof![
            Just(r#"{ "matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}] }"#),
            Just("{\"command\":\"countersign-lint hook cursor\"}"),
            Just("{\n  \"bash\": \"x\"\n}"),
        ];

        let list = prop::collection::vec((blanks(), hook.prop_map(str::to_owned), blanks()), 1..3);
        let lists = prop::collection::btree_map(prop::sample::select(&EVENTS[..]), list, 1..4);
        (lists, blanks()).prop_map(|(lists, blanks)| {
            let lists = lists.into_iter().map(|(event, list)| {
                (
                    blanks.clone(),
                    format!("\"{event}\":{blanks}[{}]", joined(list)),
                    blanks.clone(),
                )
            });
            format!("{{{}}}", joined(lists.collect()))
        })
    }

    fn settings() -> impl Strategy<Value = String> {
        let version = Just(" \"version\":1".to_owned());
        let hooks =
            (blanks(), others()).prop_map(|(blanks, all)| format!("{blanks}\"hooks\": {all}"));
        let parts = (
            members(value()),
            version,
            prop::option::of(hooks),
            blanks(),
            any::<bool>(),
        );
        parts.prop_map(|(members, version, hooks, end, first)| {
            let mut all = vec![members, version];
            all.insert(
                if first { 0 } else { 2 },
                hooks.unwrap_or_else(|| "\"z\":0".to_owned()),
            );
            format!("{{{}{end}}}{end}", all.join(","))
        })
    }

    proptest! {
            #![proptest_config(ProptestConfig::with_cases(40))]

            #[test]
            fn of_json_settings_stay(text in settings(), with_prompt in any::<bool>()) {
                for program in JSON {
                    let wanted = Wanted { prompt: with_prompt, ..wanted("/opt/countersign", program) };
                    let first = connect(program, Some(&text), &wanted).unwrap();
                    prop_assert_ne!(&first, &text);
                    prop_assert_eq!(&connect(program, Some(&first), &wanted).unwrap(), &first);
                    let other = Wanted { timeout: 61, ..wanted };
                    let moved = connect(program, Some(&first), &other).unwrap();
                    prop_assert_ne!(&moved, &first);
                    for there in [first, moved] {
                        prop_assert_eq!(&disconnect(program, &there).unwrap().unwrap(), &text);
                    }
                }
            }

            #[test]
            fn of_codex_stay(
                lines in prop::collection::vec(prop_oneof![
                    "# [a-z \\[\\]=]{0,9}", Just(String::new()), Just("  ".to_owned()),
                    Just("[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = 'lint' # theirs".to_owned()),
                ], 0..5),
                tables in prop::collection::btree_map("[a-g]{1,3}", "( |\t)?= ?[1-9][0-9]{0,2} {0,2}(# [a-z]{0,5})?", 0..4),
            ) {
                let mut text: String = tables.iter().map(|(name, value)| format!("{name}{value}\n")).collect();
                for (place, line) in lines.iter().enumerate() {
                    text += &format!("{line}\n[table{place}] # c\nx  =  {place}\n");
                }
                let wanted = wanted("/opt/countersign", Program::Codex);
                let first = connect(Program::Codex, Some(&text), &wanted).unwrap();
                prop_assert_eq!(&connect(Program::Codex, Some(&first), &wanted).unwrap(), &first);
                prop_assert_eq!(&disconnect(Program::Codex, &first).unwrap().unwrap(), &text);
            }

            #[test]
            fn of_an_mcp_configuration_stay_but_for_the_entries(
                before in members(value()), after in members(value()), comment in "// [a-z]{0,9}\n", blanks in blanks(),
            ) {
                let entry = r#"{ "command": "uvx", /* theirs */ "args": ["git"], "env": {"TOKEN": "s3cret"} }"#;
                let around = |entry: &str| format!(
                    "{{{comment}{blanks}\"x\": {{{before}}},\"mcpServers\":{blanks}{{\"git\":{entry}}},{comment}\"y\":{{{after}}}{blanks}}}"
                );
                let text = around(entry);
                let first = connect_mcp(&text, &[], "/opt/countersign", &[]).unwrap().text;
                let (start, end) = around("\0").split_once('\0').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
                let back = disconnect_mcp(&first, &[]).unwrap();
                for there in [&first, &back] {
                    prop_assert!(there.starts_with(&start) && there.ends_with(&end), "{}", there);
    let kept = ["/* theirs */", r#""env": {"TOKEN": "s3cret"}"#];
                    prop_assert!(kept.iter().all(|piece| there.contains(piece)), "{}", there);
                }
                prop_assert_eq!(back, text);
            }
        }
}
