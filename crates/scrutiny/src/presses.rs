//! Words that ask the approver not to look.

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
    let text = text.to_lowercase().replace(['’', 'ʼ'], "'");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let phrases = PHRASES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut there = phrases.filter(|phrase| text.contains(phrase));
    there.next()
}
