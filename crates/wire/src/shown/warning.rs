//! What a person should know about a text before trusting it.
//!
//! A warning is a reason to look; its absence proves nothing.

use icu_properties::CodePointSetData;
use icu_properties::props::ExtendedPictographic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_security::{MixedScript as _, skeleton};

use super::class::is_hostile;

/// More blanks in a row than this are a warning.
const MOST_BLANKS: usize = 8;

/// More blanks than this at the beginning of a line are no indentation.
const MOST_INDENT: usize = 80;

/// At most this many host names are listed for one text.
const MOST_HOSTS: usize = 8;

/// A reason to look twice at a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "code", rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", ts(export_to = "generated.ts"))]
pub enum TextWarning {
    /// Characters that hide, reorder or forge text.
    HiddenCharacters {
        /// How many there are.
        #[cfg_attr(feature = "typescript", ts(type = "number"))]
        count: usize,
    },
    /// A run of blanks which can push text out of sight.
    LongBlanks {
        /// The length of the longest run.
        #[cfg_attr(feature = "typescript", ts(type = "number"))]
        length: usize,
    },
    /// A host name that mixes scripts or is written in Punycode.
    MixedScriptHost {
        /// The host name, as written.
        host: String,
    },
}

impl TextWarning {
    /// Its code, the word of the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::HiddenCharacters { .. } => "hidden_characters",
            Self::LongBlanks { .. } => "long_blanks",
            Self::MixedScriptHost { .. } => "mixed_script_host",
        }
    }

    /// What is to be said of the text, for a person. Not escaped.
    pub fn words(&self) -> String {
        match self {
            Self::HiddenCharacters { count: 1 } => {
                "has a character that is invisible or reorders text. It is marked in place."
                    .to_owned()
            }
            Self::HiddenCharacters { count } => format!(
                "has {count} characters that are invisible or reorder text. They are marked in place."
            ),
            Self::LongBlanks { length } => {
                format!("has {length} blanks in a row, so text may be out of sight.")
            }
            Self::MixedScriptHost { host } => {
                format!("names a host that mixes scripts or hides its letters: {host}")
            }
        }
    }
}

/// Looks a text over. Line feeds and tabs count as blanks, not as hidden; joiners where a script or an emoji has them, and
/// the indentation of a line, count as neither.
pub fn warnings(text: &str) -> Vec<TextWarning> {
    let mut found = Vec::new();
    let hidden = |c: char| !matches!(c, '\n' | '\t' | '\r' | '\u{27e8}') && is_hostile(c);
    let hidden = text.char_indices().filter(|(_, c)| hidden(*c));
    let count = hidden.filter(|(at, c)| !joins(text, *at, *c)).count();
    if count > 0 {
        found.push(TextWarning::HiddenCharacters { count });
    }
    let length = longest_blank_run(text);
    if length > MOST_BLANKS {
        found.push(TextWarning::LongBlanks { length });
    }
    let hosts = hosts(text)
        .filter(|host| is_doubtful(host))
        .take(MOST_HOSTS);
    found.extend(hosts.map(|host| TextWarning::MixedScriptHost {
        host: host.to_owned(),
    }));
    found
}

/// Whether a joiner or selector is where emoji, or letters of Arabic and Indic scripts, have one.
fn joins(text: &str, at: usize, character: char) -> bool {
    let pictures = CodePointSetData::new::<ExtendedPictographic>();
    let parts = |c: &char| matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    let before = text[..at].chars().rev().find(|c| !parts(c));
    let after = text[at + character.len_utf8()..].chars().next();
    let both = |is: &dyn Fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    let picture = |c: char| pictures.contains(c);
    let joined = |c: char| matches!(c, '\u{620}'..='\u{dff}');
    match character {
        '\u{200d}' => both(&picture) || both(&joined),
        '\u{200c}' => both(&joined),
        '\u{fe0f}' => before.is_some_and(picture) || after == Some('\u{20e3}'),
        _ => false,
    }
}

/// Blanks between two words: not those that indent a line, unless they push it out of sight.
fn longest_blank_run(text: &str) -> usize {
    let (mut longest, mut lines, mut blanks, mut begins) = (0, 0, 0, true);
    for character in text.chars().chain(['.']) {
        let indents = begins && blanks <= MOST_INDENT;
        let before = lines + if indents { 0 } else { blanks };
        match character {
            '\n' => (lines, blanks, begins) = (before + 1, 0, true),
            c if c.is_whitespace() => blanks += 1,
            _ => {
                longest = longest.max(before);
                (lines, blanks, begins) = (0, 0, false);
            }
        }
    }
    longest
}

/// Words that may be host names: with a dot inside, cut at what a host cannot hold.
fn hosts(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| match c {
        '.' | '-' => false,
        c if c.is_ascii() => !c.is_ascii_alphanumeric(),
        c => c.is_whitespace(),
    };
    text.split(part)
        .map(|word| word.trim_matches(['.', '-']))
        .filter(|word| word.contains('.') && word.split('.').all(|label| !label.is_empty()))
}

fn is_doubtful(host: &str) -> bool {
    let punycode = |label: &str| {
        label
            .get(..4)
            .is_some_and(|s| s.eq_ignore_ascii_case("xn--"))
    };
    host.split('.')
        .any(|label| punycode(label) || !label.is_single_script())
        || (!host.is_ascii() && ascii_look_alike(host))
}

/// A foreign name whose every letter looks like an ASCII one.
fn ascii_look_alike(host: &str) -> bool {
    host.split('.')
        .any(|label| !label.is_ascii() && skeleton(label).all(|character| character.is_ascii()))
}

/// The known name that this one could be mistaken for: another text with the
/// same look (Unicode TR 39 skeleton, letter case ignored).
pub fn looks_like<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let look = look(name);
    known
        .into_iter()
        .find(|other| *other != name && self::look(other) == look)
}

fn look(name: &str) -> String {
    let visible: String = name
        .chars()
        .filter(|character| !is_hostile(*character))
        .collect();
    let folded: String = skeleton(&visible).collect::<String>().to_lowercase();
    skeleton(&folded).collect()
}
