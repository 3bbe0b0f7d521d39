//! What agents did and operators saw, against the streams.

use std::collections::{BTreeMap, BTreeSet};

use super::Check;
use super::stream::Judged;
use crate::facts::Facts;
use crate::journal::Event;

/// The last look of an agent and one exchange with a bus that does not answer.
const SLACK_MS: i64 = 5_000;

/// A tool ran only on a valid approval, with the arguments that it names, and never after the agent had taken its
/// question back.
pub(crate) fn ran_only_what_was_approved(
    facts: &Facts,
    judged: &BTreeMap<String, Judged>,
) -> Check {
    let mut check = Check::new("no tool ran without an approval");
    for agent in &facts.agents {
        let mut cancelled = BTreeSet::new();
        for line in &agent.lines {
            match &line.what {
                Event::Cancelled { key } => {
                    cancelled.insert(key.as_str());
                }
                Event::Ran {
                    key,
                    args_digest,
                    decision_id,
                } => {
                    let current = judged.get(key).is_some_and(|judged| {
                        judged.lets_run()
                            && judged.args_digest.as_ref() == Some(args_digest)
                            && Some(&judged.decision_id) == decision_id.as_ref()
                    });
                    check.look(current && !cancelled.contains(key.as_str()), || {
                        format!(
                            "{}: {key} ran; on the bus: {:?}",
                            agent.name,
                            judged.get(key)
                        )
                    });
                }
                _ => {}
            }
        }
    }
    check
}

/// Each call ran once.
pub(crate) fn ran_nothing_twice(facts: &Facts) -> Check {
    let mut check = Check::new("no call ran twice");
    let mut seen = BTreeSet::new();
    for line in facts.agents.iter().flat_map(|agent| &agent.lines) {
        if let Event::Ran { key, .. } = &line.what {
            check.look(seen.insert(key), || key.clone());
        }
    }
    check
}

/// Every wait ended, with an answer or an error, by its limit and a little more.
pub(crate) fn are_answered(facts: &Facts) -> Check {
    let mut check = Check::new("every waiting agent is answered in time");
    for agent in &facts.agents {
        let mut open: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        let mut ended = false;
        for line in &agent.lines {
            match &line.what {
                Event::Asked { key, limit_ms } => {
                    open.insert(key, (line.at, *limit_ms));
                }
                Event::Answered { key, waited_ms, .. } | Event::Failed { key, waited_ms, .. } => {
                    let limit = open.remove(key.as_str()).map(|(_, limit)| limit);
                    let in_time = limit.is_some_and(|limit| *waited_ms <= limit + SLACK_MS);
                    check.look(in_time, || {
                        format!("{}: {key} waited {waited_ms} ms of {limit:?}", agent.name)
                    });
                }
                Event::Ended => ended = true,
                _ => {}
            }
        }
        check.look(ended || agent.killed, || {
            format!("{} did not end in order", agent.name)
        });
        let last = agent.lines.last().map_or(0, |line| line.at);
        for (key, (at, limit)) in open {
            // A killed agent waits no longer; until then it was in time.
            let excused = agent.killed && last <= at + limit + SLACK_MS;
            check.look(excused, || format!("{}: {key} got no answer", agent.name));
        }
    }
    check
}

/// A verdict that an agent was given is the one that is stored.
pub(crate) fn heard_what_is_stored(facts: &Facts) -> Check {
    let mut check = Check::new("agents heard what is stored");
    for agent in &facts.agents {
        for line in &agent.lines {
            let Event::Answered {
                key,
                verdict,
                decision_id: Some(id),
                ..
            } = &line.what
            else {
                continue;
            };
            let stored = facts.streams.decisions.get(key);
            let body = stored.and_then(|stored| {
                serde_json::from_slice::<serde_json::Value>(&stored.payload).ok()
            });
            let same = body.is_some_and(|body| body["decision_id"] == id.as_str());
            check.look(same, || {
                format!("{}: {key} was reported {verdict}", agent.name)
            });
        }
    }
    check
}

/// Whoever got an answer from the bus had a request there.
pub(crate) fn requests_are_on_the_bus(facts: &Facts) -> Check {
    let mut check = Check::new("what was decided was asked on the bus");
    for name in facts.streams.decisions.keys() {
        check.look(facts.streams.requests.contains_key(name), || {
            format!("{name} was never asked")
        });
    }
    for agent in &facts.agents {
        for line in &agent.lines {
            if let Event::Answered {
                key,
                decision_id: Some(_),
                ..
            } = &line.what
            {
                check.look(facts.streams.requests.contains_key(key), || {
                    format!("{key} was answered but is not on the bus")
                });
            }
        }
    }
    check
}

/// A stored verdict shown to an operator is the one on the bus.
pub(crate) fn operators_were_told_the_truth(facts: &Facts) -> Check {
    let mut check = Check::new("what operators were told is stored");
    for line in &facts.operators {
        let Event::Verdict {
            key,
            verdict,
            outcome,
            decision_id,
            ..
        } = &line.what
        else {
            continue;
        };
        if outcome != "stored" {
            continue;
        }
        let stored = facts.streams.decisions.get(key);
        let body: serde_json::Value = stored
            .and_then(|stored| serde_json::from_slice(&stored.payload).ok())
            .unwrap_or_default();
        let same = body["verdict"] == verdict.as_str()
            && decision_id
                .as_ref()
                .is_none_or(|id| body["decision_id"] == id.as_str());
        check.look(same, || {
            format!("{key}: {verdict} was said to be stored; there is {body}")
        });
    }
    check
}
