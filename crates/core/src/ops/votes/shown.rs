//! The result of an operator's vote, and the part of the others' votes that may be shown.
//!
//! Whoever has yet to vote never sees what others voted: the second approver must not see the first verdict.

use std::time::Duration;

use countersign_wire::{KeyRole, RequestKey, Risk, Verdict, WorkspaceName};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::super::publisher::Settled;
use super::super::verdicts::{Decided, WITHDREW};
use super::close::ballot;
use crate::Fault;
use crate::domain::agreement::{Ballot, agreement, most_alike};
pub use crate::domain::facts::{Approvals, ShownVote};
use crate::domain::{DecideRefusal, State, Timestamp, already};
use crate::runtime::{App, Role};
use crate::store::request_list::{self, RequestSummary};
use crate::store::votes;
use crate::store::{Connection, StoreError, decisions, outbox};

/// How long a caller waits for the stream; afterwards the vote is queued.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);
const DISCONNECTED_LIMIT: Duration = Duration::from_millis(100);
/// How long the last voter waits for the decision: it may be another console's turn first.
const DECISION_LIMIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Whether the votes of others are hidden: the operator here has yet to vote.
#[must_use]
pub fn votes_are_hidden(line: &RequestSummary) -> bool {
    matches!(line.state.as_str(), "pending" | "holding") && !line.voted
}

fn is_open(line: &RequestSummary) -> bool {
    line.state.parse().is_ok_and(State::is_open)
}

/// The votes on a request, as far as they may be shown.
pub(crate) fn of_request(
    app: &App,
    sqlite: &Connection,
    line: &RequestSummary,
) -> Result<Vec<ShownVote>, StoreError> {
    if line.approvals_required <= 1 {
        return Ok(Vec::new());
    }
    if votes_are_hidden(line) {
        let given = usize::try_from(line.votes).unwrap_or(0);
        return Ok(vec![ShownVote::Hidden; given]);
    }
    let votes = votes::standing(sqlite, line.id)?;
    let visible = votes
        .into_iter()
        .filter(|vote| !is_open(line) || app.may_vote(line, &vote.key));
    Ok(visible
        .map(|vote| ShownVote::Open(Box::new(vote)))
        .collect())
}

impl App {
    /// Counts the votes of a line as far as they may be shown here: while it waits those of keys that are active now.
    pub(crate) fn count_votes(&self, mut line: RequestSummary) -> RequestSummary {
        let (Some(ballots), Some(sent)) = (line.ballots.take(), line.sent.take()) else {
            return line;
        };
        let ballots: Vec<(String, Option<String>, Option<String>)> =
            serde_json::from_str(&ballots).unwrap_or_default();
        if is_open(&line) {
            let sent: Vec<String> = serde_json::from_str(&sent).unwrap_or_default();
            let me = self.identity().human_key();
            let mut voters = ballots.iter().map(|(key, ..)| key).chain(&sent);
            line.voted = voters.any(|key| key == me.as_str());
        }
        let counts = ballots
            .iter()
            .filter(|(key, ..)| !is_open(&line) || self.may_vote(&line, key));
        let voters: Vec<_> = counts
            .map(|ballot| (self.voter(&ballot.0), ballot))
            .collect();
        let counted: Vec<Ballot<'_>> = voters
            .iter()
            .map(|(voter, (_, verdict, args_digest))| Ballot {
                key: voter,
                verdict: verdict.as_deref().unwrap_or_default(),
                args_digest: args_digest.as_deref(),
            })
            .collect();
        let small = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (all, alike) = (small(counted.len()), small(most_alike(&counted)));
        (line.votes, line.apart) = match votes_are_hidden(&line) {
            true => (all.min(line.approvals_required - 1), 0),
            // More may agree than have to.
            false => (alike.min(line.approvals_required), all - alike),
        };
        line
    }

    /// Whether a vote of this key on a request counts now.
    fn may_vote(&self, line: &RequestSummary, key: &str) -> bool {
        let trusted = &self.inner.shared.trusted;
        let human = trusted.role(key).is_some_and(|role| role != KeyRole::Auto);
        let workspace: Result<WorkspaceName, _> = line.ws.parse();
        let risk = Risk::effective(&line.risk);
        human && workspace.is_ok_and(|ws| trusted.may_allow(key, &ws, risk))
    }

    /// The key under which the votes of the person who has `key` count now.
    fn voter(&self, key: &str) -> String {
        self.inner.shared.trusted.voter(key)
    }

    /// Waits until a vote is on the stream, and for the decision where it was the last one needed.
    pub(crate) async fn voted(
        &self,
        key: &RequestKey,
        verdict: Verdict,
        vote_id: Uuid,
        settled: oneshot::Receiver<Settled>,
    ) -> Result<Decided, Fault> {
        let connected = self.bus().is_some_and(|bus| bus.state().borrow().connected);
        let limit = if connected {
            SETTLE_LIMIT
        } else {
            DISCONNECTED_LIMIT
        };
        let stored = async {
            tokio::select! {
                settled = settled => settled.ok(),
                settled = self.vote_projected(vote_id) => Some(settled),
            }
        };
        match tokio::time::timeout(limit, stored).await {
            Ok(Some(Settled::Stored { .. })) => self.after_vote(key, verdict, vote_id).await,
            Ok(Some(Settled::Lost { .. })) => Err(DecideRefusal::AlreadyVoted.fault(key, "")),
            Ok(Some(Settled::Late)) => Err(Fault::too_late(key)),
            Ok(Some(Settled::TakenBack { .. }) | None) | Err(_) => Err(Fault::queued(key)),
        }
    }

    /// Beside a console the store answers: that console projects.
    async fn vote_projected(&self, vote_id: Uuid) -> Settled {
        if self.role() == Role::Console {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(LOOK).await;
            let state = outbox::state(self.reader(), &vote_id.to_string()).await;
            match state.ok().flatten().as_deref() {
                Some("stored") => {
                    return Settled::Stored {
                        seq: 0,
                        reads: None,
                    };
                }
                Some("lost") => return Settled::Lost { who: String::new() },
                Some("late") => return Settled::Late,
                _ => {}
            }
        }
    }

    /// The decision where this vote was the last one needed. Where it does not come in time it is on its way from
    /// another console, and the vote is the answer.
    async fn after_vote(
        &self,
        key: &RequestKey,
        verdict: Verdict,
        vote_id: Uuid,
    ) -> Result<Decided, Fault> {
        let give_up = tokio::time::Instant::now() + DECISION_LIMIT;
        loop {
            let line = request_list::by_key(self.reader(), key).await?;
            let line = line.ok_or_else(|| Fault::unknown(key, "history"))?;
            if !matches!(line.state.as_str(), "pending" | "holding" | "queued") {
                return self.decided_by_votes(key, verdict, &line).await;
            }
            let votes = votes::of_request(self.reader(), line.id).await?;
            let counted = votes.iter().filter(|vote| self.may_vote(&line, &vote.key));
            let voters: Vec<_> = counted.map(|vote| (self.voter(&vote.key), vote)).collect();
            let both = voters.iter();
            let ballots: Vec<Ballot<'_>> = both.map(|(voter, vote)| ballot(vote, voter)).collect();
            let required = u8::try_from(line.approvals_required).unwrap_or(u8::MAX);
            let id = vote_id.to_string();
            let mine = votes
                .iter()
                .find(|vote| vote.vote_id.as_deref() == Some(&id));
            let late = tokio::time::Instant::now() >= give_up;
            match mine {
                Some(mine) if late || agreement(&ballots, required).is_none() => {
                    return Ok(Decided::Voted {
                        verdict,
                        vote_id,
                        seq: u64::try_from(mine.stream_seq).unwrap_or(0),
                    });
                }
                None if late => {
                    return Err(Fault::failed(format!(
                        "the vote on {key} is stored but does not count; check with `countersign operators list` whether this console's key is active"
                    )));
                }
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    }

    async fn decided_by_votes(
        &self,
        key: &RequestKey,
        verdict: Verdict,
        line: &RequestSummary,
    ) -> Result<Decided, Fault> {
        if line.state == "expired" {
            return Err(Fault::too_late(key));
        }
        let decision = decisions::of_request(self.reader(), key).await?;
        let id = decision
            .as_ref()
            .and_then(|decision| decision.decision_id.as_deref()?.parse().ok());
        if let (Some(decision), Some(decision_id), "decided") = (&decision, id, line.state.as_str())
            && line.verdict.as_deref() == Some(verdict.as_str())
        {
            return Ok(Decided::Stored {
                verdict,
                decision_id,
                seq: u64::try_from(decision.stream_seq).unwrap_or(0),
            });
        }
        let who = decision.map(|decision| {
            let at = Timestamp(decision.stored_at);
            super::super::decision_words::decision_summary(&decision.payload, at).1
        });
        let state = line.state.parse().unwrap_or(State::Decided);
        Err(already(key, state, who.as_deref().unwrap_or(WITHDREW)))
    }
}
