//! A suggested rule as the page lists it.

use std::collections::BTreeMap;

use countersign_core::ops::suggest::Suggestion;
use countersign_core::policy::commands::CommandPattern;
use countersign_core::policy::rule::{ArgTest, Matchers};
use countersign_view::{RuleText, SuggestionView};
use serde_json::Value;

use super::rules::about;
use countersign_view::window::escape;
use countersign_view::window::key_tail;

/// Characters of the arguments on the line; the rule holds the whole.
const LINE: usize = 160;

pub(crate) fn suggestion_view(
    of: &Suggestion,
    names: &BTreeMap<String, String>,
    rule: RuleText,
    dismissed: bool,
) -> SuggestionView {
    let matchers = &of.rule.matchers;
    let named = |key: &String| match names.get(key) {
        Some(name) => escape(name),
        None => escape(&format!("…{}", key_tail(key))),
    };
    SuggestionView {
        id: of.rule.id.clone(),
        name: escape(&of.rule.name),
        about: escape(&about(&of.rule)),
        args: escape(&line(matchers)),
        approvals: of.approvals,
        operators: of.operators.iter().map(named).collect(),
        first_ms: of.first.0,
        last_ms: of.last.0,
        rule,
        dismissed,
    }
}

/// `to: "ada", amount: 5 or 10`; arguments that are named by their digest say so.
fn line(matchers: &Matchers) -> String {
    let args = &matchers.args;
    let patterns = matchers
        .command
        .values()
        .flatten()
        .map(CommandPattern::as_str);
    let patterns: Vec<&str> = patterns.collect();
    if !patterns.is_empty() {
        return cut(patterns.join(", "));
    }
    if args.is_empty() {
        return "the very same arguments, by their digest".to_owned();
    }
    let one = |(pointer, test): (&String, &ArgTest)| {
        let values: Vec<&Value> = match &test.one_of {
            Some(several) => several.iter().collect(),
            None => test.eq.iter().collect(),
        };
        let words: Vec<String> = values.iter().map(ToString::to_string).collect();
        format!(
            "{}: {}",
            pointer.trim_start_matches('/'),
            words.join(" or ")
        )
    };
    cut(args.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn cut(whole: String) -> String {
    match whole.char_indices().nth(LINE) {
        None => whole,
        Some((end, _)) => format!("{}…", &whole[..end]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn the_line_names_every_argument_with_its_values_and_is_cut() {
        let is = |value: Value| ArgTest {
            eq: Some(value),
            ..ArgTest::default()
        };
        let few = ArgTest {
            one_of: Some(vec![json!(5), json!(10)]),
            ..ArgTest::default()
        };
        let args = BTreeMap::from([
            ("/amount".to_owned(), few),
            ("/to".to_owned(), is(json!("ada"))),
        ]);
        let line = |args: &BTreeMap<String, ArgTest>| {
            super::line(&Matchers {
                args: args.clone(),
                ..Matchers::default()
            })
        };
        assert_eq!(line(&args), "amount: 5 or 10, to: \"ada\"");
        assert!(line(&BTreeMap::new()).contains("digest"));
        let pattern = |text| CommandPattern::new(text, Default::default(), true).unwrap();
        let patterns = vec![pattern("git log *"), pattern("npm test")];
        let commands = Matchers {
            command: BTreeMap::from([("/command".to_owned(), patterns)]),
            ..Matchers::default()
        };
        assert_eq!(super::line(&commands), "git log *, npm test");
        let long = BTreeMap::from([("/t".to_owned(), is(json!("ä".repeat(500))))]);
        assert_eq!(line(&long).chars().count(), LINE + 1);
    }
}
