//! The state that the one writer keeps in memory, and the changes that one transaction makes.

mod projection;
mod set_aside;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{AgentKey, RequestKey, Stream, Verdict, is_bound_by_limits};
use parking_lot::RwLock;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::automatic::Judge;
use super::durable::Reply;
use super::habits::Habits;
use super::job::BusBinding;
use super::policy_feed::PolicyKnown;
use super::publisher::{Outgoing, Settlements};
use super::realm::{KeyStatus, TrustedKeys};
use super::search_index;
use super::turns::{Peers, Turns};
use crate::clock::Clock;
use crate::domain::controls::Controls;
use crate::domain::{AlarmCode, RequestRecord, StallLimits, Timestamp};
use crate::identity::Identity;
use crate::runtime::StreamPlace;
use crate::store::audit::Entry;
use crate::store::outbox::OutboxCursor;
use crate::store::{
    Connection, StoreError, agents_waiting, alarms, decisions, receipts_before_decision, stalls,
    tombstones, unanswered, votes,
};

/// Code of a message whose subject already holds another one.
pub(crate) const CONFLICT: &str = "conflict";

/// How many bytes a message may have now.
pub(crate) type Largest = Box<dyn Fn() -> usize + Send + Sync>;

/// The writer's memory.
pub(crate) struct WriterState {
    pub(crate) identity: Arc<Identity>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The largest message that the bus takes.
    pub(crate) largest: Largest,
    pub(crate) trusted: TrustedKeys,
    /// More requests than these from one agent are rejected.
    pub(crate) waiting_limit: i64,
    pub(crate) bus: Option<BusBinding>,
    pub(crate) counts: Counts,
    pub(crate) caught_up: bool,
    /// Code and reason for which nothing is decided.
    pub(crate) read_only: Option<(String, String)>,
    /// Whether this process projects and releases, or only decides beside one that does.
    pub(crate) projects: bool,
    /// A hello that was stored before may have replaced one that this console never saw: when it joined, or last saw a
    /// gap in the stream. None before it joined.
    pub(crate) hellos_missed_before: Option<Timestamp>,
    /// Whether everything that agents had reported before the console connected is projected.
    pub(crate) reports_known: bool,
    /// Since when that is not so; none while it is, and before it was looked at.
    pub(crate) unknown_since: Option<Timestamp>,
    /// How long each rung of the delivery ladder may take.
    pub(crate) stall_limits: StallLimits,
    /// When the ladder is looked at next; none when that is not known.
    pub(crate) next_sweep: Option<Timestamp>,
    /// The last decision that the watch over the ladder has passed; none when that is to be read.
    pub(crate) swept: Option<i64>,
    /// Decisions that this process signed and that are not projected yet, by their signature: they need
    /// no second look at it.
    pub(crate) own: HashMap<String, Vec<u8>>,
    /// Epoch and next sequence of each stream.
    places: BTreeMap<Stream, (String, i64)>,
    /// When time makes something due at the earliest; none when that is not known.
    pub(crate) next_due: Option<Timestamp>,
    /// Since when requests up to this row look overdue, and the server has not said so yet.
    pub(crate) overdue: Option<(Instant, i64)>,
    pub(crate) settlements: Settlements,
    /// The other consoles.
    pub(crate) peers: Peers,
    /// Whether automatic decisions may be made.
    pub(crate) policy_known: PolicyKnown,
    /// Panic, pauses and stops.
    pub(crate) controls: Arc<RwLock<Controls>>,
    /// What rules decide.
    pub(crate) judge: Judge,
    /// What people decided on tools before, and which calls are looked at with it.
    pub(crate) habits: Habits,
    /// Denials of stopped agents' calls that are left to other consoles for a while.
    pub(crate) stop_turns: Turns,
    /// Answers that are left to other consoles for a while.
    pub(crate) turns: Turns,
    /// Decisions of several operators that are left to other consoles for a while.
    pub(crate) closings: Turns,
    /// Something behind this place may have ended without an answer; none when nothing has.
    pub(crate) answers_owed: Option<unanswered::EndedCursor>,
    /// How long the writer rests before it makes more requests searchable; none when all are.
    pub(crate) searchable_in: Option<Duration>,
    /// A transaction failed: the numbers are to be read again.
    pub(crate) counts_stale: bool,
    /// The outbox may hold decisions that nobody carries.
    pub(crate) left_behind: bool,
    /// When a decision of this console last came back on its stream.
    pub(crate) outbox_moved_at: Option<Timestamp>,
    /// How far the outbox was looked through.
    pub(crate) rescanned: Option<OutboxCursor>,
}

/// What the writer begins with.
pub(crate) struct WriterConfig {
    pub(crate) identity: Arc<Identity>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) largest: Largest,
    pub(crate) trusted: TrustedKeys,
    pub(crate) waiting_limit: i64,
    pub(crate) stall_limits: StallLimits,
    pub(crate) settlements: Settlements,
    pub(crate) peers: Peers,
    pub(crate) policy_known: PolicyKnown,
    pub(crate) controls: Arc<RwLock<Controls>>,
    pub(crate) judge: Judge,
    pub(crate) projects: bool,
}

impl WriterState {
    /// Before anything is read, from the store or from the bus.
    pub(crate) fn new(with: WriterConfig) -> Self {
        Self {
            identity: with.identity,
            clock: with.clock,
            largest: with.largest,
            trusted: with.trusted,
            waiting_limit: with.waiting_limit,
            stall_limits: with.stall_limits,
            settlements: with.settlements,
            peers: with.peers,
            policy_known: with.policy_known,
            controls: with.controls,
            judge: with.judge,
            projects: with.projects,
            bus: None,
            counts: Counts::default(),
            caught_up: false,
            read_only: None,
            hellos_missed_before: None,
            reports_known: false,
            unknown_since: None,
            next_sweep: None,
            swept: None,
            own: HashMap::new(),
            places: BTreeMap::new(),
            next_due: None,
            overdue: None,
            habits: Habits::default(),
            stop_turns: Turns::default(),
            turns: Turns::default(),
            closings: Turns::default(),
            answers_owed: None,
            searchable_in: None,
            counts_stale: false,
            left_behind: false,
            outbox_moved_at: None,
            rescanned: None,
        }
    }
}

/// Numbers that save a query in every transaction.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) waiting: HashMap<AgentKey, i64>,
    pub(crate) orphans: i64,
    pub(crate) tombstones: i64,
    /// Requests whose receipt came before their decision.
    pub(crate) early: i64,
    /// Answers whose next rung is awaited.
    pub(crate) watched: i64,
    pub(crate) orphaned_votes: i64,
}

impl Counts {
    /// Counts everything anew.
    pub(crate) fn read(tx: &Connection) -> Result<Self, StoreError> {
        let mut waiting = HashMap::new();
        for (ws, agent, count) in agents_waiting::waiting_by_agent(tx)? {
            if let Ok(key) = format!("{ws}/{agent}").parse() {
                waiting.insert(key, count);
            }
        }
        Ok(Self {
            waiting,
            orphans: decisions::count_orphans(tx)?,
            tombstones: tombstones::count(tx)?,
            early: receipts_before_decision::count(tx)?,
            watched: stalls::counts(tx)?.0,
            orphaned_votes: votes::count_orphans(tx)?,
        })
    }

    /// A request of this agent waits no longer.
    pub(crate) fn closed(&mut self, agent: &AgentKey) {
        if let Some(count) = self.waiting.get_mut(agent) {
            *count = (*count - 1).max(0);
        }
    }
}

/// Decisions of this process whose way back through the stream is awaited.
const OWN: usize = 10_000;
/// Alarms of one code about one agent's requests that are listed one by one. With six such codes they leave room in a
/// list of the newest 200.
const MANY_ALARMS: i64 = 25;

impl WriterState {
    /// Time makes something due at `at`.
    pub(crate) fn due_at(&mut self, at: Timestamp) {
        self.next_due = self.next_due.map(|known| known.min(at));
    }

    /// The delivery ladder is to be looked at, at `at`.
    pub(crate) fn sweep_at(&mut self, at: Timestamp) {
        self.next_sweep = self.next_sweep.map(|known| known.min(at));
        self.due_at(at);
    }

    /// What is remembered of a transaction that did not happen, or of a bus that was left, is forgotten.
    pub(crate) fn forget(&mut self) {
        self.counts_stale = true;
        self.places.clear();
        self.turns.clear();
        self.stop_turns.clear();
        self.closings.clear();
        self.judge.forget();
        self.habits.forget();
        self.searchable_in
            .get_or_insert(search_index::AFTER_ARRIVALS);
        self.answers_owed = Some(unanswered::EndedCursor::default());
        self.next_due = None;
        self.next_sweep = None;
        self.swept = None;
    }

    /// Whether this process may sign with a key at this moment.
    pub(crate) fn counts(&self, key: &str) -> bool {
        self.trusted.standing(key) == KeyStatus::Active
    }

    /// Who stopped the agent of a request, while it is stopped; also while it is unknown whether it was resumed.
    pub(crate) fn stopped_by(&self, request: &RequestKey) -> Option<String> {
        let controls = self.controls.read();
        let stop = controls.stop_of(&request.agent_key())?;
        Some(stop.by.clone())
    }

    /// Whether the limits of a key let it give this verdict on a request.
    pub(crate) fn may_allow(&self, key: &str, verdict: Verdict, record: &RequestRecord) -> bool {
        let workspace = &record.key.workspace;
        !is_bound_by_limits(verdict) || self.trusted.may_allow(key, workspace, record.risk)
    }

    /// Whether what was held to be signed with `key` may be signed now and let the call run: in time, no stop keeps the
    /// agent from it, and the key is the operator's, active and under no limit that forbids it. What an earlier key was
    /// to sign is decided again.
    pub(crate) fn may_release(&self, key: &str, record: &RequestRecord, now: Timestamp) -> bool {
        now < record.deadline_at
            && self.stopped_by(&record.key).is_none()
            && key == self.identity.human_key().as_str()
            && self.counts(key)
            && self.may_allow(key, Verdict::Approve, record)
    }

    /// Remembers a decision that this process has just signed, so that it is not verified again when it comes back.
    pub(crate) fn note_own(&mut self, sig: String, payload: Vec<u8>) {
        if self.own.len() >= OWN {
            self.own.clear();
        }
        self.own.insert(sig, payload);
    }
}

/// What one transaction gathers; published only after it is committed.
pub(crate) struct Tx<'t> {
    pub(crate) tx: &'t Connection,
    pub(crate) now: Timestamp,
    pub(crate) effects: Effects,
}

/// Everything that leaves a transaction.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) audit: Vec<Entry>,
    /// Rows whose state, verdict or delivery changed.
    pub(crate) touched: Vec<i64>,
    /// New requests that wait for an answer.
    pub(crate) arrived: Vec<RequestKey>,
    /// Calls that a person let run, with the server's stamp of the decision.
    pub(crate) approved: Vec<(i64, Timestamp)>,
    /// Signed decisions to be sent.
    pub(crate) outgoing: Vec<Outgoing>,
    /// Answers to callers.
    pub(crate) replies: Vec<Reply>,
    /// How far streams are projected now.
    pub(crate) positions: BTreeMap<Stream, StreamPlace>,
    /// The console's status changed.
    pub(crate) status: bool,
    /// The console became read-only (why), or no longer is.
    pub(crate) read_only: Option<Option<String>>,
}

impl Tx<'_> {
    /// Writes an entry of the audit log, at the time of this transaction.
    pub(crate) fn record(
        &mut self,
        actor: impl Into<String>,
        action: &'static str,
        subject: impl Into<String>,
        detail: Value,
    ) {
        self.effects.audit.push(Entry {
            at: self.now,
            actor: actor.into(),
            action,
            subject: subject.into(),
            detail,
        });
    }

    /// Raises an alarm and says so in the audit log.
    pub(crate) fn alarm(
        &mut self,
        actor: &str,
        code: AlarmCode,
        subject: &str,
    ) -> Result<(), StoreError> {
        let code = code.as_str();
        alarms::raise(self.tx, code, subject, self.now)?;
        self.record(actor, "alarm", subject, json!({ "code": code }));
        self.effects.status = true;
        Ok(())
    }

    /// Raises an alarm of something that may happen very often: an unacknowledged one is not raised again.
    pub(crate) fn alarm_unseen(
        &mut self,
        actor: &str,
        code: AlarmCode,
        subject: &str,
    ) -> Result<(), StoreError> {
        let code = code.as_str();
        if alarms::raise_unseen(self.tx, code, subject, self.now)? {
            self.record(actor, "alarm", subject, json!({ "code": code }));
            self.effects.status = true;
        }
        Ok(())
    }

    /// Raises an alarm about a request, once. Where many of the same agent are unacknowledged it is one about the
    /// agent: a flood hides no other alarm. Returns what the new alarm is about.
    pub(crate) fn alarm_of_request(
        &mut self,
        actor: String,
        code: &'static str,
        request: &RequestKey,
        at: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let (subject, agent) = (request.to_string(), request.agent_key().to_string());
        if alarms::is_active(self.tx, code, &subject)? {
            return Ok(None);
        }
        let many = alarms::are_many(self.tx, code, &agent, MANY_ALARMS)?;
        let (subject, is_new) = match many {
            false => {
                let is_new = alarms::raise_once(self.tx, code, &subject, at)?;
                (subject, is_new)
            }
            true => {
                let is_new = alarms::raise_unseen(self.tx, code, &agent, at)?;
                (agent, is_new)
            }
        };
        if !is_new {
            return Ok(None);
        }
        self.record(actor, "alarm", subject.as_str(), json!({ "code": code }));
        self.effects.status = true;
        Ok(Some(subject))
    }

    /// Ends an alarm whose cause is gone.
    pub(crate) fn clear_alarm(
        &mut self,
        actor: &str,
        code: AlarmCode,
        subject: &str,
    ) -> Result<(), StoreError> {
        let code = code.as_str();
        if alarms::clear(self.tx, code, subject)? {
            let detail = serde_json::json!({ "code": code });
            self.record(actor, "alarm_cleared", subject, detail);
            self.effects.status = true;
        }
        Ok(())
    }

    /// Answers a caller once the batch is committed; the caller may have gone.
    pub(crate) fn answer<T: Send + 'static>(&mut self, done: oneshot::Sender<T>, answer: T) {
        self.reply(move || drop(done.send(answer)));
    }

    /// Does this once the batch is committed; a batch that fails answers nobody.
    pub(crate) fn reply(&mut self, reply: impl FnOnce() + Send + 'static) {
        self.effects.replies.push(Box::new(reply));
    }
}
