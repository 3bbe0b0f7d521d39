//! Automatic answers: expired, withdrawn, rejected.
//!
//! A request is answered only while neither the bus nor the outbox holds an answer.

use countersign_wire::{DecisionVerdict, Origin, Sha256Digest};
use serde_json::json;

use super::draft::{Draft, seal, write};
use super::publisher::Outgoing;
use super::turns::Turn;
use super::votes::close;
use super::writer_state::{Tx, WriterState};
use crate::domain::{State, Timestamp};
use crate::store::outbox;
use crate::store::unanswered::{self, EndedCursor};
use crate::store::{StoreError, requests};

/// How many are looked at at once.
const AT_ONCE: i64 = 500;
/// How soon to look whether answers may be given again.
const OWED_LOOK_MS: i64 = 200;

fn draft_for(state: State) -> Option<Draft> {
    match state {
        State::Expired => Some(Draft::by_console(DecisionVerdict::Expired, Origin::Timeout)),
        State::Withdrawn => Some(Draft::by_console(DecisionVerdict::Withdrawn, Origin::Agent)),
        State::Rejected => Some(Draft::by_console(DecisionVerdict::Rejected, Origin::System)),
        _ => None,
    }
}

/// Queues the answer of each of these rows, as their state asks for, where it is this console's turn.
/// The others are looked at again when their turn comes; all of them, while the policy is not known or this
/// console's key does not count.
pub(crate) fn answer(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    ids: &[i64],
) -> Result<(), StoreError> {
    let Some(realm) = writer.bus.as_ref().map(|bus| bus.realm) else {
        return Ok(());
    };
    if ids.is_empty() || writer.read_only.is_some() || !writer.projects {
        return Ok(());
    }
    if !writer.policy_known.is_fresh() {
        writer.answers_owed = Some(EndedCursor::default());
        writer.due_at(batch.now.plus_ms(OWED_LOOK_MS));
        return Ok(());
    }
    // A pending or retired key would put a void answer there, in the place of another console's. The list of operators
    // that changes this asks for another look.
    if !writer.counts(writer.identity.auto_key().as_str()) {
        writer.answers_owed = Some(EndedCursor::default());
        return Ok(());
    }
    let mut rows = Vec::new();
    for record in requests::records_by_id(batch.tx, ids)? {
        let Some(mut draft) = draft_for(record.state) else {
            continue;
        };
        let rank = writer.peers.rank(&record.key, batch.now, |_| true);
        if let Turn::Later(at) = writer.turns.of(record.id, rank, batch.now) {
            writer.due_at(at);
            continue;
        }
        if record.state == State::Rejected {
            // Only the author of the agent can fix it.
            draft.message = unanswered::why(batch.tx, record.id)?;
        }
        let written = write(&writer.identity, &record, draft, batch.now).and_then(|mut row| {
            row.sig = Some(seal(&writer.identity, &realm, &row)?);
            State::Queued.as_str().clone_into(&mut row.state);
            Ok(row)
        });
        let row = match written {
            Ok(written) => written,
            Err(error) => {
                tracing::error!(request = %record.key, %error, "an automatic answer could not be made");
                continue;
            }
        };
        outbox::clear_failed(batch.tx, record.id)?;
        batch.record(
            writer.identity.auto_key().to_string(),
            "answer",
            record.key.to_string(),
            json!({
                "decision_id": row.id,
                "payload_digest": Sha256Digest::of_bytes(&row.payload).to_string(),
                "verdict": record.state.as_str(),
            }),
        );
        let outgoing = Outgoing::of_row(&row, None);
        batch.effects.outgoing.extend(outgoing);
        rows.push(row);
    }
    outbox::insert(batch.tx, &rows, &[])
}

/// Answers a page of what ended while nobody could: after a restart, while the policy was not known, or read again
/// from the streams. Returns when to go on; none at the end, and while this console's key does not count.
fn catch_up(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let Some(place) = writer.answers_owed else {
        return Ok(None);
    };
    if !writer.policy_known.is_fresh() {
        return Ok(Some(batch.now.plus_ms(OWED_LOOK_MS)));
    }
    if !writer.counts(writer.identity.auto_key().as_str()) {
        return Ok(None);
    }
    if place == EndedCursor::default() {
        close::catch_up(writer, batch)?;
    }
    let (ids, next) = unanswered::page(batch.tx, place, AT_ONCE)?;
    writer.answers_owed = next;
    answer(writer, batch, &ids)?;
    Ok(writer.answers_owed.map(|_| batch.now))
}

/// Gives the answers whose turn has come, unless something is stored by now, and those that could not
/// be given before. Returns when to look next.
pub(crate) fn look_again(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let owed = catch_up(writer, batch)?;
    let at_once = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
    let due = writer.turns.due(batch.now, at_once);
    let open = unanswered::of(batch.tx, &due)?;
    answer(writer, batch, &open)?;
    writer.turns.forget(&due);
    Ok(writer.turns.next().into_iter().chain(owed).min())
}
