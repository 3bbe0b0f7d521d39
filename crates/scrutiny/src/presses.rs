//! Words that ask the approver not to look.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::call::Call;
use crate::finding::{Code, Hazard};

/// Phrases for whoever approves, in the languages of the desk; lower case, blanks as one.
const PHRASES: &str = include_str!("presses.txt");

/// Arguments in which an agent explains itself; what goes to third parties is theirs.
const NAMES: &str = "reason justification explanation rationale note notes approver_note reviewer_note approval_note purpose \
    why comment_for_approver description context_note";
/// Tools whose texts other people read.
const TO_OTHERS: &str = "mail email send message chat slack post reply comment issue ticket notify";

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    if let Some(phrase) = call.said.iter().find_map(|text| pressing(text)) {
        found.push(hazard("", phrase));
    }
    let others = call.tool_is(TO_OTHERS);
    for leaf in &call.leaves {
        let own = leaf.has_word("approver reviewer approval justification rationale")
            || leaf.named("reason");
        if own || (!others && leaf.named(NAMES)) {
            let phrase = leaf.text().and_then(pressing);
            found.extend(phrase.map(|phrase| hazard(&leaf.at, phrase)));
        }
    }
    found
}

fn hazard(at: &str, phrase: &'static str) -> Hazard {
    let message = format!("It asks the approver to skip a check: \"{phrase}\".");
    Hazard::look(Code::Presses, at, phrase, message)
}

fn pressing(text: &str) -> Option<&'static str> {
    let text = plain(text);
    let matches = FINDER.as_ref()?.find_overlapping_iter(&text);
    let first = matches.map(|at| at.pattern().as_usize()).min()?;
    phrases().nth(first)
}

/// Lower case, blanks as one, one kind of apostrophe.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        for letter in word.chars() {
            match letter {
                '’' | 'ʼ' => plain.push('\''),
                letter if letter.is_ascii() => plain.push(letter.to_ascii_lowercase()),
                letter => plain.extend(letter.to_lowercase()),
            }
        }
    }
    plain
}

/// All phrases are looked for in one pass: every call has a reason.
static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(phrases()).ok());

fn phrases() -> impl Iterator<Item = &'static str> {
    let lines = PHRASES.lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}
