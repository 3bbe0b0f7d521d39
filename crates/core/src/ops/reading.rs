//! Lists and single requests, for every front end.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_wire::{RequestKey, Stream, decision_subject, json_value, withdraw_subject};
use serde_json::Value;

use super::cautions;
use super::votes::shown::{self, ShownVote};
use crate::Fault;
use crate::domain::facts::{EarlierCall, Outgoing, RequestDetails, RequestSummary};
use crate::domain::history::{Cursor, HistoryFilter, Sort};
use crate::domain::{CallWarning, State};
use crate::runtime::App;
use crate::store::history::{self, Count, Page};
use crate::store::history_sorted::{SortedPage, sorted_page};
use crate::store::outbox::OutboxRow;
use crate::store::request_list::{self, Filter};
use crate::store::{
    Connection, StoreError, alarms, audit, decisions, looked, outbox, policy_versions, quarantine,
    re_asks, receipts, retention, typed_targets,
};

/// How long a reader waits for what an agent said when it withdrew.
const REASON_LIMIT: Duration = Duration::from_secs(1);

impl App {
    /// What waits, earliest deadline first, without payloads. Empty until everything on the bus is
    /// known.
    pub async fn inbox(&self, filter: &Filter) -> Result<Vec<RequestSummary>, Fault> {
        let mut rows = Vec::new();
        self.read_inbox(filter, None, false, |row| rows.push(row))
            .await?;
        Ok(rows)
    }

    /// The same with payloads, all or so many of them, one line at a time: of a hundred thousand only what `each`
    /// keeps stays in memory.
    pub async fn inbox_payloads(
        &self,
        filter: &Filter,
        most: Option<i64>,
        each: impl FnMut(RequestSummary),
    ) -> Result<(), Fault> {
        self.read_inbox(filter, most, true, each).await
    }

    async fn read_inbox(
        &self,
        filter: &Filter,
        most: Option<i64>,
        with_raw: bool,
        mut each: impl FnMut(RequestSummary),
    ) -> Result<(), Fault> {
        if self.reads_the_past() {
            return Ok(());
        }
        let each = |line| each(self.with_votes(line));
        Ok(request_list::inbox(self.reader(), filter, most, with_raw, each).await?)
    }

    /// Every request, newest first, at most `limit` from the one before `before` on.
    pub async fn history(
        &self,
        filter: &Filter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<RequestSummary>, Fault> {
        let lines = request_list::history(self.reader(), filter, before, limit).await?;
        Ok(self.counted(lines))
    }

    /// A page of the history, newest first, from the row before `after` on. Once `budget` is over, what was
    /// found by then is the page. A text is looked for in what is indexed (see [`App::catch_up_search`]).
    pub async fn history_page(
        &self,
        filter: &HistoryFilter,
        after: Option<i64>,
        limit: i64,
        budget: Option<Duration>,
    ) -> Result<Page, Fault> {
        let page = history::page(self.reader(), filter, after, limit, budget).await?;
        Ok(Page {
            rows: self.counted(page.rows),
            ..page
        })
    }

    /// The same in another order, from a cursor on.
    pub async fn history_sorted(
        &self,
        filter: &HistoryFilter,
        order: (Sort, Option<Cursor>),
        limit: i64,
        budget: Option<Duration>,
    ) -> Result<SortedPage, Fault> {
        let page = sorted_page(self.reader(), filter, order, limit, budget).await?;
        Ok(SortedPage {
            rows: self.counted(page.rows),
            ..page
        })
    }

    /// The payloads of these rows, but for those of more than `most` bytes.
    pub async fn payloads(&self, ids: &[i64], most: i64) -> Result<BTreeMap<i64, Vec<u8>>, Fault> {
        let found = request_list::payloads(self.reader(), ids, most).await?;
        Ok(found.into_iter().collect())
    }

    /// How many requests pass a filter. Once `budget` is over, those that were counted by then, the newest.
    pub async fn history_count(
        &self,
        filter: &HistoryFilter,
        budget: Duration,
    ) -> Result<Count, Fault> {
        Ok(history::count(self.reader(), filter, budget).await?)
    }

    /// These rows, with payloads, in no order.
    pub async fn lines(&self, ids: &[i64]) -> Result<Vec<RequestSummary>, Fault> {
        Ok(self.counted(request_list::by_ids(self.reader(), ids).await?))
    }

    /// A line as it is shown here: with the votes that count, and the list's name of who decided.
    fn with_votes(&self, line: RequestSummary) -> RequestSummary {
        self.with_listed_name(self.count_votes(line))
    }

    fn counted(&self, lines: Vec<RequestSummary>) -> Vec<RequestSummary> {
        let counted = lines.into_iter().map(|line| self.with_votes(line));
        counted.collect()
    }

    /// Which of these rows ask again what was decided before, and what that was.
    pub async fn repeated(&self, ids: &[i64]) -> Result<BTreeMap<i64, EarlierCall>, Fault> {
        let wanted = ids.to_vec();
        let read = self
            .reader()
            .direct(move |sqlite| re_asks::of(sqlite, &wanted));
        let earlier = read.await?;
        let named = earlier
            .into_iter()
            .map(|(id, earlier)| (id, self.with_its_listed_name(earlier)));
        Ok(named.collect())
    }

    /// Finds a request by `ID` or `WS/AGENT/ID`.
    pub async fn find(&self, id: &str) -> Result<RequestSummary, Fault> {
        let wanted = id.to_owned();
        let read = self.reader().direct(move |sqlite| find(sqlite, &wanted));
        Ok(self.with_votes(read.await??))
    }

    /// The key of a request by `ID` or `WS/AGENT/ID`.
    ///
    /// # Errors
    /// As [`App::find`]; `ErrorCode::NotApprovable` for a message whose subject named no request.
    pub async fn resolve(&self, id: &str) -> Result<RequestKey, Fault> {
        let row = self.find(id).await?;
        row.key().ok_or_else(|| {
            Fault::not_approvable(format!(
                "{} was rejected; nothing can be decided on it",
                row.request_id
            ))
        })
    }

    /// Why the agent withdrew a request, in its words. This console keeps their digest alone: they are read from the
    /// bus; none where it does not answer or holds them no longer.
    pub async fn withdraw_reason(&self, line: &RequestSummary) -> Option<String> {
        if line.state != State::Withdrawn.as_str() {
            return None;
        }
        let (bus, subject) = (self.bus()?, withdraw_subject(&line.key()?));
        let read = bus.read_next(Stream::Requests.name(), &subject, 1);
        let message = tokio::time::timeout(REASON_LIMIT, read)
            .await
            .ok()?
            .ok()??;
        let said: Value = json_value(&message.payload)?;
        said["reason"].as_str().map(str::to_owned)
    }

    /// One request whole, as it is at one moment.
    pub async fn show(&self, id: &str) -> Result<RequestDetails, Fault> {
        let (app, wanted) = (self.clone(), id.to_owned());
        let read = self.reader().direct(move |sqlite| {
            let moment = sqlite.unchecked_transaction()?;
            let line = match find(&moment, &wanted)? {
                Ok(line) => app.with_votes(line),
                Err(fault) => return Ok(Err(fault)),
            };
            let votes = shown::of_request(&app, &moment, &line)?;
            let remarkable = cautions::of(&app, &moment, &line)?;
            details(&moment, line, votes, remarkable).map(Ok)
        });
        read.await?
    }

    /// Audit rows after `seq`, oldest first: the order of everything that happened here.
    pub async fn audit_after(&self, seq: i64, limit: i64) -> Result<Vec<audit::Row>, Fault> {
        Ok(audit::after(self.reader(), seq, limit).await?)
    }

    /// The end of the audit chain.
    pub async fn audit_head(&self) -> Result<audit::Head, Fault> {
        Ok(audit::current_head(self.reader()).await?)
    }
}

/// The request with this `ID` or `WS/AGENT/ID`; the fault where there is none, or more than one.
fn find(sqlite: &Connection, id: &str) -> Result<Result<RequestSummary, Fault>, StoreError> {
    let mut found = match (id.contains('/'), id.parse()) {
        (false, _) => request_list::of_request_id(sqlite, id)?,
        (true, Ok(key)) => Vec::from_iter(request_list::of_key(sqlite, &key)?),
        (true, Err(_)) => Vec::new(),
    };
    if found.len() > 1 {
        let name = |row: &RequestSummary| format!("{}/{}/{}", row.ws, row.agent, row.request_id);
        let candidates: Vec<_> = found.iter().map(name).collect();
        let candidates = candidates.join(", ");
        return Ok(Err(Fault::ambiguous_id(format!(
            "{id} is ambiguous; use one of {candidates}"
        ))));
    }
    let unknown = || Fault::unknown(countersign_wire::escape(id).plain(), "history");
    Ok(found.pop().ok_or_else(unknown))
}

fn outgoing(row: OutboxRow) -> Outgoing {
    Outgoing {
        payload: row.payload,
        release_at: row.release_at,
        last_error: row.last_error,
        state: row.state,
    }
}

/// Everything else that is known of a request.
fn details(
    sqlite: &Connection,
    line: RequestSummary,
    votes: Vec<ShownVote>,
    (repeats, cautions): (Option<EarlierCall>, Vec<CallWarning>),
) -> Result<RequestDetails, StoreError> {
    let (mut decision, mut contradicting) = (None, None);
    let (mut received, mut raised) = (Vec::new(), Vec::new());
    if let Some(key) = line.key() {
        decision = decisions::stored(sqlite, &key)?;
        contradicting = quarantine::contradicting(sqlite, &decision_subject(&key))?;
        received = receipts::of_request(sqlite, &key)?;
        raised = alarms::about(sqlite, &key.to_string())?;
    }
    let typed_target = match &line.tool {
        Some(tool) => typed_targets::of_tool(sqlite, &line.ws, &line.agent, tool)?,
        None => None,
    };
    let removed = match line.raw.is_empty() {
        true => retention::removed(sqlite, line.id)?,
        false => None,
    };
    let details = RequestDetails {
        repeats,
        cautions,
        votes,
        outgoing: outbox::of_request(sqlite, line.id)?.map(outgoing),
        looked: looked::of_request(sqlite, line.id)?,
        line,
        decision,
        contradicting,
        receipts: received,
        alarms: raised,
        typed_target,
        removed,
        rule_name: None,
    };
    with_rule_name(details, sqlite)
}

fn with_rule_name(
    mut details: RequestDetails,
    sqlite: &Connection,
) -> Result<RequestDetails, StoreError> {
    let (Some(id), Some("rule")) = (&details.line.rule_id, details.line.origin.as_deref()) else {
        return Ok(details);
    };
    let given: Value = details.given().and_then(json_value).unwrap_or_default();
    if let Some(digest) = given["policy_digest"].as_str()
        && let Some(set) = policy_versions::body(sqlite, digest)?
    {
        let set: Value = json_value(&set).unwrap_or_default();
        let rules = set["rules"].as_array().map_or(&[][..], Vec::as_slice);
        let rule = rules.iter().find(|rule| rule["id"] == id.as_str());
        details.rule_name = rule.and_then(|rule| Some(rule["name"].as_str()?.to_owned()));
    }
    Ok(details)
}
