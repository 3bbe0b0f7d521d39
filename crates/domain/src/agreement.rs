//! When several operators agree (protocol, section 5, "Votes").
//!
//! Votes for different things are not added up, and a key counts once.

use std::collections::{BTreeMap, BTreeSet};

use countersign_wire::Verdict;

use super::{Authority, DecideRefusal, RequestRecord};

/// One operator's valid vote: request, key and signature are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ballot<'a> {
    /// The voter's public key.
    pub key: &'a str,
    /// `approve` or `modify`.
    pub verdict: &'a str,
    /// The arguments that may run.
    pub args_digest: Option<&'a str>,
}

/// The votes that make the decision, by their places in `ballots`: the first `required` of distinct keys
/// with equal verdict and argument digest. Of two agreements the one that was complete first counts, so
/// that all consoles, which see the votes in the order of the stream, find the same one.
#[must_use]
pub fn agreement(ballots: &[Ballot<'_>], required: u8) -> Option<Vec<usize>> {
    let required = usize::from(required.max(1));
    (0..ballots.len()).find_map(|last| {
        let alike = |ballot: &Ballot<'_>| {
            (ballot.verdict, ballot.args_digest)
                == (ballots[last].verdict, ballots[last].args_digest)
        };
        let mut keys = BTreeSet::new();
        let seen = ballots[..=last].iter().enumerate();
        let agreed: Vec<usize> = seen
            .filter(|(_, ballot)| alike(ballot) && keys.insert(ballot.key))
            .map(|(place, _)| place)
            .collect();
        (agreed.len() == required).then_some(agreed)
    })
}

/// How many votes are for the same thing, of the one that most are for.
#[must_use]
pub fn most_alike(ballots: &[Ballot<'_>]) -> usize {
    let mut keys: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for ballot in ballots {
        let of = keys.entry((ballot.verdict, ballot.args_digest));
        of.or_default().insert(ballot.key);
    }
    keys.values().map(BTreeSet::len).max().unwrap_or(0)
}

/// Whether a verdict is one of several votes; one that needs no others is a decision.
///
/// # Errors
/// [`DecideRefusal::NeedsMoreOperators`] for an automatic approval of a call that several operators must agree to.
pub fn is_vote(
    request: &RequestRecord,
    verdict: Verdict,
    authority: Authority,
) -> Result<bool, DecideRefusal> {
    if !verdict.lets_it_run() || request.approvals_needed <= 1 {
        return Ok(false);
    }
    match authority {
        Authority::Operator => Ok(true),
        Authority::Console => Err(DecideRefusal::NeedsMoreOperators(request.approvals_needed)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn ballot(key: &'static str, verdict: &'static str, digest: &'static str) -> Ballot<'static> {
        Ballot {
            key,
            verdict,
            args_digest: Some(digest),
        }
    }

    #[test]
    fn votes_count_together_when_they_are_for_the_same() {
        let [a, b] = [ballot("a", "approve", "1"), ballot("b", "approve", "1")];
        for (what, ballots, agreed) in [
            ("nobody", vec![], None),
            ("one", vec![a], None),
            ("two", vec![a, b], Some(vec![0, 1])),
            ("the same key twice", vec![a, a], None),
            ("another verdict", vec![a, ballot("b", "modify", "1")], None),
            (
                "other arguments",
                vec![a, ballot("b", "approve", "2")],
                None,
            ),
            (
                "a third that agrees with one",
                vec![a, ballot("c", "modify", "2"), b],
                Some(vec![0, 2]),
            ),
            (
                "the agreement that was complete first",
                vec![a, ballot("c", "modify", "2"), ballot("d", "modify", "2"), b],
                Some(vec![1, 2]),
            ),
        ] {
            assert_eq!(agreement(&ballots, 2), agreed, "{what}");
        }
    }

    fn ballots() -> impl Strategy<Value = Vec<Ballot<'static>>> {
        let key = prop::sample::select(vec!["a", "b", "c", "d", "e"]);
        let verdict = prop::sample::select(vec!["approve", "modify"]);
        let digest = prop::sample::select(vec!["1", "2"]);
        let one = (key, verdict, digest).prop_map(|(k, v, d)| ballot(k, v, d));
        prop::collection::vec(one, 0..12)
    }

    proptest! {
        #[test]
        fn there_is_an_agreement_exactly_when_enough_distinct_keys_say_the_same(
            ballots in ballots(), required in 1_u8..=5,
        ) {
            let mut groups: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
            for ballot in &ballots {
                groups.entry((ballot.verdict, ballot.args_digest)).or_default().insert(ballot.key);
            }
            let enough = groups.values().any(|keys| keys.len() >= usize::from(required));
            let agreed = agreement(&ballots, required);
            prop_assert_eq!(agreed.is_some(), enough);
            if let Some(places) = agreed {
                let chosen: Vec<_> = places.iter().map(|place| ballots[*place]).collect();
                let keys: BTreeSet<_> = chosen.iter().map(|ballot| ballot.key).collect();
                prop_assert_eq!(keys.len(), usize::from(required), "distinct keys, no more than needed");
                let say = |b: &Ballot<'static>| (b.verdict, b.args_digest);
                prop_assert!(chosen.iter().all(|ballot| say(ballot) == say(&chosen[0])));
            }
        }

        #[test]
        fn enough_votes_are_alike_exactly_where_there_is_an_agreement(
            ballots in ballots(), required in 1_u8..=5,
        ) {
            let agreed = agreement(&ballots, required).is_some();
            prop_assert_eq!(agreed, most_alike(&ballots) >= usize::from(required));
        }

        #[test]
        fn a_later_vote_never_changes_an_agreement(
            ballots in ballots(), more in ballots(), required in 1_u8..=5,
        ) {
            if let Some(agreed) = agreement(&ballots, required) {
                let all: Vec<_> = ballots.into_iter().chain(more).collect();
                prop_assert_eq!(agreement(&all, required), Some(agreed));
            }
        }
    }
}
