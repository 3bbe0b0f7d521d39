//! Hostile text becomes visible.

use countersign_wire::{
    Segment, TextWarning, escape, escape_bytes, escape_lines, is_hostile, json_ascii_safe,
    json_shown, looks_like, text_ascii_safe, warnings,
};
use serde_json::{Value, json};

#[test]
fn hostile_characters_become_marks() {
    for (text, plain) in [
        ("invoice", "invoice"),
        ("paid\u{202e}lla", "paid⟨U+202E⟩lla"),
        ("a\tb\nc\rd", "a⟨U+0009⟩b⟨U+000A⟩c⟨U+000D⟩d"),
        ("\u{1b}[2J", "⟨U+001B⟩[2J"),
        ("a\u{7f}\u{9c}", "a⟨U+007F⟩⟨U+009C⟩"),
        ("x\u{200b}\u{200d}\u{feff}y", "x⟨U+200B⟩⟨U+200D⟩⟨U+FEFF⟩y"),
        (
            "a\u{a0}b\u{3000}c\u{2800}d\u{3164}",
            "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2800⟩d⟨U+3164⟩",
        ),
        (
            "\u{e000}\u{f0000}\u{378}\u{fdd0}\u{10ffff}",
            "⟨U+E000⟩⟨U+F0000⟩⟨U+0378⟩⟨U+FDD0⟩⟨U+10FFFF⟩",
        ),
        (
            "a\u{fe0f}\u{e0101}\u{e0041}\u{ad}",
            "a⟨U+FE0F⟩⟨U+E0101⟩⟨U+E0041⟩⟨U+00AD⟩",
        ),
        ("\u{2028}\u{2029}", "⟨U+2028⟩⟨U+2029⟩"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
        (
            "naïve Ünïcode 中文 кириллица العربية 👍 e\u{301}",
            "naïve Ünïcode 中文 кириллица العربية 👍 e\u{301}",
        ),
    ] {
        assert_eq!(escape(text).plain(), plain);
        assert_eq!(escape(text).original().as_deref(), Some(text));
    }
}

#[test]
fn marks_beyond_what_a_script_needs_are_marked_and_not_stacked() {
    let accents = |count: usize| "\u{301}".repeat(count);
    let marked = |count: usize| "⟨U+0301⟩".repeat(count);
    for (text, plain) in [
        (format!("e{}x", accents(8)), format!("e{}x", accents(8))),
        (
            format!("e{}x", accents(9)),
            format!("e{}⟨U+0301⟩x", accents(8)),
        ),
        (
            format!("a{}e{}", accents(10), accents(8)),
            format!("a{}{}e{}", accents(8), marked(2), accents(8)),
        ),
        (
            format!("t{}", accents(10_000)),
            format!("t{}{}", accents(8), marked(9_992)),
        ),
        // Enclosing ones and those of other scripts count alike.
        (
            "o\u{20dd}".to_owned() + &"\u{5b0}".repeat(8),
            format!("o\u{20dd}{}⟨U+05B0⟩", "\u{5b0}".repeat(7)),
        ),
        // Spacing ones have a place of their own.
        ("\u{93e}".repeat(20), "\u{93e}".repeat(20)),
    ] {
        assert_eq!(escape(&text).plain(), plain);
        assert_eq!(escape_lines(&text).plain(), plain);
        assert_eq!(escape(&text).original().as_deref(), Some(text.as_str()));
        let safe = json_ascii_safe(&json!([&text]));
        assert_eq!(
            serde_json::from_str::<Value>(&safe).unwrap(),
            json!([&text])
        );
        assert_eq!(
            safe.matches("\\u").count(),
            plain.matches('⟨').count(),
            "{safe}"
        );
    }
    let named = serde_json::to_value(escape(&format!("e{}", accents(9)))).unwrap();
    assert_eq!(named[1]["name"], "one of many marks on a character");
}

#[test]
fn blocks_keep_their_line_feeds_only() {
    assert_eq!(
        escape_lines("a\nb\tc\r\n").plain(),
        "a\nb⟨U+0009⟩c⟨U+000D⟩\n"
    );
}

#[test]
fn bytes_that_are_not_text_are_marked() {
    let shown = escape_bytes(b"a\n\xff\xe2\x82b\xe2\x80\xae");
    assert_eq!(shown.plain(), "a\n⟨0xFF⟩⟨0xE2⟩⟨0x82⟩b⟨U+202E⟩");
    assert_eq!(shown.original(), None);
    assert_eq!(escape_bytes("é\n".as_bytes()), escape_lines("é\n"));
}

#[test]
fn segments_say_what_they_are() {
    let shown = serde_json::to_value(escape("a\u{202e}\u{9c}")).unwrap();
    assert_eq!(
        shown,
        json!([
            {"kind": "text", "text": "a"},
            {"kind": "mark", "code": "U+202E", "name": "right-to-left override"},
            {"kind": "mark", "code": "U+009C"},
        ])
    );
    assert_eq!(escape("\u{202e}").marks(), 1);
    assert!(escape("").is_empty());
    let forged: Segment = serde_json::from_value(json!({"kind": "mark", "code": "x"})).unwrap();
    assert_eq!(countersign_wire::Shown(vec![forged]).original(), None);
}

#[test]
fn every_character_of_every_class_is_marked() {
    let ranges = [
        '\0'..='\u{1f}',
        '\u{7f}'..='\u{a0}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202f}',
        '\u{2060}'..='\u{206f}',
        '\u{2000}'..='\u{200a}',
        '\u{e000}'..='\u{f8ff}',
        '\u{fe00}'..='\u{fe0f}',
        '\u{fff0}'..='\u{fffb}',
        '\u{e0000}'..='\u{e0fff}',
        '\u{115f}'..='\u{1160}',
        '\u{17b4}'..='\u{17b5}',
        '\u{180b}'..='\u{180f}',
    ];
    for character in ranges.into_iter().flatten() {
        assert!(is_hostile(character), "U+{:04X}", u32::from(character));
    }
    assert!((' '..='~').all(|character| !is_hostile(character)));
}

#[test]
fn json_for_terminals_keeps_its_value() {
    let value = json!({"a\u{202e}": "\u{1b}]0;x\u{7}\u{9b}\u{e0041}😀é", "n": [1, 2.5, null]});
    let safe = json_ascii_safe(&value);
    assert!(
        safe.chars().all(|character| !is_hostile(character)),
        "{safe}"
    );
    assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
    let pretty = format!("{value:#}");
    let safe = text_ascii_safe(&pretty);
    assert_eq!(safe.lines().count(), pretty.lines().count());
    assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
}

#[test]
fn arguments_are_shown_whole_and_in_order() {
    let value: Value = serde_json::from_str(r#"{"z":"a\nb","a":["\u202e"]}"#).unwrap();
    insta::assert_snapshot!(json_shown(&value).plain(), @r#"
    {
      "z": "a\nb",
      "a": [
        "⟨U+202E⟩"
      ]
    }
    "#);
}

#[test]
fn warnings_name_what_to_look_at() {
    assert_eq!(
        warnings("pay 42 EUR to https://bank.example/pay?x=1\n\tthanks"),
        []
    );
    assert_eq!(
        warnings("x\u{200b}y\u{202e}"),
        [TextWarning::HiddenCharacters { count: 2 }]
    );
    assert_eq!(warnings(&format!("a{}b", " ".repeat(8))), []);
    assert_eq!(
        warnings(&format!("a{}b", " ".repeat(9))),
        [TextWarning::LongBlanks { length: 9 }]
    );
    for host in [
        "pаypal.com",
        "xn--pypal-4ve.com",
        "аррӏе.com",
        "login.gооgle.com",
    ] {
        let found = warnings(&format!("see https://{host}/x"));
        assert_eq!(
            found,
            [TextWarning::MixedScriptHost { host: host.into() }],
            "{host}"
        );
    }
    for host in ["пример.рф", "例え.jp", "münchen.de", "v1.2.3", "a.b"] {
        assert_eq!(warnings(host), [], "{host}");
    }
}

#[test]
fn what_writing_needs_is_no_warning() {
    let indented = format!("a:\n{}b: 1\n\n{}c: 2\n", " ".repeat(12), " ".repeat(40));
    for text in [
        "family \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "\u{1f469}\u{1f3fd}\u{200d}\u{1f4bb} at work",
        "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308} \u{2764}\u{fe0f} 1\u{fe0f}\u{20e3}",
        "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
        "\u{915}\u{94d}\u{200d}\u{937}",
        indented.as_str(),
        "steps:\n          - run: make\n            env: x\n",
        "          first line is indented too",
        "a\n                \n                \nb",
    ] {
        assert_eq!(warnings(text), [], "{text:?}");
    }
    let hidden = |count| vec![TextWarning::HiddenCharacters { count }];
    let blanks = |length| vec![TextWarning::LongBlanks { length }];
    for (text, found) in [
        ("pay\u{200d}pal".to_owned(), hidden(1)),
        ("\u{1f468}\u{200d}".to_owned(), hidden(1)),
        ("\u{1f468}\u{200d}pay".to_owned(), hidden(1)),
        ("a\u{fe0f}b".to_owned(), hidden(1)),
        ("\u{645}\u{200c}a".to_owned(), hidden(1)),
        (format!("a\n{}b", " ".repeat(81)), blanks(82)),
        (format!("a{}\nb", " ".repeat(9)), blanks(10)),
        (format!("a{}b", "\n".repeat(9)), blanks(9)),
        (format!("a{}", " ".repeat(9)), blanks(9)),
    ] {
        assert_eq!(warnings(&text), found, "{text:?}");
    }
}

#[test]
fn tools_that_look_alike_are_found() {
    let known = ["delete_invoice", "read_file"];
    for name in [
        "delete_invоice",
        "deIete_invoice",
        "read\u{200b}_file",
        "Read_File",
    ] {
        assert!(looks_like(name, known).is_some(), "{name}");
    }
    for name in ["delete_invoice", "read_files", "write_file"] {
        assert_eq!(looks_like(name, known), None, "{name}");
    }
}
