//! What a person types to find a request, read into the words that it must hold.
//!
//! Refuses nothing: every text is a query.

/// Words and phrases of one query at most; what follows is not looked at.
const TERMS: usize = 64;

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
            let text = plain_words(piece);
            if !text.is_empty() {
                terms.push(Term { text, prefix });
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

/// The words of a text, one blank between them. Full stops, hyphens and underscores count only inside a
/// word (`send_mail`, `acme.example`), so that a word is found at the end of a sentence too.
#[must_use]
pub fn plain_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut pending = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() || is_mark(character) {
            if words.ends_with(|c: char| c != ' ') {
                words.push_str(&pending);
            }
            pending.clear();
            words.push(character);
        } else if matches!(character, '_' | '-' | '.') && !pending.contains(' ') {
            pending.push(character);
        } else {
            if !words.is_empty() && !words.ends_with(' ') {
                words.push(' ');
            }
            pending.clear();
        }
    }
    words.truncate(words.trim_end().len());
    words
}

/// Accents that follow their letter.
fn is_mark(character: char) -> bool {
    matches!(u32::from(character), 0x300..=0x36f)
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
            ("send_mail acme.example", &["send_mail", "acme.example"]),
            ("Done. (really)", &["Done", "really"]),
            ("--force", &["force"]),
            ("maria@acme.example", &["maria acme.example"]),
            ("a\"b c\"d", &["a", "b c", "d"]),
            ("*", &[]),
            ("\"\"", &[]),
            ("AND OR NOT NEAR(x)", &["AND", "OR", "NOT", "NEAR x"]),
            ("hay:x ^y a+b", &["hay x", "y", "a b"]),
            ("a\0b", &["a b"]),
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
    }

    #[test]
    fn joiners_count_only_inside_a_word() {
        for (text, words) in [
            ("send_mail", "send_mail"),
            ("v1.2.", "v1.2"),
            ("a -- b", "a b"),
            ("_x_", "x"),
            ("x...y", "x...y"),
            ("end.\nNext", "end Next"),
            ("…", ""),
            ("e\u{301}te\u{301}", "e\u{301}te\u{301}"),
        ] {
            assert_eq!(plain_words(text), words, "{text:?}");
        }
    }
}
