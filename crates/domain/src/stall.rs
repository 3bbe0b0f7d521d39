//! Which rung of the delivery ladder is awaited, and since when that takes too long.
//!
//! Silence is a stall only while the agent is heard: an absent agent is not stalled.

use super::{Delivery, State, Timestamp};

/// An agent that was heard within this time is there: three heartbeats (protocol, section 1).
pub const ALIVE_MS: i64 = 30_000;

/// An answer that others are sent before may take so many times as long: then something is wrong with it, not with them.
const TURNS: i64 = 10;

/// How long each rung may take, ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallLimits {
    /// From signed to stored on the bus.
    pub on_bus_ms: i64,
    /// From stored on the bus to `received`, while the agent is heard.
    pub received_ms: i64,
    /// From `received` to `executed`, `failed` or `refused`.
    pub executed_ms: i64,
}

impl Default for StallLimits {
    fn default() -> Self {
        Self {
            on_bus_ms: 10_000,
            received_ms: 30_000,
            executed_ms: 600_000,
        }
    }
}

/// A rung that is overdue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stall {
    /// Decided, and the bus has not taken it.
    NotOnBus,
    /// On the bus, and an agent that is there has not taken it.
    NotReceived,
    /// Received, and nothing is known of the call.
    NotExecuted,
}

/// All stalls, in the order of the ladder.
pub const STALLS: [Stall; 3] = [Stall::NotOnBus, Stall::NotReceived, Stall::NotExecuted];

impl Stall {
    /// The code of its alarm.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotOnBus => "stalled_not_on_bus",
            Self::NotReceived => "stalled_not_received",
            Self::NotExecuted => "stalled_not_executed",
        }
    }

    /// The stall of an alarm's code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        STALLS.into_iter().find(|stall| stall.code() == code)
    }
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The state of the request.
    pub state: State,
    /// How far it and its answer have come.
    pub delivery: Delivery,
    /// Whether the answer lets the call run.
    pub runs: bool,
    /// When the decision was signed here and is still in the outbox.
    pub queued_at: Option<Timestamp>,
    /// The server's stamp of the stored decision.
    pub stored_at: Option<Timestamp>,
    /// The server's stamp of the receipt `received`.
    pub received_at: Option<Timestamp>,
    /// When the agent stops waiting.
    pub deadline_at: Timestamp,
    /// When the agent was last heard.
    pub heard_at: Option<Timestamp>,
    /// Since when it was heard without a pause.
    pub alive_since: Option<Timestamp>,
    /// When the bus was last seen to hold an answer of this console.
    pub outbox_moved_at: Option<Timestamp>,
    /// Whether this asker reports what became of the call: a shell script that was gated does not.
    pub reports_execution: bool,
}

/// What to do about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It has got as far as it ever will, or nobody waits for it.
    Done,
    /// Look again then.
    Again(Timestamp),
    /// It is overdue.
    Stalled(Stall),
}

/// Judges an answer at `now`, the server's time.
#[must_use]
pub fn judge_progress(progress: &Progress, limits: &StallLimits, now: Timestamp) -> Look {
    let overdue = |since: Timestamp, limit: i64, stall: Stall| {
        let due = since.plus_ms(limit);
        if now >= due {
            Look::Stalled(stall)
        } else {
            Look::Again(due)
        }
    };
    // Answers that need no person wait in the outbox too, whatever the state.
    if let Some(since) = progress.queued_at {
        let look = overdue(since, limits.on_bus_ms, Stall::NotOnBus);
        let moved = progress.outbox_moved_at;
        let moves = moved.is_some_and(|at| now.since_ms(at) < limits.on_bus_ms);
        let may_wait = limits.on_bus_ms.saturating_mul(TURNS);
        let waits = moves && now.since_ms(since) < may_wait;
        // Nobody gave that answer, and it is one of many: they wait for each other, not for the bus.
        if matches!(look, Look::Stalled(_)) && progress.state != State::Queued && waits {
            return Look::Again(now.plus_ms(limits.on_bus_ms));
        }
        return look;
    }
    match (progress.state, progress.delivery) {
        (State::Decided, Delivery::OnBus) => not_received(progress, limits, now),
        (State::Decided, Delivery::Received) if progress.runs && progress.reports_execution => {
            match progress.received_at {
                Some(since) => overdue(since, limits.executed_ms, Stall::NotExecuted),
                None => Look::Done,
            }
        }
        _ => Look::Done,
    }
}

fn not_received(progress: &Progress, limits: &StallLimits, now: Timestamp) -> Look {
    let Some(stored_at) = progress.stored_at else {
        return Look::Done;
    };
    let heard = progress
        .heard_at
        .is_some_and(|heard| now.since_ms(heard) < ALIVE_MS);
    if !heard {
        if now >= progress.deadline_at.plus_ms(limits.received_ms) {
            return Look::Done;
        }
        // The longer it is away, the more rarely it is looked for.
        let wait = limits.received_ms.max(now.since_ms(stored_at) / 4);
        return Look::Again(now.plus_ms(wait));
    }
    let since = progress
        .alive_since
        .map_or(stored_at, |since| since.max(stored_at));
    let due = since.plus_ms(limits.received_ms);
    if now >= due {
        Look::Stalled(Stall::NotReceived)
    } else {
        Look::Again(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StallLimits = StallLimits {
        on_bus_ms: 10,
        received_ms: 30,
        executed_ms: 600,
    };

    fn at(state: State, delivery: Delivery) -> Progress {
        Progress {
            state,
            delivery,
            runs: true,
            queued_at: (state == State::Queued).then_some(Timestamp(1_000)),
            stored_at: Some(Timestamp(1_000)),
            received_at: Some(Timestamp(1_000)),
            deadline_at: Timestamp(60_000),
            heard_at: Some(Timestamp(1_000)),
            alive_since: Some(Timestamp(0)),
            outbox_moved_at: None,
            reports_execution: true,
        }
    }

    #[test]
    fn each_rung_has_its_time_and_then_alarms() {
        let table = [
            (State::Queued, Delivery::Decided, 10, Stall::NotOnBus),
            (State::Decided, Delivery::OnBus, 30, Stall::NotReceived),
            (State::Decided, Delivery::Received, 600, Stall::NotExecuted),
        ];
        for (state, delivery, limit, stall) in table {
            let progress = at(state, delivery);
            let due = Timestamp(1_000 + limit);
            let before = judge_progress(&progress, &LIMITS, due.plus_ms(-1));
            assert_eq!(before, Look::Again(due), "{state} {delivery}");
            let then = judge_progress(&progress, &LIMITS, due);
            assert_eq!(then, Look::Stalled(stall), "{state} {delivery}");
            assert_eq!(Stall::from_code(stall.code()), Some(stall));
        }
    }

    #[test]
    fn what_has_ended_never_stalls() {
        for delivery in [Delivery::Executed, Delivery::Failed, Delivery::Refused] {
            for state in State::ALL
                .into_iter()
                .filter(|state| *state != State::Queued)
            {
                let progress = at(state, delivery);
                assert_eq!(
                    judge_progress(&progress, &LIMITS, Timestamp(i64::MAX)),
                    Look::Done
                );
            }
        }
        for state in [
            State::Pending,
            State::Expired,
            State::Withdrawn,
            State::Void,
        ] {
            let progress = at(state, Delivery::OnBus);
            assert_eq!(
                judge_progress(&progress, &LIMITS, Timestamp(i64::MAX)),
                Look::Done
            );
        }
    }

    #[test]
    fn an_answer_that_nobody_gave_is_overdue_only_while_no_answer_reaches_the_bus() {
        let queued = |state, outbox_moved_at| Progress {
            queued_at: Some(Timestamp(1_000)),
            outbox_moved_at,
            ..at(state, Delivery::Decided)
        };
        let now = Timestamp(1_099);
        let (moves, current) = (Some(now.plus_ms(-9)), Some(now.plus_ms(-10)));
        let stalled = Look::Stalled(Stall::NotOnBus);
        for state in [State::Rejected, State::Withdrawn, State::Expired] {
            for (moved, expected) in [
                (moves, Look::Again(now.plus_ms(10))),
                (current, stalled),
                (None, stalled),
            ] {
                let look = judge_progress(&queued(state, moved), &LIMITS, now);
                assert_eq!(look, expected, "{state} {moved:?}");
            }
        }
        let decided = queued(State::Queued, moves);
        assert_eq!(judge_progress(&decided, &LIMITS, now), stalled);
        let late = judge_progress(&queued(State::Expired, moves), &LIMITS, now.plus_ms(1));
        assert_eq!(late, stalled, "the others have long been sent");
    }

    #[test]
    fn a_refusal_and_a_shell_script_owe_no_execution() {
        let denied = Progress {
            runs: false,
            ..at(State::Decided, Delivery::Received)
        };
        let script = Progress {
            reports_execution: false,
            ..at(State::Decided, Delivery::Received)
        };
        for progress in [denied, script] {
            assert_eq!(
                judge_progress(&progress, &LIMITS, Timestamp(i64::MAX)),
                Look::Done
            );
        }
    }

    #[test]
    fn an_agent_that_is_away_is_looked_for_until_nobody_waits() {
        let away = Progress {
            heard_at: None,
            ..at(State::Decided, Delivery::OnBus)
        };
        assert_eq!(
            judge_progress(&away, &LIMITS, Timestamp(1_030)),
            Look::Again(Timestamp(1_060))
        );
        assert_eq!(
            judge_progress(&away, &LIMITS, Timestamp(5_000)),
            Look::Again(Timestamp(6_000))
        );
        assert_eq!(
            judge_progress(&away, &LIMITS, Timestamp(60_030)),
            Look::Done
        );
        let back = Progress {
            heard_at: Some(Timestamp(5_001)),
            alive_since: Some(Timestamp(5_000)),
            ..away
        };
        assert_eq!(
            judge_progress(&back, &LIMITS, Timestamp(5_001)),
            Look::Again(Timestamp(5_030))
        );
        assert_eq!(
            judge_progress(&back, &LIMITS, Timestamp(5_030)),
            Look::Stalled(Stall::NotReceived)
        );
    }
}
