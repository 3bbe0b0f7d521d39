//! What consoles know, against the streams and against each other.

use std::collections::BTreeMap;

use super::Check;
use super::stream::{Judged, cut, deadline};
use crate::facts::Facts;

/// Requests on the bus = requests in every console, byte by byte, and none beside them.
pub(crate) fn know_every_request(facts: &Facts) -> Check {
    let mut check = Check::new("requests on the bus = requests in every console");
    for console in &facts.consoles {
        for (name, stored) in &facts.streams.requests {
            let known = console.rows.requests.get(name);
            let same = known.is_some_and(|row| row.raw == stored.payload);
            check.look(same, || {
                let what = if known.is_some() {
                    "has other bytes"
                } else {
                    "is missing"
                };
                let seq = stored.seq;
                format!("{}: {name} (sequence {seq}) {what}", console.name)
            });
        }
        for name in console.rows.requests.keys() {
            check.look(facts.streams.requests.contains_key(name), || {
                format!("{}: {name} is not on the bus", console.name)
            });
        }
    }
    check
}

/// Decisions on the bus = decisions in every console: same bytes, key and signature.
pub(crate) fn know_every_decision(facts: &Facts) -> Check {
    let mut check = Check::new("decisions on the bus = decisions in every console");
    for console in &facts.consoles {
        for (name, stored) in &facts.streams.decisions {
            let known = console.rows.decisions.get(name);
            let same = known.is_some_and(|row| {
                row.payload == stored.payload && row.key == stored.key && row.sig == stored.sig
            });
            check.look(same, || {
                let seq = stored.seq;
                format!(
                    "{}: the decision on {name} (sequence {seq}) is missing or another",
                    console.name
                )
            });
        }
        for name in console.rows.decisions.keys() {
            check.look(facts.streams.decisions.contains_key(name), || {
                format!("{}: the decision on {name} is not on the bus", console.name)
            });
        }
        check.look(console.rows.outbox == 0, || {
            format!(
                "{}: {} decisions or votes are not sent",
                console.name, console.rows.outbox
            )
        });
    }
    check
}

/// State, verdict, deadline and effect are the same everywhere.
pub(crate) fn agree(facts: &Facts) -> Check {
    let mut check = Check::new("consoles agree with each other");
    let Some((first, others)) = facts.consoles.split_first() else {
        return check;
    };
    for other in others {
        for (name, row) in &first.rows.requests {
            let theirs = other.rows.requests.get(name);
            check.look(theirs == Some(row), || {
                let reported = |row: Option<&crate::store::RequestRow>| {
                    row.map(|row| {
                        format!("{} {:?} until {}", row.state, row.verdict, row.deadline_at)
                    })
                };
                format!(
                    "{name}: {:?} and {:?}",
                    reported(Some(row)),
                    reported(theirs)
                )
            });
        }
        for (name, row) in &first.rows.decisions {
            let theirs = other.rows.decisions.get(name);
            check.look(theirs == Some(row), || {
                let reported = theirs.map(|row| (&row.effective, &row.fault, row.stored_at));
                let ours = (&row.effective, &row.fault, row.stored_at);
                format!("the decision on {name}: {ours:?} and {reported:?}")
            });
        }
    }
    check
}

/// No console takes a late approval, one after a withdrawal, or one that does not verify for an approval.
pub(crate) fn read_decisions_right(facts: &Facts, judged: &BTreeMap<String, Judged>) -> Check {
    let mut check = Check::new("no approval counts after its deadline, by the server's stamps");
    for console in &facts.consoles {
        for (name, row) in &console.rows.decisions {
            let right = judged.get(name).map(|judged| judged.effective.as_str());
            check.look(row.effective.as_deref() == right, || {
                let reads = &row.effective;
                format!(
                    "{}: {name} reads {reads:?} instead of {right:?}",
                    console.name
                )
            });
        }
        for (name, row) in &console.rows.requests {
            // What the agent says after the decision does not reach back.
            let decision = facts.streams.decisions.get(name);
            let tighten = facts.streams.tightens.get(name).filter(|tighten| {
                decision.is_none_or(|decision| cut(tighten.stamp) <= cut(decision.stamp))
            });
            let expected = name
                .parse()
                .ok()
                .and_then(|key| deadline(&key, facts.streams.requests.get(name)?, tighten));
            let expected = expected.map(|at| at.unix_timestamp_nanos() / 1_000_000);
            check.look(expected == Some(i128::from(row.deadline_at)), || {
                format!(
                    "{}: {name} ends at {} instead of {expected:?}",
                    console.name, row.deadline_at
                )
            });
        }
    }
    check
}

/// Well-behaved agents and consoles make nothing void, rejected or put aside.
pub(crate) fn put_nothing_aside(facts: &Facts) -> Check {
    let mut check = Check::new("nothing is void, rejected or put aside");
    for console in &facts.consoles {
        for (name, row) in &console.rows.requests {
            let fine = ["decided", "expired", "withdrawn"].contains(&row.state.as_str());
            check.look(fine, || {
                format!("{}: {name} is {}", console.name, row.state)
            });
        }
        for aside in &console.rows.quarantine {
            check.breaches.push(format!("{}: {aside}", console.name));
        }
    }
    check
}

/// `audit verify` of every console.
pub(crate) fn chains_verify(facts: &Facts) -> Check {
    let mut check = Check::new("every audit chain verifies");
    for console in &facts.consoles {
        let sound = console.audit.as_ref().is_ok_and(|said| said["ok"] == true);
        check.look(sound, || format!("{}: {:?}", console.name, console.audit));
    }
    check
}
