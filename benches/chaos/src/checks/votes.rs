//! Calls that several operators must agree to.

use std::collections::{BTreeMap, BTreeSet};

use countersign_wire::{
    RequestKey, decision_subject, parse_decision, parse_request, request_subject,
};

use super::Check;
use super::stream::Judged;
use crate::facts::Facts;

/// Votes on the bus = votes in every console, byte by byte, and none beside them.
pub(crate) fn are_known_everywhere(facts: &Facts) -> Check {
    let mut check = Check::new("votes on the bus = votes in every console");
    for console in &facts.consoles {
        for (place, stored) in &facts.streams.votes {
            let same = console.rows.votes.get(place) == Some(&stored.payload);
            check.look(same, || {
                let (name, voter) = place;
                format!("{}: the vote of {voter} on {name} is missing", console.name)
            });
        }
        for place in console.rows.votes.keys() {
            check.look(facts.streams.votes.contains_key(place), || {
                let (name, voter) = place;
                format!(
                    "{}: the vote of {voter} on {name} is not on the bus",
                    console.name
                )
            });
        }
    }
    check
}

/// A call that several must agree to is let run only by as many of their votes as were on the bus before.
pub(crate) fn are_enough(facts: &Facts, judged: &BTreeMap<String, Judged>) -> Check {
    let mut check = Check::new("no call of several operators ran without their votes");
    for (name, decision) in &facts.streams.decisions {
        if !judged.get(name).is_some_and(Judged::lets_run) {
            continue;
        }
        let Some((required, voters)) = agreed(facts, name, &decision.payload) else {
            continue;
        };
        if required <= 1 {
            continue;
        }
        let before = voters.iter().filter(|voter| {
            let place = (name.clone(), (*voter).clone());
            let vote = facts.streams.votes.get(&place);
            vote.is_some_and(|vote| vote.seq < decision.seq)
        });
        let earlier = before.count();
        check.look(earlier >= usize::from(required), || {
            format!("{name} asks for {required} and was decided by {earlier} votes on the bus")
        });
    }
    check
}

/// How many a request asks for, and whose votes its decision names.
fn agreed(facts: &Facts, name: &str, decision: &[u8]) -> Option<(u8, BTreeSet<String>)> {
    let key: RequestKey = name.parse().ok()?;
    let request = facts.streams.requests.get(name)?;
    let request = parse_request(&request_subject(&key), &request.payload).ok()?;
    let decision = parse_decision(&decision_subject(&key), decision).ok()?;
    let votes = decision.votes.unwrap_or_default();
    let voters = votes.iter().map(|vote| vote.key.to_string()).collect();
    Some((request.request.approvals_required(), voters))
}
