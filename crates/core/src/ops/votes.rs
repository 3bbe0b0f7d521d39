//! Projects the votes of `CS_DECISIONS` (protocol, section 5, "Votes").
//!
//! A stored vote that its operator's key did not sign for this request and these arguments is kept, raises an alarm,
//! and never counts.

pub(super) mod cast;
pub(super) mod close;
pub mod shown;

use countersign_wire::{
    DecisionVerdict, Origin, RequestKey, Sha256Digest, VoteCheck, verify_vote, vote_subject,
};
use serde_json::json;

use super::attested::{self, StoredAt, stored_at};
use super::decision_reading::facts_of;
use super::incoming::{IncomingDecision, IncomingVote};
use super::publisher::Settled;
use super::writer_state::{CONFLICT, Tx, WriterState};
use crate::domain::{AlarmCode, RequestRecord, State, Timestamp};
use crate::store::republish::{self, Again};
use crate::store::votes::{self, NewVote, StoredVote};
use crate::store::{StoreError, outbox, requests};

/// A vote's bytes and where they were stored.
struct Given<'a> {
    voter: &'a str,
    payload: &'a [u8],
    signer: Option<&'a str>,
    sig: Option<&'a str>,
    at: Timestamp,
    /// The sequence at which the key is looked at.
    sequence: u64,
}

/// Whether a vote counts by the log at its place.
fn counts(writer: &WriterState, record: &RequestRecord, given: &Given<'_>) -> bool {
    let (Some(facts), Some(sig)) = (facts_of(record, given.at), given.sig) else {
        return false;
    };
    let (Ok(voter), true) = (given.voter.parse(), given.signer == Some(given.voter)) else {
        return false;
    };
    let log = writer.trusted.log();
    let check = VoteCheck {
        request: &facts,
        stored_at: given.at.into(),
        standing: log.at(Some(given.sequence)),
    };
    let subject = vote_subject(&record.key, &voter);
    let vote = verify_vote(check, given.voter, &subject, given.payload, sig);
    vote.is_some_and(|vote| record.allowed.contains(vote.verdict))
}

/// The operator whose vote a key's is, where a vote of it to approve counts now.
fn voter(
    writer: &WriterState,
    record: &RequestRecord,
    key: &str,
    now: Timestamp,
) -> Option<String> {
    let facts = facts_of(record, now)?;
    let said = facts.facts(&DecisionVerdict::Approve, Origin::Operator, now.into());
    let log = writer.trusted.log();
    let voters = log.at(None).voters([key], &said);
    voters.into_iter().next().map(str::to_owned)
}

/// Stores the votes of a batch of the stream; its position is written by the caller.
pub(super) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    epoch: &str,
    messages: &[(&IncomingDecision, &IncomingVote)],
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let keys: Vec<RequestKey> = messages.iter().map(|(_, vote)| vote.key.clone()).collect();
    let records = requests::records_by_key(batch.tx, &keys)?;
    let me = writer.identity.human_key().to_string();
    let rows: Vec<NewVote> = messages
        .iter()
        .map(|(message, vote)| {
            let record = records.get(&vote.key);
            let voter = vote.voter.to_string();
            let StoredAt { at, sequence, .. } = stored_at(writer, epoch, message);
            let given = Given {
                sequence,
                voter: &voter,
                payload: &message.raw,
                signer: message.signer.as_deref(),
                sig: message.sig.as_deref(),
                at,
            };
            NewVote {
                request: record.map(|record| record.id),
                key: vote.key.clone(),
                stands: record.map(|record| counts(writer, record, &given)),
                mine: voter == me,
                body: vote.body.clone(),
                payload: message.raw.clone(),
                signer: message.signer.clone(),
                sig: message.sig.clone(),
                stream_epoch: epoch.to_owned(),
                stream_seq: message.at.seq,
                at,
                voter,
            }
        })
        .collect();
    let inserted = votes::insert(batch.tx, &rows)?;
    let mut counted = Vec::new();
    for ((message, vote), row) in messages.iter().zip(&rows) {
        let name = vote.key.to_string();
        let mut detail = json!({
            "payload_digest": Sha256Digest::of_bytes(&message.raw).to_string(),
            "stream_seq": message.at.seq,
        });
        let again = Again {
            request: &vote.key,
            voter: Some(&vote.voter),
            payload: &message.raw,
            sig: message.sig.as_deref(),
            epoch,
            seq: message.at.seq,
        };
        let is_new = inserted.contains(&message.at.seq);
        if !is_new && let Some(first) = republish::moved(batch.tx, again)? {
            let reported = stored_at(writer, epoch, message);
            attested::compare(batch, &vote.key, &reported, first);
            continue;
        }
        if !is_new {
            set_aside(batch, epoch, message)?;
            batch.record(row.voter.clone(), CONFLICT, name, detail);
            continue;
        }
        detail["stands"] = json!(row.stands);
        batch.record(row.voter.clone(), "vote", name, detail);
        let Some(id) = row.request else {
            writer.counts.orphaned_votes += 1;
            continue;
        };
        let vote_id = row.body.vote_id.as_deref().unwrap_or_default();
        outbox::settle(batch.tx, &[(id, Some(&row.voter), vote_id)], &[])?;
        report(writer, batch, vote_id, message.at.seq);
        batch.effects.touched.push(id);
        match row.stands {
            Some(true) => counted.push(id),
            _ => alarm(writer, batch, &vote.key)?,
        }
    }
    close::consider(writer, batch, &counted)
}

/// Answers who waits for a vote of this process, once its place on the stream is committed.
fn report(writer: &WriterState, batch: &mut Tx<'_>, vote_id: &str, seq: i64) {
    let Ok(id) = vote_id.parse() else { return };
    if !writer.settlements.awaits(&id) {
        return;
    }
    let settled = Settled::Stored {
        seq: u64::try_from(seq).unwrap_or(0),
        reads: Some(State::Pending),
    };
    let settlements = writer.settlements.clone();
    batch.reply(move || settlements.settle(&id, settled));
}

fn alarm(writer: &WriterState, batch: &mut Tx<'_>, key: &RequestKey) -> Result<(), StoreError> {
    tracing::error!(request = %key, "a stored vote does not verify; it is not counted");
    let actor = writer.identity.auto_key().to_string();
    batch.alarm(&actor, AlarmCode::VoidVote, &key.to_string())
}

fn set_aside(
    batch: &mut Tx<'_>,
    epoch: &str,
    message: &IncomingDecision,
) -> Result<(), StoreError> {
    let stream = countersign_wire::Stream::Decisions;
    let kept = (message.at, message.subject.as_str(), &message.raw[..]);
    batch.set_aside((stream, epoch), kept, (CONFLICT, ""))
}

/// Joins votes that came before their requests.
pub(super) fn join_orphans(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    keys: &[RequestKey],
) -> Result<(), StoreError> {
    let orphans = votes::orphans(batch.tx, keys)?;
    if orphans.is_empty() {
        return Ok(());
    }
    let records = requests::records_by_key(batch.tx, keys)?;
    let mut counted = Vec::new();
    for orphan in orphans {
        let Some(record) = orphan.request_key().and_then(|key| records.get(&key)) else {
            continue;
        };
        let valid = counts(writer, record, &given(&orphan));
        votes::adopt(batch.tx, orphan.id, record.id, valid)?;
        writer.counts.orphaned_votes -= 1;
        let actor = writer.identity.auto_key().to_string();
        let detail = json!({ "stands": valid, "stream_seq": orphan.stream_seq });
        batch.record(actor, "vote_judged", record.key.to_string(), detail);
        batch.effects.touched.push(record.id);
        if valid {
            counted.push(record.id);
        } else {
            alarm(writer, batch, &record.key)?;
        }
    }
    close::consider(writer, batch, &counted)
}

fn given(vote: &StoredVote) -> Given<'_> {
    Given {
        voter: &vote.key,
        payload: &vote.payload,
        signer: vote.signer.as_deref(),
        sig: vote.sig.as_deref(),
        at: Timestamp(vote.at),
        sequence: u64::try_from(vote.stream_seq).unwrap_or(0),
    }
}
