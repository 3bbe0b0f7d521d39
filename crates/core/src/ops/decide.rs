//! Takes verdicts into the outbox.
//!
//! A verdict taken here is held or on its way; only the stream makes it final.

use countersign_scrutiny::Finding;
use countersign_wire::{Origin, RequestKey, Scope, Verdict, args_digest};
use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::draft::{Draft, DraftError, fits, seal, write};
use super::job::{Accepted, DecideCommand, DecideReply, Look, Refused, ShownFinding};
use super::publisher::{Outgoing, Settlements};
use super::quorum;
use super::realm::why_not;
use super::votes::cast::{Choice, cast};
use super::writer_state::{Tx, WriterState};
use crate::domain::life_cycle::{Step, next};
use crate::domain::{
    Authority, Delivery, RequestRecord, State, Timestamp, check_decide, ends_the_call, hold,
    is_vote,
};
use crate::store::looked::{self, Looked};
use crate::store::outbox::{self, OutboxRow};
use crate::store::request_states::{self, StateChange};
use crate::store::requests;
use crate::store::{StoreError, findings};

/// Checks and queues verdicts; each caller is answered when all are committed.
pub(crate) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    settlements: &Settlements,
    commands: Vec<(Box<DecideCommand>, DecideReply)>,
) -> Result<(), StoreError> {
    if commands.is_empty() {
        return Ok(());
    }
    let keys: Vec<RequestKey> = commands
        .iter()
        .map(|(command, _)| command.key.clone())
        .collect();
    let mut records = requests::records_by_key(batch.tx, &keys)?;
    let mut taken = Taken::default();
    for (command, reply) in commands {
        let answer = match records.get_mut(&command.key) {
            None => Err(Refused::NotFound),
            Some(record) => {
                let taken = &mut taken;
                take_verdict(writer, batch, settlements, record, *command, taken)?
            }
        };
        batch.answer(reply, answer);
    }
    looked::keep(batch.tx, &taken.looked)?;
    outbox::insert(batch.tx, &taken.rows, &taken.changes)
}

/// What the verdicts of a batch write.
#[derive(Default)]
struct Taken {
    rows: Vec<OutboxRow>,
    changes: Vec<StateChange>,
    looked: Vec<Looked>,
}

fn take_verdict(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    settlements: &Settlements,
    record: &mut RequestRecord,
    command: DecideCommand,
    taken: &mut Taken,
) -> Result<Result<Accepted, Refused>, StoreError> {
    let (verdict, realm) = match check(writer, record, &command, batch.now) {
        Ok(checked) => checked,
        Err(refused) => return Ok(Err(refused)),
    };
    if command.authority == Authority::Operator && verdict.lets_it_run() {
        quorum::look(writer, batch, record)?;
    }
    match is_vote(record, verdict, command.authority) {
        Err(refusal) => Ok(Err(Refused::Domain(refusal))),
        Ok(false) => {
            let looked = match command.automatic.is_none() && command.origin == Origin::Operator {
                true => Some(looked_at(batch, record.id, &command.look)?),
                false => None,
            };
            let given = (verdict, realm, command, looked);
            Ok(decision(writer, batch, settlements, record, given, taken))
        }
        Ok(true) if command.scope != Scope::Once => {
            let why = "several operators must agree, and a vote covers one call only: use the scope `once`";
            Ok(Err(Refused::InvalidArgs(why.to_owned())))
        }
        Ok(true) => {
            let hold = command.hold;
            let choice = match draft(record, verdict, command) {
                Ok(draft) => Choice {
                    verdict,
                    runs: draft.runs,
                    message: draft.message,
                    hold,
                },
                Err(refused) => return Ok(Err(refused)),
            };
            cast(writer, batch, settlements, record, choice)
        }
    }
}

/// How a person looked at a call, and what was found in it at that moment; null where it was not looked at.
struct LookedAt {
    look: Look,
    findings: Option<Vec<ShownFinding>>,
}

fn looked_at(batch: &mut Tx<'_>, request: i64, look: &Look) -> Result<LookedAt, StoreError> {
    let stored = findings::of(batch.tx, request)?;
    let found: Option<Vec<Finding>> = stored.and_then(|text| serde_json::from_str(&text).ok());
    let findings: Option<Vec<_>> =
        found.map(|found| found.iter().map(ShownFinding::from).collect());
    let mut look = look.clone();
    let now = || findings.clone().unwrap_or_default();
    look.shown = Some(look.shown.take().unwrap_or_else(now));
    Ok(LookedAt { look, findings })
}

/// The verdict that may be given and the realm to sign for.
fn check(
    writer: &WriterState,
    record: &RequestRecord,
    command: &DecideCommand,
    now: Timestamp,
) -> Result<(Verdict, Uuid), Refused> {
    if let Some((_, why)) = &writer.read_only {
        return Err(Refused::ReadOnly(why.clone()));
    }
    let Some(realm) = writer.bus.as_ref().map(|bus| bus.realm) else {
        let why = "this console has never connected to a bus, so it has no realm to sign for; start it with `countersign serve`";
        return Err(Refused::ReadOnly(why.to_owned()));
    };
    let seen = (
        command.seen_args_digest.as_deref(),
        command.seen_request_digest.as_deref(),
    );
    let verdict = check_decide(record, command.verdict, seen, now).map_err(Refused::Domain)?;
    if !ends_the_call(verdict)
        && let Some(by) = writer.stopped_by(&record.key)
    {
        let agent = record.key.agent_key().to_string();
        return Err(Refused::Domain(
            crate::domain::DecideRefusal::AgentStopped { agent, by },
        ));
    }
    may_sign(writer, record, verdict, command.authority)?;
    Ok((verdict, realm))
}

fn decision(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    settlements: &Settlements,
    record: &mut RequestRecord,
    (verdict, realm, command, looked): (Verdict, Uuid, DecideCommand, Option<LookedAt>),
    taken: &mut Taken,
) -> Result<Accepted, Refused> {
    let now = batch.now;
    let held = command.hold && verdict.lets_it_run();
    let (authority, origin) = (command.authority, command.origin);
    let by_rule = command.automatic.clone();
    let draft = draft(record, verdict, command)?;
    let mut row = write(&writer.identity, record, draft, now).map_err(refused)?;
    fits(row.payload.len(), (writer.largest)()).map_err(refused)?;
    let step = if held { Step::Hold } else { Step::Queue };
    let state = next(record.state, step)
        .map_err(|_| Refused::Domain(crate::domain::DecideRefusal::AlreadyDecided(record.state)))?;
    state.as_str().clone_into(&mut row.state);
    if !held {
        row.sig = Some(seal(&writer.identity, &realm, &row).map_err(refused)?);
    }
    let mut detail = json!({
        "decision_id": row.id,
        "payload_digest": countersign_wire::Sha256Digest::of_bytes(&row.payload).to_string(),
        "verdict": verdict.as_str(),
        "by": if authority == Authority::Operator { "operator" } else { "console" },
    });
    if let Some(by) = by_rule {
        detail["rule"] = json!({ "id": by.rule.id, "version": by.rule.version });
        detail["policy_digest"] = json!(by.policy_digest.to_string());
    }
    if let Some(LookedAt { look, findings }) = looked {
        detail["findings"] = json!(findings);
        detail["looked"] = json!({
            "via": look.via, "front_ms": look.front.map(|front| front.front_ms), "to_end": look.to_end, "shown": look.shown,
        });
        taken.looked.push(Looked {
            request: record.id,
            decision_id: row.id.clone(),
            front: look.front,
            looked: detail["looked"].to_string(),
        });
    }
    batch.record(
        row.signer.clone(),
        if held { "hold" } else { "decide" },
        record.key.to_string(),
        detail,
    );
    record.state = state;
    taken.changes.push(change(record, verdict, origin, now));
    batch.effects.touched.push(record.id);
    let accepted = match Outgoing::of_row(&row, Some(record)) {
        None => {
            let release_at = hold::release_at(now, record.deadline_at);
            row.release_at = release_at.0;
            writer.due_at(release_at);
            Accepted::Held { release_at }
        }
        Some(outgoing) => {
            writer.note_own(outgoing.sig.clone(), row.payload.clone());
            let (decision_id, (settle, settled)) = (outgoing.id, oneshot::channel());
            settlements.expect(decision_id, settle);
            batch.effects.outgoing.push(outgoing);
            Accepted::Queued {
                verdict,
                decision_id,
                risk: record.risk,
                settled,
            }
        }
    };
    taken.rows.push(row);
    Ok(accepted)
}

/// Refuses for a key that does not count now: on the stream its decision would be void for ever.
fn may_sign(
    writer: &WriterState,
    record: &RequestRecord,
    verdict: Verdict,
    authority: Authority,
) -> Result<(), Refused> {
    let key = match authority {
        Authority::Operator => writer.identity.human_key(),
        Authority::Console => writer.identity.auto_key(),
    };
    let key = key.as_str();
    if let Some(why) = why_not(writer.trusted.standing(key), key) {
        return Err(Refused::ReadOnly(why));
    }
    if writer.may_allow(key, verdict, record) {
        return Ok(());
    }
    Err(Refused::Domain(crate::domain::DecideRefusal::BeyondLimit {
        verdict: verdict.as_str(),
        risk: record.risk.as_str(),
        workspace: record.key.workspace.to_string(),
    }))
}

pub(super) fn change(
    record: &RequestRecord,
    verdict: Verdict,
    origin: Origin,
    now: Timestamp,
) -> StateChange {
    StateChange {
        id: record.id,
        state: record.state,
        verdict: Some(verdict.as_str().to_owned()),
        origin: Some(origin.as_str().to_owned()),
        decided_at: Some(now),
        delivery: match record.state {
            State::Queued => record.delivery.raised_to(Delivery::Decided),
            _ => record.delivery,
        },
    }
}

fn draft(
    record: &RequestRecord,
    verdict: Verdict,
    command: DecideCommand,
) -> Result<Draft, Refused> {
    let invalid = |why: &str| Refused::InvalidArgs(why.to_owned());
    if command.scope != Scope::Once && !verdict.lets_it_run() {
        return Err(invalid(
            "only an approval can be meant for more than one call",
        ));
    }
    let runs = match verdict {
        Verdict::Approve => {
            let digest = record.args_digest.as_deref().map(str::parse).transpose();
            digest
                .map_err(|_| invalid("the stored digest cannot be read"))?
                .map(|d| (d, None))
        }
        Verdict::Modify => {
            let edited = command
                .edited_args
                .ok_or_else(|| invalid("the edited arguments are missing"))?;
            let digest = args_digest(&edited)
                .map_err(|error| invalid(&format!("the edited arguments: {error}")))?;
            Some((digest, Some(edited)))
        }
        _ => None,
    };
    let response = match verdict {
        Verdict::Respond => Some(command.response.ok_or_else(|| invalid("no answer"))?),
        _ => None,
    };
    Ok(Draft {
        verdict: verdict.into(),
        origin: command.origin,
        authority: command.authority,
        message: command.message,
        scope: command.scope,
        runs,
        response,
        votes: None,
        automatic: command.automatic,
    })
}

fn refused(error: DraftError) -> Refused {
    Refused::InvalidArgs(error.to_string())
}

/// Takes a held approval back, and says so.
pub(super) fn undo(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
) -> Result<Result<(), Refused>, StoreError> {
    let Some(record) = requests::records(batch.tx, std::slice::from_ref(key))?.pop() else {
        return Ok(Err(Refused::NotFound));
    };
    if record.state != State::Holding {
        let refusal = crate::domain::DecideRefusal::AlreadyDecided(record.state);
        return Ok(Err(Refused::Domain(refusal)));
    }
    release_hold(batch, &record, writer.identity.human_key().as_str(), "undo")?;
    Ok(Ok(()))
}

/// Back to pending: undone by the operator, or dropped because the console stopped.
pub(super) fn release_hold(
    batch: &mut Tx<'_>,
    record: &RequestRecord,
    actor: &str,
    action: &'static str,
) -> Result<(), StoreError> {
    // Also where the request is held no longer: such a row would be found again for ever.
    outbox::delete_held(batch.tx, record.id)?;
    let Ok(state) = next(record.state, Step::Undo) else {
        return Ok(());
    };
    let change = StateChange::waits_again(record, state);
    request_states::change_states(batch.tx, &[change])?;
    batch.effects.touched.push(record.id);
    batch.record(actor, action, record.key.to_string(), json!({}));
    Ok(())
}
