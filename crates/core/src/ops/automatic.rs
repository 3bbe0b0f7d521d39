//! Automatic decisions by rules: every console evaluates them, the one whose turn it is sends them.
//!
//! Decides only with a set that verifies, with a shared policy known as of the last seconds, and once the past is read.
//! Losing the race to another console is expected.

mod judge;
mod probes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use countersign_realm::{InForce, Registers};
use countersign_wire::{ParsedRequest, Stream, Verdict};
use tokio::sync::oneshot;

pub(super) use self::judge::judge;
use self::judge::{Decided, decision, is_bypassed, read};
pub(super) use self::probes::is_probe;
use super::job::{Automatic, DecideCommand};
use super::rule_usage::{Amounts, counter, is_limited};
use super::turns::{Turn, Turns};
use super::writer_state::{Tx, WriterState};
use super::{decide, habits, quorum, rule_notes};
use crate::domain::{Authority, State};
use crate::policy::evaluate::amount;
use crate::policy::{Asked, By, Conditions, Outcome, Used};
use crate::store::rule_uses::{self, RuleUse};
use crate::store::{StoreError, pending_evaluation, policy_versions, requests};

/// How many waiting requests are judged in one transaction.
const AT_ONCE: i64 = 500;
/// How soon to look whether the policy is known again.
const UNKNOWN_LOOK_MS: i64 = 200;

/// What the writer remembers of it.
pub(crate) struct Judge {
    pub(crate) registers: Arc<Registers>,
    conditions: Conditions,
    amounts: Amounts,
    /// New requests, as they were read.
    pub(super) arrived: Vec<(i64, Arc<ParsedRequest>)>,
    /// Requests that wait again.
    again: Vec<i64>,
    /// Approvals that wait until every hello is known that came before them: with the sequence that follows the
    /// requests which were read by then.
    unsure: BTreeMap<i64, i64>,
    /// Every waiting request behind this row is to be judged.
    owed: Option<i64>,
    /// What the last look at every waiting request saw.
    generation: u64,
    /// Requests that are left to other consoles for a while.
    turns: Turns,
    /// The same of what a limited rule approves: one console counts for it.
    pub(super) limited: Turns,
    /// Digests whose bodies are kept.
    kept: HashSet<String>,
}

impl Judge {
    pub(crate) fn new(registers: Arc<Registers>) -> Self {
        Self {
            registers,
            conditions: Conditions::default(),
            amounts: Amounts::default(),
            arrived: Vec::new(),
            again: Vec::new(),
            unsure: BTreeMap::new(),
            owed: Some(0),
            generation: 0,
            turns: Turns::default(),
            limited: Turns::default(),
            kept: HashSet::new(),
        }
    }

    /// A request came that waits.
    pub(crate) fn arrived(&mut self, id: i64, parsed: Arc<ParsedRequest>) {
        self.arrived.push((id, parsed));
    }

    /// A request waits that did not.
    pub(crate) fn again(&mut self, id: i64) {
        self.again.push(id);
    }

    /// Everything that waits is to be judged again.
    pub(crate) fn forget(&mut self) {
        self.arrived.clear();
        self.again.clear();
        self.unsure.clear();
        self.turns.clear();
        self.limited.clear();
        self.kept.clear();
        self.owed = Some(0);
    }
}

/// Judges what came, what is owed, and what other consoles were left and did not decide.
pub(crate) fn run(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    let judge = &mut writer.judge;
    judge.amounts.begin();
    if !writer.projects || !writer.caught_up || writer.read_only.is_some() || writer.bus.is_none() {
        judge.forget();
        return Ok(());
    }
    probes::deny(writer, batch)?;
    let judge = &mut writer.judge;
    let generation = judge.registers.generation();
    let bypassed = writer.controls.read().bypasses(batch.now).next().is_some();
    if judge.registers.is_empty() && !bypassed {
        let gone = judge.generation != generation;
        judge.forget();
        judge.owed = None;
        judge.generation = generation;
        if gone {
            quorum::forget(writer, batch)?;
        }
        return Ok(());
    }
    if !writer.policy_known.is_fresh() {
        let new = !judge.arrived.is_empty() || !judge.again.is_empty();
        let left = judge.turns.next().or(judge.limited.next()).is_some();
        if judge.owed.is_some() || new || left {
            judge.forget();
            writer.due_at(batch.now.plus_ms(UNKNOWN_LOOK_MS));
        }
        return Ok(());
    }
    // A pending or retired key would put a void decision there, in the place of another console's answer.
    if !writer.counts(writer.identity.auto_key().as_str()) {
        // Once it counts, everything that waits then is judged.
        writer.judge.forget();
        return Ok(());
    }
    let judge = &mut writer.judge;
    if judge.generation != generation {
        judge.generation = generation;
        judge.owed = Some(0);
    }
    let arrived: HashMap<i64, Arc<ParsedRequest>> =
        std::mem::take(&mut judge.arrived).into_iter().collect();
    let mut ids: Vec<i64> = arrived.keys().copied().collect();
    ids.append(&mut judge.again);
    if let Some(bus) = &writer.bus {
        let known = |as_of: &i64| bus.hellos.reach(*as_of);
        let sure = judge.unsure.iter().filter(|(_, as_of)| known(as_of));
        ids.extend(sure.map(|(id, _)| *id));
    }
    let at_once = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
    for turns in [&judge.turns, &judge.limited] {
        ids.extend(turns.due(batch.now, at_once));
    }
    if let Some(after) = judge.owed {
        let page = pending_evaluation::waiting(batch.tx, after, AT_ONCE)?;
        judge.owed = page.last().copied().filter(|_| page.len() >= at_once);
        ids.extend(page);
    }
    ids.sort_unstable();
    ids.dedup();
    decide(writer, batch, &ids, &arrived)?;
    let judge = &writer.judge;
    let next = judge
        .turns
        .next()
        .into_iter()
        .chain(judge.limited.next())
        .min();
    let more = judge.owed.map(|_| batch.now);
    if let Some(at) = next.into_iter().chain(more).min() {
        writer.due_at(at);
    }
    Ok(())
}

fn decide(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    ids: &[i64],
    arrived: &HashMap<i64, Arc<ParsedRequest>>,
) -> Result<(), StoreError> {
    let mut decided: Vec<Decided> = Vec::new();
    // What rules approve in this transaction, beside what the store knows.
    let mut in_hand: HashMap<(String, String), Used> = HashMap::new();
    let records = requests::records_by_id(batch.tx, ids)?;
    let unread = |id: i64| (id, !arrived.contains_key(&id));
    let rows: Vec<_> = records.iter().map(|record| unread(record.id)).collect();
    let rows = pending_evaluation::read(batch.tx, &rows)?;
    for (mut record, row) in records.into_iter().zip(rows) {
        let open = record.state == State::Pending && batch.now < record.deadline_at;
        let bypassed = is_bypassed(writer, &record, batch.now);
        let in_force = writer.judge.registers.of(&record.key.workspace);
        let nothing = || InForce::nothing().map(Arc::new);
        let in_force = in_force.or_else(|| bypassed.then(nothing).flatten());
        let judged = |of: &Arc<InForce>| open && of.decides() && (bypassed || !of.set.is_empty());
        let replaced = in_force.as_ref().is_some_and(|of| of.replaced.is_some());
        let Some(in_force) = in_force.filter(judged) else {
            match (open, replaced) {
                (true, true) => quorum::look(writer, batch, &mut record)?,
                (true, false) => quorum::note(writer, batch, &mut record, None)?,
                (false, _) => {}
            }
            settled(writer, record.id);
            continue;
        };
        let parsed = match arrived.get(&record.id) {
            Some(parsed) => Some(Arc::clone(parsed)),
            None => row.as_ref().and_then(|row| read(&record, row)),
        };
        let (Some(parsed), Some(row)) = (parsed, row) else {
            settled(writer, record.id);
            continue;
        };
        let asked = Asked {
            tool_changed_at: row.redefined_at,
            ..Asked::of(&parsed)
        };
        let mut judged = judge(writer, batch, &record, &asked, &in_force, &in_hand)?;
        if judged.approves() {
            // Looked for now: what was kept with the request may be older than the last decision of a person.
            let stops = habits::stops(writer, batch, &parsed)?;
            if !stops.is_empty() {
                let asked = Asked {
                    stops: &stops,
                    ..asked
                };
                judged = judge(writer, batch, &record, &asked, &in_force, &in_hand)?;
            }
        }
        if judged.reads_on {
            writer.judge.again(record.id);
            writer.due_at(batch.now);
            continue;
        }
        let found = judged.found;
        if in_force.replaced.is_some() && !matches!(found.outcome, Outcome::Deny(_)) {
            quorum::look(writer, batch, &mut record)?;
            settled(writer, record.id);
            continue;
        }
        rule_notes::keep(writer, batch, &record, &in_force, &found)?;
        quorum::note(writer, batch, &mut record, Some((&in_force, &found)))?;
        let Some(one) = decision(writer, &record, &parsed, (&in_force, &found), batch.now) else {
            settled(writer, record.id);
            continue;
        };
        // Beyond the limits of this console's operator: another console answers, or a person.
        let own = writer.identity.auto_key();
        if !writer.may_allow(own.as_str(), one.verdict, &record) {
            settled(writer, record.id);
            continue;
        }
        if one.verdict == Verdict::Approve && !knows_hellos(writer, batch, one.id)? {
            continue;
        }
        let rank = writer.peers.rank(&record.key, batch.now, |_| true);
        if let Turn::Later(_) = writer.judge.turns.of(record.id, rank, batch.now) {
            continue;
        }
        if let Outcome::Approve(By::Rule(place)) = found.outcome {
            let rule = &in_force.set.rules()[place].rule;
            if is_limited(rule) {
                let counting = writer
                    .peers
                    .rank(&counter(&record.key, rule), batch.now, |_| true);
                if let Turn::Later(_) = writer.judge.limited.of(record.id, counting, batch.now) {
                    continue;
                }
                let name = (record.key.workspace.to_string(), rule.id.clone());
                let used = in_hand.entry(name).or_default();
                used.count += 1;
                if let Some(sum) = &rule.sum
                    && let Some(amount) = amount(asked.args, asked.effective, &sum.pointer)
                {
                    used.sum += amount;
                    writer.judge.amounts.note(record.id, &sum.pointer, amount);
                }
            }
        }
        settled(writer, record.id);
        decided.push(one);
    }
    enqueue(writer, batch, decided)
}

/// Whether every hello is known that was stored before this request: one of them may define its tool otherwise. Where
/// not, it is judged again when they are.
fn knows_hellos(writer: &mut WriterState, batch: &mut Tx<'_>, id: i64) -> Result<bool, StoreError> {
    let as_of = match writer.judge.unsure.get(&id) {
        Some(as_of) => *as_of,
        None => writer.place(batch.tx, Stream::Requests)?.1,
    };
    let bus = writer.bus.as_ref();
    let known = bus.is_some_and(|bus| bus.hellos.reach(as_of));
    match known {
        true => writer.judge.unsure.remove(&id),
        false => writer.judge.unsure.insert(id, as_of),
    };
    Ok(known)
}

/// It needs no second look.
fn settled(writer: &mut WriterState, id: i64) {
    writer.judge.unsure.remove(&id);
    writer.judge.turns.forget(&[id]);
    writer.judge.limited.forget(&[id]);
}

/// Takes what was decided into the outbox.
fn enqueue(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    decided: Vec<Decided>,
) -> Result<(), StoreError> {
    if decided.is_empty() {
        return Ok(());
    }
    let mut commands = Vec::with_capacity(decided.len());
    for one in &decided {
        let digest = *one.in_force.set.digest();
        let name = digest.to_string();
        if !writer.judge.kept.contains(&name) {
            policy_versions::keep(batch.tx, &name, one.in_force.set.body(), batch.now)?;
            writer.judge.kept.insert(name);
        }
        let command = DecideCommand {
            message: one.message.clone(),
            seen_args_digest: one.seen.clone(),
            authority: Authority::Console,
            origin: one.origin,
            automatic: Some(Automatic {
                rule: one.rule.clone(),
                policy_digest: digest,
            }),
            ..DecideCommand::by_operator(one.key.clone(), one.verdict)
        };
        // Nobody waits for the answer: losing this race is expected.
        let (reply, _) = oneshot::channel();
        commands.push((Box::new(command), reply));
    }
    let settlements = writer.settlements.clone();
    decide::apply(writer, batch, &settlements, commands)?;
    let uses: Vec<RuleUse> = decided
        .into_iter()
        .map(|one| RuleUse {
            request: one.id,
            ws: one.key.workspace.to_string(),
            rule_id: one.rule.id,
            rule_version: i64::try_from(one.rule.version).unwrap_or(i64::MAX),
            origin: one.origin.as_str(),
            verdict: one.verdict.as_str(),
            at: batch.now,
        })
        .collect();
    rule_uses::insert(batch.tx, &uses)
}
