//! Whether the promises held. Pure: facts in, breaches out.
//!
//! What consoles and agents say of themselves is not trusted where the streams show it.

mod agents;
mod automatic;
mod consoles;
mod spared;
mod stream;
#[cfg(test)]
mod tests;
mod votes;

use std::collections::BTreeMap;

use crate::facts::Facts;

/// One promise and what broke it.
#[derive(Debug)]
pub(crate) struct Check {
    /// A stable name.
    pub(crate) name: &'static str,
    /// What was looked at.
    pub(crate) looked_at: u64,
    pub(crate) breaches: Vec<String>,
}

impl Check {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            looked_at: 0,
            breaches: Vec::new(),
        }
    }

    fn look(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.looked_at += 1;
        if !holds {
            self.breaches.push(otherwise());
        }
    }
}

/// Every promise.
pub(crate) fn all(facts: &Facts) -> Vec<Check> {
    // What each stored decision really is, judged here by the rules of the protocol.
    let judged: BTreeMap<String, stream::Judged> = stream::judge_all(facts);
    vec![
        settled(facts),
        consoles::know_every_request(facts),
        consoles::know_every_decision(facts),
        votes::are_known_everywhere(facts),
        votes::are_enough(facts, &judged),
        automatic::approves_nothing_while_off(facts, |name| judged.get(name)),
        spared::bypasses_keep_their_limits(facts, |name| judged.get(name)),
        spared::setup_keys_are_bound(facts, |name| judged.get(name)),
        spared::are_audited(facts, |name| judged.get(name)),
        consoles::agree(facts),
        consoles::read_decisions_right(facts, &judged),
        consoles::put_nothing_aside(facts),
        consoles::chains_verify(facts),
        stream::every_request_is_answered(facts),
        stream::decisions_verify(facts, &judged),
        agents::ran_only_what_was_approved(facts, &judged),
        agents::ran_nothing_twice(facts),
        agents::are_answered(facts),
        agents::heard_what_is_stored(facts),
        agents::requests_are_on_the_bus(facts),
        agents::operators_were_told_the_truth(facts),
    ]
}

fn settled(facts: &Facts) -> Check {
    let mut check = Check::new("everything works again in time");
    check.looked_at = 1;
    check.breaches.extend(facts.settled.not.iter().cloned());
    check.breaches.extend(facts.odd_ends.iter().cloned());
    check
}
