//! The details of a request beside the request: the audit log's rows about it and its traces.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Fault;
use crate::runtime::App;
use crate::store::audit_refs::{self, AuditRef};
use crate::store::export::{self, ExportRow};
use crate::store::filter_values::{self, FilterValues};
use crate::store::request_list::RequestSummary;
use crate::store::{spans, ui_state};

/// How long a story waits for the references to the audit log.
const REFERENCES: Duration = Duration::from_secs(2);
/// Rows of the audit log shown of one request.
const AUDIT_ROWS: i64 = 200;

impl App {
    /// Rows of the audit log about these requests, oldest first, at most 200 of each. What was logged in this
    /// moment may be missing where this process only reads.
    pub async fn audit_of(&self, ids: &[i64]) -> Result<BTreeMap<i64, Vec<AuditRef>>, Fault> {
        let found = audit_refs::of_requests(self.reader(), ids, AUDIT_ROWS).await?;
        let mut rows: BTreeMap<i64, Vec<AuditRef>> = BTreeMap::new();
        for row in found {
            rows.entry(row.request).or_default().push(row);
        }
        for rows in rows.values_mut() {
            rows.sort_unstable_by_key(|row| row.seq);
        }
        Ok(rows)
    }

    /// The same of one request, brought up to date before.
    pub async fn audit_details(&self, line: &RequestSummary) -> Result<Vec<AuditRef>, Fault> {
        self.catch_up_search(REFERENCES).await?;
        Ok(self
            .audit_of(&[line.id])
            .await?
            .remove(&line.id)
            .unwrap_or_default())
    }

    /// Traces of a request: its own first, then those whose spans name it.
    pub async fn traces_of(&self, line: &RequestSummary) -> Result<Vec<String>, Fault> {
        let mut traces = Vec::new();
        traces.extend(spans::trace_of_request(self.reader(), line.id).await?);
        let name = (
            line.ws.as_str(),
            line.agent.as_str(),
            line.request_id.as_str(),
        );
        for trace in spans::traces_of_request(self.reader(), name).await? {
            if !traces.contains(&trace) {
                traces.push(trace);
            }
        }
        Ok(traces)
    }

    /// What an export adds to the lines of these requests, in no order.
    pub async fn export_facts(&self, ids: &[i64]) -> Result<Vec<ExportRow>, Fault> {
        Ok(export::of_requests(self.reader(), ids).await?)
    }

    /// The values that the filters of the history can take.
    pub async fn history_filter_values(&self) -> Result<FilterValues, Fault> {
        Ok(filter_values::read(self.reader()).await?)
    }

    /// What the window remembers under a key.
    pub async fn remembered(&self, key: &str) -> Result<Option<String>, Fault> {
        Ok(ui_state::get(self.reader(), key).await?)
    }

    /// Remembers a value of the window.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when the store takes no writes.
    pub async fn remember(&self, key: &'static str, value: String) -> Result<(), Fault> {
        self.ask(move |_, batch| ui_state::put(batch.tx, key, &value))
            .await
    }
}
