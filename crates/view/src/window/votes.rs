//! The progress of a vote. Who voted what stays hidden from who has yet to vote.

use crate::{BallotView, VotesCount, VotesView};
use countersign_domain::facts::{Approvals, RequestSummary, ShownVote};
use countersign_wire::escape;

use super::details::CardDetails;
use super::progress::key_tail;

/// How many have agreed; none where one operator is enough.
pub(crate) fn votes_count(line: &RequestSummary) -> Option<VotesCount> {
    let Approvals {
        required,
        given,
        apart,
        mine,
    } = Approvals::of(line)?;
    let small = |count: i64| u8::try_from(count).unwrap_or(u8::MAX);
    Some(VotesCount {
        required: small(required),
        given: small(given),
        apart: small(apart),
        mine,
    })
}

/// The same with the votes themselves, as far as they may be shown.
pub(crate) fn votes_view(story: &CardDetails) -> Option<VotesView> {
    Some(VotesView {
        count: votes_count(&story.line)?,
        votes: story.votes.iter().map(vote).collect(),
    })
}

fn vote(vote: &ShownVote) -> BallotView {
    match vote {
        ShownVote::Hidden => BallotView::Hidden,
        ShownVote::Open(vote) => BallotView::Open {
            verdict: escape(vote.verdict.as_deref().unwrap_or_default()).plain(),
            by: escape(vote.name.as_deref().unwrap_or_default()),
            key_tail: escape(&key_tail(&vote.key)).plain(),
            at_ms: vote.at,
            mine: vote.mine,
        },
    }
}
