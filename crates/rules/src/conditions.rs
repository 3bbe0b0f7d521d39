//! Runs conditions beside the thread that asks, within the steps of a request.
//!
//! Refuses to begin what may take more steps than a request has, and to wait for an engine that does not end.

mod cost;
#[cfg(test)]
mod tests;
mod values;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cel::{Context, Env, ExecutionError, Value as Cel};
use serde_json::Value;
use tokio::time::Instant;

use parking_lot::Mutex;

use self::values::context;
use super::condition::{Condition, STACK};
use crate::domain::Timestamp;

pub use self::cost::STEPS_MAX;

/// How long is waited for conditions: far longer than their steps take on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How long one that did not end is left alone.
const SUSPENSION_MS: i64 = 10_000;
/// Threads that run at the same time, those included that were let go of.
const THREADS_MAX: usize = 8;
/// The longest list, and the most names of an object, in what a condition sees.
pub const LIST_MAX: usize = 1_000;
/// The most bytes of text in what a condition sees.
pub const TEXT_MAX: usize = 64 * 1024;

/// Why a condition has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// What CEL says: a missing field, a wrong type.
    #[error("{0}")]
    Failed(String),
    /// Neither true nor false.
    #[error("the condition is neither true nor false")]
    NoBoolean,
    /// The arguments are larger than a condition may see.
    #[error(
        "the arguments are too large for a condition ({LIST_MAX} items of a list, {TEXT_MAX} bytes of text)"
    )]
    TooLarge,
    /// It may take more steps than the request has left.
    #[error(
        "the condition may take too long for arguments of this size (all conditions of a call have {STEPS_MAX} steps)"
    )]
    TooManySteps,
    /// It did not end, or did not in the last seconds.
    #[error("the condition did not end within 5 s; it is tried again after 10 s")]
    TooSlow,
    /// One before it did not end.
    #[error("there was no time left for the condition: one before it did not end")]
    NoTime,
    /// Too many that were let go of still run.
    #[error("too many slow conditions run at the moment")]
    Busy,
}

/// What conditions see of a request.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The arguments.
    pub args: Option<Value>,
    /// The tool's name.
    pub tool: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// The effective risk.
    pub risk: &'static str,
    /// The agent's run.
    pub run: Option<String>,
    /// The agent's thread.
    pub thread: Option<String>,
    /// Setup keys with their values.
    pub setup: Value,
    /// The server's time.
    pub now: Option<Timestamp>,
}

/// An answer, and the steps that are left.
type Answered = (Result<bool, ConditionError>, u64);

struct Work {
    conditions: Vec<Arc<Condition>>,
    facts: Arc<Facts>,
    /// Steps that they may take.
    left: u64,
    answers: SyncSender<Answered>,
}

/// The threads that run conditions.
#[derive(Default)]
pub struct Conditions {
    idle: Mutex<Vec<SyncSender<Work>>>,
    running: Arc<AtomicUsize>,
}

static SINCE: LazyLock<Instant> = LazyLock::new(Instant::now);

fn now_ms() -> i64 {
    i64::try_from(SINCE.elapsed().as_millis()).unwrap_or(i64::MAX)
}

impl Conditions {
    /// The answer of each condition. They have what is `left` of [`STEPS_MAX`], and take what they need of it.
    #[must_use]
    pub fn run(
        &self,
        conditions: &[Arc<Condition>],
        facts: &Arc<Facts>,
        left: &mut u64,
    ) -> Vec<Result<bool, ConditionError>> {
        self.run_within(WAIT_MAX, conditions, facts, left)
    }

    fn run_within(
        &self,
        wait: Duration,
        conditions: &[Arc<Condition>],
        facts: &Arc<Facts>,
        left: &mut u64,
    ) -> Vec<Result<bool, ConditionError>> {
        let now = now_ms();
        let mut answers: Vec<_> = conditions
            .iter()
            .map(|_| Err(ConditionError::TooSlow))
            .collect();
        let tried: Vec<usize> = (0..conditions.len())
            .filter(|place| !conditions[*place].is_suspended(now))
            .collect();
        if tried.is_empty() {
            return answers;
        }
        let Some(thread) = self.thread() else {
            tried
                .iter()
                .for_each(|place| answers[*place] = Err(ConditionError::Busy));
            return answers;
        };
        let (answers_to, heard) = sync_channel(tried.len());
        let work = Work {
            conditions: tried
                .iter()
                .map(|place| Arc::clone(&conditions[*place]))
                .collect(),
            facts: Arc::clone(facts),
            left: *left,
            answers: answers_to,
        };
        if thread.try_send(work).is_err() {
            tried
                .iter()
                .for_each(|place| answers[*place] = Err(ConditionError::Busy));
            return answers;
        }
        let begun = Instant::now();
        for (number, place) in tried.iter().enumerate() {
            match heard.recv_timeout(wait.saturating_sub(begun.elapsed())) {
                Ok(answered) => (answers[*place], *left) = answered,
                Err(RecvTimeoutError::Timeout) => {
                    conditions[*place].suspend(now_ms().saturating_add(SUSPENSION_MS));
                    let after = tried.iter().skip(number + 1);
                    after.for_each(|place| answers[*place] = Err(ConditionError::NoTime));
                    // The thread ends when it finds that nobody listens.
                    return answers;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let gone = || Err(ConditionError::Failed("the condition broke off".to_owned()));
                    tried
                        .iter()
                        .skip(number)
                        .for_each(|place| answers[*place] = gone());
                    return answers;
                }
            }
        }
        self.idle.lock().push(thread);
        answers
    }

    fn thread(&self) -> Option<SyncSender<Work>> {
        let idle = self.idle.lock().pop();
        if idle.is_some() {
            return idle;
        }
        let running = Counted::one_more(&self.running)?;
        let (send, receive) = sync_channel::<Work>(1);
        let body = move || {
            let _running = running;
            let env = Arc::new(Env::stdlib());
            while let Ok(work) = receive.recv() {
                let context = context(&env, &work);
                let mut left = work.left;
                for condition in &work.conditions {
                    let answer = match &context {
                        Ok(context) => within(&mut left, condition, &work.facts)
                            .and_then(|()| answer(condition, context)),
                        Err(why) => Err(why.clone()),
                    };
                    if work.answers.send((answer, left)).is_err() {
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("condition".to_owned())
            .stack_size(STACK);
        thread.spawn(body).ok()?;
        Some(send)
    }
}

/// One of the running threads.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one_more(running: &Arc<AtomicUsize>) -> Option<Self> {
        let fits = |count: usize| (count < THREADS_MAX).then_some(count + 1);
        running
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits)
            .ok()?;
        Some(Self(Arc::clone(running)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes the steps of a condition, if they are left.
fn within(left: &mut u64, condition: &Condition, facts: &Facts) -> Result<(), ConditionError> {
    let steps = cost::steps(&condition.expression, facts);
    *left = left
        .checked_sub(steps)
        .ok_or(ConditionError::TooManySteps)?;
    Ok(())
}

fn answer(condition: &Condition, context: &Context<'_, '_>) -> Result<bool, ConditionError> {
    match context.resolve(&condition.expression) {
        Ok(Cel::Bool(answer)) => Ok(answer),
        Ok(_) => Err(ConditionError::NoBoolean),
        Err(error) => {
            // An error of CEL may hold the arguments.
            Err(ConditionError::Failed(fault_text(&error)))
        }
    }
}

/// What went wrong, without values of the arguments.
fn fault_text(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("there is no {}", short(name)),
        ExecutionError::NoSuchOverload(error) => {
            let types = error.argument_types().join(", ");
            format!("{} does not fit ({types})", error.function())
        }
        ExecutionError::FunctionError { function, message } if function.starts_with('@') => {
            message.clone()
        }
        ExecutionError::FunctionError { function, .. } => format!("{function} failed"),
        ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnexpectedType { .. } => {
            "values of these types cannot be compared".to_owned()
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "a division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number became too large".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "there is no such item".to_owned(),
        _ => "a value has another type than the condition expects".to_owned(),
    }
}

fn short(name: &str) -> String {
    name.chars()
        .take(64)
        .flat_map(char::escape_default)
        .collect()
}
