#![allow(clippy::unwrap_used)]
use super::*;

fn sent(call: Call) -> Value {
    serde_json::from_str(&Card::of(call).unwrap().text).unwrap()
}

fn call(args: Value) -> Call {
    Call {
        tool: "pay".to_owned(),
        args,
        today: "2026-11-28".to_owned(),
        ..Call::default()
    }
}

fn earlier(args: Value, approved: bool, why: &str) -> Value {
    match approved {
        true => json!({ "args": args, "approved": true }),
        false => json!({ "args": args, "approved": false, "why": why }),
    }
}

#[test]
fn a_card_has_these_fields_and_no_other() {
    let full = Call {
        effect: Some("Pays".to_owned()),
        differs: Some(json!([{"at": "/to", "was": "a", "is": "b"}])),
        earlier: vec![
            earlier(json!({"to": "a"}), true, "ignored"),
            earlier(json!({"to": "c"}), false, "no"),
        ],
        ..call(json!({"to": "b"}))
    };
    assert_eq!(
        sent(full),
        json!({
            "v": 1, "tool": "pay", "args": {"to": "b"}, "effect": "Pays",
            "compared": {"differs": [{"at": "/to", "was": "a", "is": "b"}]},
            "earlier": [{"args": {"to": "a"}, "approved": true}, {"args": {"to": "c"}, "approved": false, "why": "no"}],
            "today": "2026-11-28", "cut": [],
        })
    );
    let bare = sent(call(json!({})));
    assert_eq!(
        (&bare["effect"], &bare["compared"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn long_texts_are_cut_and_named_and_the_oldest_calls_go_first() {
    let long = "ä".repeat(4_001);
    let many: Vec<Value> = (0..12)
        .map(|n| {
            earlier(
                json!({"n": n, "a/b": "x".repeat(1_001), "c": vec!["y".repeat(900); 6]}),
                true,
                "",
            )
        })
        .collect();
    let card = sent(Call {
        earlier: many,
        ..call(json!({"body": long, "ok": "z".repeat(4_000)}))
    });
    assert_eq!(
        card["args"]["body"].as_str().unwrap().chars().count(),
        4_000
    );
    let kept = card["earlier"].as_array().unwrap();
    assert!((1..12).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap()["args"]["n"], 11);
    let cut: Vec<&str> = card["cut"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| at.as_str().unwrap())
        .collect();
    assert_eq!(cut[..2], ["/args/body", "/earlier/0/args/a~1b"]);
    assert_eq!(cut.len(), 1 + kept.len());
    assert!(card.to_string().len() <= LARGEST);
    assert_eq!(Card::of(call(json!(vec!["x".repeat(4_000); 17]))), None);
}

#[test]
fn a_card_for_claude_code_mentions_nothing_and_is_the_same_json() {
    let hostile = json!({"a": " @/etc/passwd `id` !ls #note \\@~/x \"@./y\"", "@k": "\\"});
    let card = Card::of(call(hostile.clone())).unwrap();
    let text = card.without_mentions();
    assert!(text.starts_with('{') && !text.contains(MENTIONS), "{text}");
    assert!(text.contains("\\u0040/etc/passwd"), "{text}");
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["args"], hostile);
    assert_eq!(read, sent(call(hostile)));
}
