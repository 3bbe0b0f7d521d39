//! All findings of a call, the strongest first.

use std::collections::HashSet;

use crate::call::Call;
use crate::finding::{Code, Finding, Weight};
use crate::hazards::hazards;
use crate::past::Past;
use crate::{
    against, always, beyond, claim, denied, direction, done_before, edits, everything, guards,
    near_miss, near_word, new_value, pairs, production, records, safeguard, secrets, usual, wider,
};

/// The most findings of a call.
const MOST: usize = 8;

/// What is remarkable about a call, by itself and against the past of the agent's tool. The strongest first, at
/// most 8.
#[must_use]
pub fn examine(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found: Vec<Finding> = hazards(call)
        .into_iter()
        .filter_map(|hazard| usual::weigh(hazard, past))
        .collect();
    // A file to a host of earlier calls is what people approved.
    found.retain(|of| {
        of.code != Code::SendsOut || of.weight == Weight::Stop || !usual::is_to_known(call, past)
    });
    found.extend(safeguard::found(call, past));
    found.extend(production::found(call, past));
    found.extend(near_miss::found(call, past));
    found.extend(pairs::broken(call, past));
    found.extend(denied::found(call, past));
    found.extend(done_before::found(call, past));
    found.extend(edits::found(call));
    found.extend(records::found(call, past));
    found.extend(secrets::found(call, past));
    found.extend(claim::found(call));
    found.extend(against::found(call, past));
    found.extend(always::found(call, past));
    found.extend(near_word::found(call, past));
    found.extend(wider::found(call, past));
    found.extend(new_value::values(call, past));
    found.extend(new_value::arguments(call, past));
    found.extend(beyond::found(call, past));
    found.sort_by(|one, other| {
        (one.weight, one.code, &one.at).cmp(&(other.weight, other.code, &other.at))
    });
    let mut seen = HashSet::new();
    found.retain(|finding| seen.insert((finding.code, finding.at.clone())));
    if direction::closes(call) {
        let opening = |code: Code| {
            matches!(
                code,
                Code::OpensRights | Code::NewValue | Code::Beyond | Code::Wider | Code::PairBroken
            )
        };
        found.retain(|of| !opening(of.code));
    }
    found.extend(guards::found(call, past));
    found.extend(everything::found(call, past));
    // What is a letter away is new as well: one mark says it.
    let stronger: HashSet<(Code, String)> =
        found.iter().map(|of| (of.code, of.at.clone())).collect();
    let has = |code, at: &str| stronger.contains(&(code, at.to_owned()));
    found.retain(|of| match of.code {
        Code::NewValue => !has(Code::NearMiss, &of.at) && !has(Code::PairBroken, &of.at),
        _ => true,
    });
    found.truncate(MOST);
    found
}
