//! What a person types to find a request, read into the words that it must hold.
//!
//! Every text is a query.

mod words;

use words::wanted_words;
pub use words::{VERSION, is_unspaced_word, plain_words};

/// Words and phrases of one query at most; what follows is not looked at.
const TERMS: usize = 64;
/// Characters of one phrase at most; a longer one is looked for by its beginning.
const CHARACTERS: usize = 256;

/// One thing that must occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// One word, or the words of a phrase with a blank between them.
    pub text: String,
    /// The last word may go on.
    pub prefix: bool,
}

/// Words that must all occur, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextQuery {
    terms: Vec<Term>,
    typed: bool,
}

impl TextQuery {
    /// Reads plain words, `"…"` as a phrase and a trailing `*` as a prefix. A quotation mark that is never
    /// closed reaches to the end.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut terms = Vec::new();
        let mut rest = text.trim_start();
        let typed = !rest.is_empty();
        while !rest.is_empty() && terms.len() < TERMS {
            let (piece, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => rest.split_at(
                    rest.find(|c: char| c.is_whitespace() || c == '"')
                        .unwrap_or(rest.len()),
                ),
            };
            let phrase = rest.starts_with('"');
            let (prefix, after) = match (phrase, after.strip_prefix('*')) {
                (true, Some(after)) => (true, after),
                _ => (!phrase && piece.ends_with('*'), after),
            };
            let cut = piece.char_indices().nth(CHARACTERS).map(|(at, _)| at);
            let (text, beginning) = wanted_words(&piece[..cut.unwrap_or(piece.len())]);
            if !text.is_empty() {
                terms.push(Term {
                    text,
                    prefix: prefix || beginning || cut.is_some(),
                });
            }
            rest = after.trim_start();
        }
        Self { terms, typed }
    }

    /// Whether nothing was typed: then everything is found. A text without a letter or a digit in it
    /// finds nothing.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        !self.typed
    }

    /// What must occur.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let terms = TextQuery::parse(text).terms;
        let written = |term: Term| {
            let star = if term.prefix { "*" } else { "" };
            format!("{}{star}", term.text)
        };
        terms.into_iter().map(written).collect()
    }

    #[test]
    fn words_phrases_and_prefixes_are_told_apart() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("refund order", &["refund", "order"]),
            ("  refund\torder ", &["refund", "order"]),
            ("\"refund order\" now", &["refund order", "now"]),
            ("ref*", &["ref*"]),
            ("\"refund ord\"*", &["refund ord*"]),
            ("\"never closed", &["never closed"]),
            ("send_mail acme.example", &["send mail", "acme example"]),
            ("部署billing", &["部署 署 billing"]),
            ("Done. (really)", &["done", "really"]),
            ("--force", &["force"]),
            ("maria@acme.example", &["maria acme example"]),
            ("a\"b c\"d", &["a", "b c", "d"]),
            ("*", &[]),
            ("\"\"", &[]),
            ("AND OR NOT NEAR(x)", &["and", "or", "not", "near x"]),
            ("hay:x ^y a+b", &["hay x", "y", "a b"]),
            ("a\0b", &["a b"]),
            ("東京 会議室*", &["東京", "会議 議室*"]),
            ("京", &["京*"]),
        ];
        for (text, terms) in table {
            assert_eq!(&read(text), terms, "{text:?}");
        }
        assert!(TextQuery::parse(" \n").is_blank() && TextQuery::default().is_blank());
        assert!(!TextQuery::parse("!?").is_blank());
    }

    #[test]
    fn a_query_is_bounded() {
        assert_eq!(read(&"word ".repeat(10_000)).len(), TERMS);
        let long = &read(&"東".repeat(10_000))[0];
        assert_eq!(long.split(' ').count(), CHARACTERS - 1);
    }
}
