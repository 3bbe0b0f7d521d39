//! Takes an operator's vote into its outbox.
//!
//! One key votes once, and only where the decision could be sent.

use countersign_wire::{
    Context, DECISION_MAX_BYTES, DecidedBy, PublicKey, Sha256Digest, Verdict, Vote, sign,
    vote_subject,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::super::decide::{change, release_hold};
use super::super::draft::{DraftError, fits};
use super::super::job::{Accepted, Refused};
use super::super::publisher::{Carried, Outgoing, Settlements};
use super::super::writer_state::{Tx, WriterState};
use crate::domain::life_cycle::{Step, next};
use crate::domain::{DecideRefusal, RequestRecord, State, Timestamp, hold};
use crate::identity::Identity;
use crate::store::StoreError;
use crate::store::request_states::{self, StateChange};
use crate::store::requests;
use crate::store::vote_outbox::{self, OutgoingVote, OwnVote};

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

struct Written {
    vote_id: Uuid,
    subject: String,
    payload: Vec<u8>,
    key: PublicKey,
}

fn write(
    identity: &Identity,
    record: &RequestRecord,
    choice: Choice,
    (now, largest): (Timestamp, usize),
) -> Result<Written, DraftError> {
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
            key: key.clone(),
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
    Ok(Written {
        vote_id,
        subject: vote_subject(&record.key, &key),
        payload,
        key,
    })
}

/// How large the decision becomes where the others say as much: the arguments once, and each operator's words twice,
/// once within the vote in base64.
fn decision_bytes(vote: usize, message: usize, votes: u8) -> usize {
    let arguments = vote.saturating_sub(message);
    arguments + OVERHEAD + usize::from(votes) * (message + vote.div_ceil(3) * 4 + OVERHEAD)
}

fn seal(identity: &Identity, realm: &Uuid, vote: &OutgoingVote) -> Option<String> {
    let keys = identity.signing();
    if vote.key != keys.human_key.as_str() {
        return None;
    }
    let (subject, payload) = (&vote.subject, &vote.payload);
    let sig = sign(&keys.human, Context::Vote, realm, subject, payload);
    sig.ok().map(|sig| sig.to_string())
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
    let refusal = match vote_outbox::voted(batch.tx, &me, record.id)? {
        OwnVote::None => None,
        OwnVote::Given => Some(DecideRefusal::AlreadyVoted),
        OwnVote::Void => Some(DecideRefusal::VoidVote),
    };
    if let Some(refusal) = refusal {
        return Ok(Err(Refused::Domain(refusal)));
    }
    let (verdict, held) = (choice.verdict, choice.hold);
    let now = (batch.now, (writer.largest)());
    let written = match write(&writer.identity, record, choice, now) {
        Ok(written) => written,
        Err(error) => return Ok(Err(Refused::InvalidArgs(error.to_string()))),
    };
    let vote_id = written.vote_id;
    let mut row = OutgoingVote {
        vote_id: vote_id.to_string(),
        request: record.id,
        subject: written.subject,
        payload: written.payload,
        key: written.key.to_string(),
        sig: None,
        release_at: batch.now.0,
        last_error: None,
        state: "holding".to_owned(),
    };
    let detail = json!({
        "vote_id": row.vote_id,
        "payload_digest": Sha256Digest::of_bytes(&row.payload).to_string(),
        "verdict": verdict.as_str(),
    });
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
        let change = change(record, verdict, origin, batch.now);
        request_states::change_states(batch.tx, &[change])?;
        Accepted::Held { release_at }
    } else {
        let realm = writer.bus.as_ref().map(|bus| bus.realm);
        let Some(sig) = realm.and_then(|realm| seal(&writer.identity, &realm, &row)) else {
            return Ok(Err(Refused::InvalidArgs(DraftError::Key.to_string())));
        };
        row.sig = Some(sig.clone());
        "queued".clone_into(&mut row.state);
        let (settle, settled) = oneshot::channel();
        settlements.expect(vote_id, settle);
        batch
            .effects
            .outgoing
            .push(outgoing(&row, vote_id, sig, record.deadline_at));
        batch.record(me, "cast", record.key.to_string(), detail);
        Accepted::Voted {
            verdict,
            vote_id,
            settled,
        }
    };
    vote_outbox::insert(batch.tx, &row)?;
    batch.effects.touched.push(record.id);
    Ok(Ok(accepted))
}

fn outgoing(row: &OutgoingVote, vote_id: Uuid, sig: String, deadline: Timestamp) -> Outgoing {
    Outgoing {
        carried: Carried::Vote,
        decision_id: vote_id,
        request: row.request,
        subject: row.subject.clone(),
        payload: row.payload.clone().into(),
        key: row.key.clone(),
        sig,
        deadline: Some(deadline),
        risk: None,
        kept: false,
    }
}

/// Signs held votes whose time has come.
pub(in crate::ops) fn release(writer: &WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    let due = vote_outbox::in_state(batch.tx, "holding", batch.now)?;
    let Some(realm) = writer.bus.as_ref().map(|bus| bus.realm) else {
        return Ok(());
    };
    for row in due {
        let Some(record) = requests::records_by_id(batch.tx, &[row.request])?.pop() else {
            continue;
        };
        let step = next(record.state, Step::Vote);
        // A vote is final, even one that counts for nothing.
        let may = writer.may_release(&row.key, &record, batch.now);
        let (true, Ok(state), Some(sig), Ok(vote_id)) = (
            may,
            step,
            seal(&writer.identity, &realm, &row),
            row.vote_id.parse(),
        ) else {
            let actor = writer.identity.auto_key().to_string();
            release_hold(batch, &record, &actor, "hold_dropped")?;
            continue;
        };
        batch.record(
            row.key.clone(),
            "cast",
            record.key.to_string(),
            json!({
                "vote_id": row.vote_id,
                "payload_digest": Sha256Digest::of_bytes(&row.payload).to_string(),
            }),
        );
        vote_outbox::release(batch.tx, &row.vote_id, &sig)?;
        let waits_again = StateChange::waits_again(&record, state);
        request_states::change_states(batch.tx, &[waits_again])?;
        batch.effects.touched.push(record.id);
        batch
            .effects
            .outgoing
            .push(outgoing(&row, vote_id, sig, record.deadline_at));
    }
    Ok(())
}

/// Drops held votes: a console that stops sends nothing that was only held.
pub(in crate::ops) fn drop_held(batch: &mut Tx<'_>, actor: &str) -> Result<(), StoreError> {
    loop {
        let held = vote_outbox::in_state(batch.tx, "holding", Timestamp(i64::MAX))?;
        if held.is_empty() {
            return Ok(());
        }
        for row in held {
            let records = requests::records_by_id(batch.tx, &[row.request])?;
            for record in &records {
                release_hold(batch, record, actor, "hold_dropped")?;
            }
            vote_outbox::delete_held(batch.tx, row.request)?;
        }
    }
}

/// Sends the signed votes in the outbox, whoever put them there. Returns whether there may be more.
pub(in crate::ops) fn rescan(writer: &WriterState, batch: &mut Tx<'_>) -> Result<bool, StoreError> {
    let queued = vote_outbox::in_state(batch.tx, "queued", Timestamp(i64::MAX))?;
    let more = queued.len() >= vote_outbox::PAGE;
    for row in queued {
        let Some(record) = requests::records_by_id(batch.tx, &[row.request])?.pop() else {
            continue;
        };
        if !matches!(record.state, State::Pending | State::Holding) && writer.projects {
            // Decided, expired or withdrawn meanwhile: it is of no use any more.
            ended(writer, batch, &row.vote_id, true)?;
            continue;
        }
        if let (Some(sig), Ok(vote_id)) = (row.sig.clone(), row.vote_id.parse()) {
            batch
                .effects
                .outgoing
                .push(outgoing(&row, vote_id, sig, record.deadline_at));
        }
    }
    Ok(more)
}

/// A vote that will not be stored: the subject already holds another one of this key, or it was too late.
pub(in crate::ops) fn ended(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    vote_id: &str,
    late: bool,
) -> Result<(), StoreError> {
    let state = if late { "late" } else { "lost" };
    let Some(request) = vote_outbox::close(batch.tx, vote_id, state)? else {
        return Ok(());
    };
    for record in requests::records_by_id(batch.tx, &[request])? {
        let actor = writer.identity.auto_key().to_string();
        let action = if late { "vote_late" } else { "vote_lost" };
        batch.record(
            actor,
            action,
            record.key.to_string(),
            json!({ "vote_id": vote_id }),
        );
        batch.effects.touched.push(record.id);
    }
    Ok(())
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
