//! What holds for any text.
#![allow(clippy::unwrap_used)]

use countersign_shell::{COMMANDS_MAX, DEPTH_MAX, Shell, read};
use proptest::prelude::*;

/// Pieces of texts; `CS_SHELL_RUNS` makes more of them.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "git",
        "rm",
        " ",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "{a,b}",
        "$x",
        "${x",
        "${x:-",
        "<<E\n",
        "E\n",
        "<<'E'\n",
        ">",
        "<(",
        "2>&1",
        "if ",
        "then ",
        "fi",
        "for ",
        "in ",
        "do ",
        "done",
        "case ",
        "esac",
        ";;",
        "[[ ",
        " ]]",
        "((",
        "))",
        "$((",
        "#",
        "=",
        "x=",
        "*",
        "~",
        "sh -c ",
        "sudo ",
        "xargs ",
        "find -exec ",
        "é",
        "9999999999999>",
        "{fd}>",
        "function ",
        "coproc ",
        "!",
        "time ",
        "$'\\x41'",
        "\u{2019}",
        "@(",
        "Remove-Item ",
        "\u{85}",
        "<#",
        "#>",
        "$x = ",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn runs() -> u32 {
    std::env::var("CS_SHELL_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(4_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(runs()))]

    #[test]
    fn every_text_is_read_within_bounds_and_every_letter_is_accounted_for(text in text()) {
        for shell in [Shell::Posix, Shell::PowerShell] {
        let script = read(&text, shell);
        prop_assert!(script.commands.len() <= COMMANDS_MAX);
        for (place, command) in script.commands.iter().enumerate() {
            prop_assert!(command.depth <= DEPTH_MAX + 1);
            prop_assert!(command.inside.is_none_or(|inside| inside < place));
        }
        if script.unreadable.is_none() {
            let mut read = vec![false; text.len()];
            for place in &script.places {
                read[place.clone()].fill(true);
            }
            for (at, byte) in text.bytes().enumerate() {
                prop_assert!(read[at] || byte.is_ascii_whitespace(), "byte {} of {:?}", at, text);
            }
        }
        }
    }
}

#[test]
fn deep_and_long_texts_are_unreadable_and_take_no_time() {
    for text in [
        "(".repeat(60_000),
        "$(".repeat(30_000),
        "sudo ".repeat(12_000),
        "{ ".repeat(30_000),
        "a;".repeat(30_000),
        "a".repeat(70_000),
        "`".repeat(60_001),
        "${x:-".repeat(10_000),
        "if ".repeat(20_000),
    ] {
        assert!(
            read(&text, Shell::Posix).unreadable.is_some(),
            "{}",
            &text[..4]
        );
    }
    let nested = |depth: usize| format!("{}a{}", "$(".repeat(depth), ")".repeat(depth));
    assert!(read(&nested(15), Shell::Posix).unreadable.is_none());
    assert!(read(&nested(16), Shell::Posix).unreadable.is_some());
}
