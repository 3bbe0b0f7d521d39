use serde_json::Value;

use super::*;

#[test]
fn a_help_without_one_of_the_options_is_that_of_another_version() {
    let help = "  -p, --print  x\n  --restricted\n  --output-format <f>\n  --tools <t...>\n  --strict-mcp-config
  --setting-sources <s>\n  --settings <f>\n  --no-session-persistence\n  --system-prompt <p>\n  --model <m>";
    assert!(has_every_option(help));
    for option in CLAUDE.split('|').filter(|word| word.starts_with('-')) {
        let without = [" ", "\n", ","].iter().fold(help.to_owned(), |help, end| {
            help.replace(&format!("{option}{end}"), end)
        });
        assert!(!has_every_option(&without), "{option}");
    }
}

#[test]
fn claude_code_has_no_tool_no_settings_and_no_hook() {
    let words = claude_words("TEXT", Some("m"));
    let after = |option: &str| {
        let at = words.iter().position(|word| word == option);
        at.and_then(|at| words.get(at + 1)).map(String::as_str)
    };
    for (option, value) in [
        ("--tools", ""),
        ("--setting-sources", ""),
        ("--output-format", "json"),
        ("--system-prompt", "TEXT"),
        ("--model", "m"),
    ] {
        assert_eq!(after(option), Some(value), "{option}");
    }
    let settings: Value =
        serde_json::from_str(after("--settings").unwrap_or_default()).unwrap_or_default();
    assert_eq!(
        settings,
        serde_json::json!({"permissions": {"deny": ["*"]}, "disableAllHooks": true})
    );
}

#[test]
fn a_model_of_the_cloud_leaves_this_machine() {
    assert_eq!(
        Known::Ollama.outside(Some("gpt-oss:120b-cloud")),
        Some("ollama.com")
    );
    for here in [None, Some("cloudy"), Some("llama3:8b"), Some("cloud:8b")] {
        assert_eq!(Known::Ollama.outside(here), None, "{here:?}");
    }
    assert_eq!(Known::ClaudeCode.outside(None), Some("api.anthropic.com"));
    assert_eq!(Known::LmStudio.outside(Some("x:cloud")), None);
}

#[test]
fn a_program_in_a_relative_folder_is_not_found() {
    assert_eq!(own(&["./sh".to_owned()]), None);
    assert_eq!(own(&["no-such-program".to_owned()]), None);
    assert_eq!(own(&[]), None);
    let found = own(&["sh".to_owned(), "-c".to_owned()]);
    assert!(found.is_some_and(|line| line.program.is_absolute() && line.words == ["-c"]));
}
