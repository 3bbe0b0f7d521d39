//! The one reader of stored requests that rules are tried on: page after page, judged by a thread of its own.

use countersign_wire::{
    Effects, RequestKey, Risk, Verdict, WorkspaceName, parse_request, request_subject,
};
use tokio::sync::mpsc::{self, Receiver};

use crate::Fault;
use crate::domain::{State, Timestamp};
use crate::policy::Asked;
use crate::policy::what_if::Past;
use crate::store::approvals::{self, ApprovalRow};
use crate::store::pending_evaluation::{self, WaitingRow};
use crate::store::simulated::{self, PastRow};
use crate::store::{Reader, StoreError};

/// Requests that are read at once.
const PAGE: i64 = 500;
/// Waiting requests that are read at once.
const WAITING_PAGE: i64 = 100;
/// Pages that are read before they are judged.
const PAGES_AHEAD: usize = 2;

/// How far a simulation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Requests that were looked at.
    pub done: u64,
    /// Requests that there are.
    pub of: u64,
}

/// Pages in the order of their rows.
pub(super) struct Pages<R>(Receiver<Vec<R>>);

impl<R> Pages<R> {
    /// Every row, one after the other.
    pub(super) fn rows(mut self) -> impl Iterator<Item = R> {
        std::iter::from_fn(move || self.0.blocking_recv()).flatten()
    }
}

/// Hands every valid request of a workspace since a moment to `judge`. It ends when `progress` says false.
pub(super) async fn past<T: Send + 'static>(
    reader: &Reader,
    workspace: &WorkspaceName,
    since: Option<Timestamp>,
    progress: impl Fn(Progress) -> bool,
    judge: impl FnOnce(Pages<PastRow>) -> T + Send + 'static,
) -> Result<T, Fault> {
    let since = since.map_or(i64::MIN, |since| since.0);
    let of = simulated::count(reader, workspace.as_ref(), since).await?;
    let read = |after| simulated::page(reader, workspace.as_ref(), since, after, PAGE);
    let progress = |done| progress(Progress { done, of });
    walk("the simulation", read, |row| row.id, progress, judge).await
}

/// Hands every decision of a person in a workspace since a moment to `judge`. It ends when `progress` says false.
pub(super) async fn decided<T: Send + 'static>(
    reader: &Reader,
    workspace: &WorkspaceName,
    since: Timestamp,
    progress: impl FnMut(u64) -> bool,
    judge: impl FnOnce(Pages<ApprovalRow>) -> T + Send + 'static,
) -> Result<T, Fault> {
    let read = |after| approvals::by_people(reader, workspace.as_ref(), since.0, after, PAGE);
    walk("the suggestions", read, |row| row.id, progress, judge).await
}

/// Hands every request of a workspace that waits to `judge`.
pub(super) async fn waiting<T: Send + 'static>(
    reader: &Reader,
    workspace: &WorkspaceName,
    now: Timestamp,
    judge: impl FnOnce(Pages<WaitingRow>) -> T + Send + 'static,
) -> Result<T, Fault> {
    let read = |after| {
        let of = (workspace.as_ref(), now);
        pending_evaluation::waiting_in(reader, of, after, WAITING_PAGE)
    };
    walk("the waiting calls", read, |row| row.id, |_| true, judge).await
}

async fn walk<R: Send + 'static, T: Send + 'static, P>(
    what: &str,
    mut read: impl FnMut(i64) -> P,
    id: impl Fn(&R) -> i64,
    mut progress: impl FnMut(u64) -> bool,
    judge: impl FnOnce(Pages<R>) -> T + Send + 'static,
) -> Result<T, Fault>
where
    P: Future<Output = Result<Vec<R>, StoreError>>,
{
    let failed = |why: &str| Fault::failed(format!("{what}: {why}"));
    let (pages, waiting) = mpsc::channel(PAGES_AHEAD);
    // Conditions take their time: no other task waits for them.
    let judging = tokio::task::spawn_blocking(move || judge(Pages(waiting)));
    let (mut after, mut done) = (0, 0);
    loop {
        let page = read(after).await?;
        let Some(last) = page.last() else { break };
        after = id(last);
        done += u64::try_from(page.len()).unwrap_or(0);
        // A judge that ended early says why.
        if pages.send(page).await.is_err() {
            break;
        }
        if !progress(done) {
            return Err(failed("it was cancelled"));
        }
    }
    drop(pages);
    judging.await.map_err(|error| failed(&error.to_string()))
}

/// Reads a stored request as rules are tried on it; what was never valid is left out.
pub(super) fn with_past(row: &PastRow, judge: impl FnOnce(&Past<'_>)) {
    let key = format!("{}/{}/{}", row.ws, row.agent, row.request_id).parse::<RequestKey>();
    let Ok(key) = key else { return };
    let Ok(parsed) = parse_request(&request_subject(&key), &row.raw) else {
        return;
    };
    let decided = row.verdict.as_deref().and_then(Verdict::from_word);
    let ran = matches!(decided, Some(Verdict::Approve | Verdict::Modify));
    let by_person = row.origin.as_deref() == Some("operator");
    let asked = Asked::of(&parsed);
    judge(&Past {
        asked: &asked,
        request: row.id,
        request_id: &row.request_id,
        at: Timestamp(row.stored_at),
        person: decided.filter(|_| by_person),
        ran,
        waits: row.state == State::Pending.as_str(),
        strict: asked.risk == Risk::Critical || parsed.request.effects() == Effects::Irreversible,
    });
}
