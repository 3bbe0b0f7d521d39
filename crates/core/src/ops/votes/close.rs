//! Makes the decision when enough operators agree.
//!
//! A console signs only an approval that its own operator gave: the consoles of those who voted for it publish it, one
//! after another by rank, and the write-once subject settles who was first.

use std::collections::BTreeSet;

use countersign_wire::{
    DecisionVerdict, Origin, Scope, Sha256Digest, Signer, Verdict, Vote, VoteAttachment, read_json,
};
use serde_json::{Value, json};

use super::super::decide::change;
use super::super::draft::{Draft, fits, seal, write};
use super::super::publisher::Outgoing;
use super::super::turns::Turn;
use super::super::writer_state::{Tx, WriterState};
use super::voter;
use crate::domain::agreement::{Ballot, agreement};
use crate::domain::life_cycle::{Step, next};
use crate::domain::{Authority, RequestRecord, State, Timestamp};
use crate::store::votes::{self, StoredVote};
use crate::store::{StoreError, outbox, requests};

const AT_ONCE: i64 = 500;

/// Looks whether enough operators agree on these requests, and publishes the decision where it is this
/// console's turn.
pub(in crate::ops) fn consider(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    ids: &[i64],
) -> Result<(), StoreError> {
    let ready = writer.projects && writer.caught_up && writer.read_only.is_none();
    if ids.is_empty() || !ready {
        return Ok(());
    }
    let ids: Vec<i64> = ids
        .iter()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    for mut record in requests::records_by_id(batch.tx, &ids)? {
        let waits = matches!(record.state, State::Pending | State::Holding);
        // The votes count; while the agent is stopped they let nothing run.
        let stopped = writer.stopped_by(&record.key).is_some();
        if !waits || stopped || batch.now >= record.deadline_at {
            continue;
        }
        let Some(agreed) = agreed(writer, batch, &record)? else {
            continue;
        };
        let me = writer.identity.human_key();
        if !agreed.iter().any(|vote| vote.key == me.as_str()) {
            continue;
        }
        let rank = writer.peers.rank(&record.key, batch.now, |console| {
            agreed
                .iter()
                .any(|vote| vote.key == console.human_key.as_str())
        });
        match writer.closings.of(record.id, rank, batch.now) {
            Turn::Later(at) => writer.due_at(at),
            Turn::Mine => publish(writer, batch, &mut record, &agreed)?,
        }
    }
    Ok(())
}

/// The votes that make the decision, of keys that count now: the agents judge them at the moment at
/// which the decision is stored.
fn agreed(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    record: &RequestRecord,
) -> Result<Option<Vec<StoredVote>>, StoreError> {
    let counting = votes::standing(batch.tx, record.id)?
        .into_iter()
        .filter_map(|vote| Some((voter(writer, record, &vote.key, batch.now)?, vote)));
    let (voters, standing): (Vec<String>, Vec<StoredVote>) = counting.unzip();
    let both = standing.iter().zip(&voters);
    let ballots: Vec<Ballot<'_>> = both.map(|(vote, voter)| ballot(vote, voter)).collect();
    let Some(places) = agreement(&ballots, record.approvals_needed) else {
        return Ok(None);
    };
    Ok(Some(
        places
            .iter()
            .map(|place| standing[*place].clone())
            .collect(),
    ))
}

/// What a vote says, and which operator's it is.
pub(in crate::ops) fn ballot<'v>(vote: &'v StoredVote, voter: &'v str) -> Ballot<'v> {
    Ballot {
        key: voter,
        verdict: vote.verdict.as_deref().unwrap_or_default(),
        args_digest: vote.args_digest.as_deref(),
    }
}

/// What the agreed votes say, as the decision says it.
fn draft(agreed: &[StoredVote]) -> Option<(Verdict, Draft)> {
    let read: Vec<Vote> = agreed
        .iter()
        .map(|vote| read_json(&vote.payload).ok())
        .collect::<Option<_>>()?;
    let first = read.first()?;
    let (verdict, digest) = (first.verdict, first.args_digest);
    let edited: Option<Value> = first.edited_args.clone();
    let words: Vec<String> = read.into_iter().filter_map(|vote| vote.message).collect();
    let attached: Option<Vec<VoteAttachment>> = agreed
        .iter()
        .map(|vote| {
            let key: Signer = vote.key.parse().ok()?;
            let subject = countersign_wire::vote_subject(&vote.request_key()?, &key);
            let sig = vote.sig.as_deref()?.parse().ok()?;
            Some(VoteAttachment::new(key, subject, &vote.payload, sig))
        })
        .collect();
    let draft = Draft {
        verdict: DecisionVerdict::from(verdict),
        origin: Origin::Operator,
        authority: Authority::Operator,
        message: (!words.is_empty()).then(|| words.join("\n")),
        scope: Scope::Once,
        runs: digest.map(|digest| (digest, edited)),
        response: None,
        votes: Some(attached?),
        automatic: None,
    };
    Some((verdict, draft))
}

fn publish(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    record: &mut RequestRecord,
    agreed: &[StoredVote],
) -> Result<(), StoreError> {
    let Some(realm) = writer.bus.as_ref().map(|bus| bus.realm) else {
        return Ok(());
    };
    let (now, identity) = (batch.now, writer.identity.clone());
    let largest = (writer.largest)();
    let written = draft(agreed).and_then(|(verdict, draft)| {
        let row = write(&identity, record, draft, now).ok()?;
        // One that the bus never takes would be taken back and made again without end.
        fits(row.payload.len(), largest).ok()?;
        let sig = seal(&identity, &realm, &row).ok()?;
        Some((verdict, row, sig))
    });
    let (Some((verdict, mut row, sig)), Ok(state)) = (written, next(record.state, Step::Queue))
    else {
        tracing::error!(request = %record.key, largest, "the decision of several operators could not be made, or is larger than the bus allows; deny the request, or raise max_payload of the server");
        return Ok(());
    };
    // A hold of an operator whose earlier key is among the votes.
    outbox::delete_held(batch.tx, record.id)?;
    outbox::clear_failed(batch.tx, record.id)?;
    batch.record(
        row.signer.clone(),
        "decide",
        record.key.to_string(),
        json!({
            "decision_id": row.id,
            "payload_digest": Sha256Digest::of_bytes(&row.payload).to_string(),
            "verdict": verdict.as_str(),
            "by": "votes",
        }),
    );
    record.state = state;
    state.as_str().clone_into(&mut row.state);
    row.sig = Some(sig.clone());
    writer.note_own(sig, row.payload.clone());
    batch.effects.touched.push(record.id);
    let outgoing = Outgoing::of_row(&row, Some(record));
    batch.effects.outgoing.extend(outgoing);
    let change = change(record, verdict, Origin::Operator, now);
    outbox::insert(batch.tx, &[row], &[change])
}

/// Looks at every waiting request with votes: after a restart, or when something may have been missed.
pub(in crate::ops) fn catch_up(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let ids = votes::undecided(batch.tx, after, AT_ONCE)?;
        let Some(last) = ids.last() else {
            return Ok(());
        };
        after = *last;
        consider(writer, batch, &ids)?;
    }
}

/// Looks at the requests that were left to other consoles and are not decided. Returns when to look next.
pub(in crate::ops) fn look_again(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let at_once = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
    let due = writer.closings.due(batch.now, at_once);
    consider(writer, batch, &due)?;
    writer.closings.forget(&due);
    Ok(writer.closings.next())
}
