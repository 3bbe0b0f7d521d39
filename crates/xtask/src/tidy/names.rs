//! Names that say nothing, and text that belongs to one machine.

use regex::Regex;

use super::Finding;
use super::tree::Source;

const EMPTY_WORDS: [&str; 8] = [
    "manager", "managers", "service", "services", "helper", "helpers", "util", "utils",
];
const CODE: [&str; 5] = [".rs", ".ts", ".tsx", ".py", ".mjs"];

pub(super) fn check(sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let declared = Regex::new(
        r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+|export\s+(?:default\s+)?|abstract\s+)*(?:struct|enum|trait|union|type|class|interface)\s+([A-Za-z_]\w*)",
    )?;
    // Put together here, so that this file does not find itself. A made-up person's
    // home is fine as an example.
    let homes = ["root", "work"].join("|");
    let machine_path = Regex::new(&format!(r"(?m)(?:^|[^\w./~-])/(?:{homes})(?:/|\b)"))?;

    let mut findings = Vec::new();
    for source in sources {
        if CODE.iter().any(|ending| source.path.ends_with(ending)) {
            if let Some(word) = empty_word(source.stem()) {
                findings.push(Finding::new(
                    &source.path,
                    format!("`{word}` in a file name says nothing: name what it does"),
                ));
            }
            for found in declared.captures_iter(&source.text) {
                if let Some(word) = empty_word(&found[1]) {
                    findings.push(Finding::new(
                        &source.path,
                        format!("`{word}` in `{}` says nothing: name what it is", &found[1]),
                    ));
                }
            }
        }
        if let Some(line) = machine_path
            .find(&source.text)
            .map(|found| line_of(&source.text, found.start()))
        {
            findings.push(Finding::new(
                &source.path,
                format!(
                    "line {line} holds a path of one machine: use a relative or a temporary one"
                ),
            ));
        }
    }
    Ok(findings)
}

/// The first word of a camel-case or snake-case name that is on the list.
fn empty_word(name: &str) -> Option<&'static str> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        // `busHelper` has a border before H; so has `HTTPHelper`, where a capital starts lower-case letters.
        let border = letter.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || letters
                    .get(at + 1)
                    .is_some_and(|after| after.is_lowercase()));
        if border || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    EMPTY_WORDS
        .into_iter()
        .find(|empty| words.iter().any(|word| word == empty))
}

/// The number, from 1, of the line that holds the first character at or after `at` that is not a line end.
fn line_of(text: &str, at: usize) -> usize {
    let skipped = usize::from(text[at..].starts_with('\n'));
    text[..at + skipped].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[Source::new(path, text)]).unwrap().len()
    }

    #[test]
    fn names_that_say_nothing_are_found_in_types_and_files() {
        for text in [
            "pub struct BusManager;",
            "  pub(crate) enum ServiceKind {}",
            "export class HTTPHelper {}",
            "type UrlUtils = 1",
            "class AgentService:",
        ] {
            assert_eq!(count("a.rs", text), 1, "{text}");
        }
        assert_eq!(count("crates/core/src/util.rs", ""), 1);
        assert_eq!(count("ui/src/dateHelpers.ts", ""), 1);
    }

    #[test]
    fn names_that_only_look_alike_are_left_alone() {
        for text in [
            "struct Utility;",
            "enum Serviced {}",
            "// a helper struct\n",
            "let manager = 1;",
        ] {
            assert_eq!(count("a.rs", text), 0, "{text}");
        }
        assert_eq!(count("countersign.service", ""), 0);
    }

    #[test]
    fn paths_of_one_machine_are_found_in_every_kind_of_file() {
        for home in ["root", "work"] {
            assert_eq!(count("docs/a.md", &format!("see /{home}/x")), 1, "{home}");
            assert_eq!(
                count(
                    "docs/a.md",
                    &format!("https://example.org/{home}/x, ./{home}/x, homework /{home}ly")
                ),
                0,
                "{home}"
            );
        }
    }

    #[test]
    fn the_line_of_a_machine_path_is_told() {
        let text = format!("one\ntwo\n/{}/x\n", "root");
        assert!(
            check(&[Source::new("a.md", &text)]).unwrap()[0]
                .message
                .starts_with("line 3 ")
        );
    }
}
