//! Takes an operator's vote into its outbox.
//!
//! One key votes once, and only where the decision could be sent.

use countersign_wire::{DECISION_MAX_BYTES, DecidedBy, Sha256Digest, Verdict, Vote};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::super::decide::change;
use super::super::draft::{DraftError, fits, seal, unsigned};
use super::super::job::{Accepted, Refused};
use super::super::publisher::{Outgoing, Settlements};
use super::super::writer_state::{Tx, WriterState};
use crate::domain::life_cycle::{Step, next};
use crate::domain::{DecideRefusal, RequestRecord, State, Timestamp, hold};
use crate::identity::Identity;
use crate::store::StoreError;
use crate::store::outbox::{self, Kind, OutboxRow};
use crate::store::votes::{self, OwnVote};

/// Bytes of a decision beside its arguments and votes, and of each vote beside its payload.
const OVERHEAD: usize = 2_048;

/// What an operator votes for.
pub(crate) struct Choice {
    pub(crate) verdict: Verdict,
    /// Digest of what may run, and the edited arguments where they differ from the request's.
    pub(crate) runs: Option<(Sha256Digest, Option<Value>)>,
    pub(crate) message: Option<String>,
    pub(crate) hold: bool,
}

fn write(
    identity: &Identity,
    record: &RequestRecord,
    choice: Choice,
    (now, largest): (Timestamp, usize),
) -> Result<OutboxRow, DraftError> {
    let key = identity.human_key();
    let vote_id = Uuid::now_v7();
    let (args_digest, edited_args) = match choice.runs {
        Some((digest, edited)) => (Some(digest), edited),
        None => (None, None),
    };
    let vote = Vote {
        v: 1,
        vote_id,
        request_digest: record
            .request_digest
            .parse()
            .map_err(|_| DraftError::Digest)?,
        verdict: choice.verdict,
        args_digest,
        edited_args,
        message: choice.message,
        decided_by: DecidedBy {
            name: identity.operator.clone(),
            key: key.clone().into(),
        },
        decided_at: countersign_wire::Timestamp::new(now.into()),
    };
    let payload = serde_json::to_vec(&vote).map_err(|_| DraftError::TooLarge(0))?;
    let message = serde_json::to_vec(&vote.message).map_err(|_| DraftError::TooLarge(0))?;
    let decision = decision_bytes(payload.len(), message.len(), record.approvals_needed);
    if decision > DECISION_MAX_BYTES {
        return Err(DraftError::TooLarge(decision));
    }
    fits(decision, largest)?;
    Ok(unsigned((Kind::Vote, vote_id), record, &key, payload, now))
}

/// How large the decision becomes where the others say as much: the arguments once, and each operator's words twice,
/// once within the vote in base64.
fn decision_bytes(vote: usize, message: usize, votes: u8) -> usize {
    let arguments = vote.saturating_sub(message);
    arguments + OVERHEAD + usize::from(votes) * (message + vote.div_ceil(3) * 4 + OVERHEAD)
}

/// Checks and takes one vote; the caller answers when it is committed.
pub(in crate::ops) fn cast(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    settlements: &Settlements,
    record: &mut RequestRecord,
    choice: Choice,
) -> Result<Result<Accepted, Refused>, StoreError> {
    let me = writer.identity.human_key().to_string();
    let refusal = match votes::voted(batch.tx, &me, record.id)? {
        OwnVote::None => None,
        OwnVote::Given => Some(DecideRefusal::AlreadyVoted),
        OwnVote::Void => Some(DecideRefusal::VoidVote),
    };
    if let Some(refusal) = refusal {
        return Ok(Err(Refused::Domain(refusal)));
    }
    let (verdict, held) = (choice.verdict, choice.hold);
    let now = (batch.now, (writer.largest)());
    let mut row = match write(&writer.identity, record, choice, now) {
        Ok(row) => row,
        Err(error) => return Ok(Err(Refused::InvalidArgs(error.to_string()))),
    };
    let detail = json!({
        "vote_id": row.id,
        "payload_digest": Sha256Digest::of_bytes(&row.payload).to_string(),
        "verdict": verdict.as_str(),
    });
    let mut changes = Vec::new();
    let accepted = if held {
        let Ok(state) = next(record.state, Step::Hold) else {
            let refusal = DecideRefusal::AlreadyDecided(record.state);
            return Ok(Err(Refused::Domain(refusal)));
        };
        record.state = state;
        let release_at = hold::release_at(batch.now, record.deadline_at);
        row.release_at = release_at.0;
        writer.due_at(release_at);
        batch.record(me, "hold", record.key.to_string(), detail);
        let origin = countersign_wire::Origin::Operator;
        changes.push(change(record, verdict, origin, batch.now));
        Accepted::Held { release_at }
    } else {
        let realm = writer.bus.as_ref().map(|bus| bus.realm);
        row.sig = realm.and_then(|realm| seal(&writer.identity, &realm, &row).ok());
        State::Queued.as_str().clone_into(&mut row.state);
        let Some(outgoing) = Outgoing::of_row(&row, Some(record)) else {
            return Ok(Err(Refused::InvalidArgs(DraftError::Key.to_string())));
        };
        let (vote_id, (settle, settled)) = (outgoing.id, oneshot::channel());
        settlements.expect(vote_id, settle);
        batch.effects.outgoing.push(outgoing);
        batch.record(me, "cast", record.key.to_string(), detail);
        Accepted::Voted {
            verdict,
            vote_id,
            settled,
        }
    };
    outbox::insert(batch.tx, &[row], &changes)?;
    batch.effects.touched.push(record.id);
    Ok(Ok(accepted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_is_taken_only_if_its_decision_can_be_sent() {
        // Base64 makes three bytes four: five votes of 130 KB are too many, two are not.
        assert!(decision_bytes(130_000, 0, 2) < DECISION_MAX_BYTES);
        assert!(decision_bytes(130_000, 0, 5) > DECISION_MAX_BYTES);
        assert!(decision_bytes(400, 0, 5) < 20_000);
    }

    #[test]
    fn the_words_of_each_operator_count_in_the_decision_that_joins_them() {
        // Two votes of 15.5 KB of words each make a decision of 74 KB.
        assert!(decision_bytes(16_000, 15_500, 2) > 74_000);
        assert!(decision_bytes(16_000, 15_500, 2) < 82_000);
    }
}
