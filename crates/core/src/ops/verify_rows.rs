//! Compares the rows of requests, decisions and votes with the bytes and the audit rows that prove them.
//!
//! What people read of a decision must be what was signed.

use std::collections::BTreeMap;

use countersign_wire::{
    Context, RequestKey, Sha256Digest, decision_subject, parse_request, request_subject, verify,
};
use serde_json::Value;

use super::audit_verify::{Check, OTHER_BYTES};
use super::incoming::decision_body;
use crate::Fault;
use crate::runtime::App;
use crate::store::proofs::{self, ToldDecision, ToldRequest};
use crate::store::retention as store_retention;

const GONE: &str = "its row is gone";
const READ_OTHERWISE: &str = "the audit log says otherwise";

/// A row that an audit entry ties to bytes.
pub(super) struct Named {
    /// `requests`, `decisions` or `votes`.
    pub(super) table: &'static str,
    /// `WS/AGENT/ID`, of a vote with the voter's key behind it.
    pub(super) name: String,
    /// Digest of the bytes.
    pub(super) digest: String,
    /// Who the entry says that they are of.
    pub(super) actor: String,
    /// How a decision reads by the entry; none while its request was not here.
    pub(super) effective: Option<String>,
}

/// Decisions that a later audit row reads anew, or that read otherwise than by their first: how they must
/// read.
#[derive(Default)]
pub(super) struct Readings(BTreeMap<String, Option<String>>);

impl Readings {
    /// A row that reads a decision anew.
    pub(super) fn again(&mut self, name: &str, effective: Option<String>) {
        self.0.insert(name.to_owned(), effective);
    }
}

impl App {
    /// Checks the rows that a page of the log names.
    pub(super) async fn check_named(
        &self,
        check: &mut Check,
        emptied: &std::collections::HashSet<String>,
    ) -> Result<(), Fault> {
        for named in check.take_named() {
            let wrong = match named.table {
                "requests" if emptied.contains(&named.name) => {
                    // A payload that retention took away must be away, and its digest must be here.
                    let (name, digest) = (&named.name, &named.digest);
                    let left = store_retention::is_emptied(self.reader(), name, digest).await?;
                    (!left).then(|| "it is not as retention left it".to_owned())
                }
                "requests" => match proofs::request(self.reader(), &named.name).await? {
                    None => Some(GONE.to_owned()),
                    Some(row) => wrong_in_request(&named, &row),
                },
                "decisions" => match proofs::decision(self.reader(), &named.name).await? {
                    None => Some(GONE.to_owned()),
                    Some(row) => {
                        if row.effective != named.effective {
                            let readings = &mut check.readings.0;
                            let first = readings.entry(named.name.clone());
                            first.or_insert_with(|| named.effective.clone());
                        }
                        self.wrong_in_decision(&named, &row)
                    }
                },
                _ => match proofs::vote_bytes(self.reader(), &named.name).await? {
                    None => Some(GONE.to_owned()),
                    Some(bytes) => (!is_of(&bytes, &named.digest)).then(|| OTHER_BYTES.to_owned()),
                },
            };
            if let Some(wrong) = wrong {
                check.bad(named.table, named.name, &wrong);
            }
        }
        Ok(())
    }

    /// Checks what the log says as a whole: how decisions read in the end, and that requests read as their
    /// decisions. `last` is the last row that was looked at.
    pub(super) async fn check_readings(&self, check: &mut Check, last: i64) -> Result<(), Fault> {
        for (name, reported) in std::mem::take(&mut check.readings).0 {
            // What came after that row is read together with the decision.
            let Some((effective, newer)) = proofs::reading(self.reader(), &name, last).await?
            else {
                continue;
            };
            if effective != newer.or(reported) {
                check.bad("decisions", name, READ_OTHERWISE);
            }
        }
        if let Some((name, decided)) = proofs::unlike_decision(self.reader()).await? {
            let reason = match decided {
                true => "it does not match its decision",
                false => "it is marked as decided, but there is no decision",
            };
            check.bad("requests", name, reason);
        }
        Ok(())
    }

    fn wrong_in_decision(&self, named: &Named, row: &ToldDecision) -> Option<String> {
        if !is_of(&row.payload, &named.digest) {
            return Some(OTHER_BYTES.to_owned());
        }
        if row.key.as_deref().unwrap_or("unsigned") != named.actor {
            return Some("its key is not the one that the audit log names".to_owned());
        }
        let said = decision_body(&row.payload);
        let version = |version: Option<i64>| version.map(|version| version.to_string());
        let by = |text: &Option<String>| -> Option<Value> {
            text.as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
        };
        let columns = [
            ("decision_id", said.decision_id == row.decision_id),
            ("verdict", said.verdict == row.verdict),
            ("origin", said.origin == row.origin),
            ("decided_by", by(&said.decided_by) == by(&row.decided_by)),
            ("message", said.message == row.message),
            ("rule_id", said.rule_id == row.rule_id),
            (
                "rule_version",
                version(said.rule_version) == version(row.rule_version),
            ),
            ("policy_digest", said.policy_digest == row.policy_digest),
            ("args_digest", said.args_digest == row.args_digest),
        ];
        if let Some(other) = other_column(&columns) {
            return Some(other);
        }
        // One that was void as it came may have no signature at all; one without its request is not judged.
        if row.effective.as_deref().is_none_or(|word| word == "void") {
            return None;
        }
        let realm = self.realm()?;
        let key: Option<RequestKey> = named.name.parse().ok();
        let holds = key.zip(row.key.as_deref().zip(row.sig.as_deref()));
        let holds = holds.is_some_and(|(key, (signer, sig))| {
            let subject = decision_subject(&key);
            verify(
                signer,
                Context::Decision,
                &realm,
                &subject,
                &row.payload,
                sig,
            )
            .is_ok()
        });
        (!holds).then(|| "its signature is not valid".to_owned())
    }
}

fn is_of(bytes: &[u8], digest: &str) -> bool {
    Sha256Digest::of_bytes(bytes).to_string() == digest
}

fn other_column(columns: &[(&str, bool)]) -> Option<String> {
    let (column, _) = columns.iter().find(|(_, same)| !same)?;
    Some(format!("{column} does not match its bytes"))
}

fn wrong_in_request(named: &Named, row: &ToldRequest) -> Option<String> {
    if !is_of(&row.raw, &named.digest) {
        return Some(OTHER_BYTES.to_owned());
    }
    if row.request_digest != named.digest {
        return other_column(&[("request_digest", false)]);
    }
    // What was rejected has nothing to be read of it.
    if row.error_code.is_some() {
        return None;
    }
    let key: RequestKey = named.name.parse().ok()?;
    let parsed = parse_request(&request_subject(&key), &row.raw).ok()?;
    let asked = &parsed.request;
    other_column(&[
        ("kind", row.kind.as_deref() == Some(asked.kind.as_str())),
        (
            "tool",
            row.tool.as_ref() == asked.tool.as_ref().map(|tool| &tool.name),
        ),
        ("risk", row.risk == asked.effective_risk().as_str()),
        ("title", row.title == asked.title),
        (
            "args_digest",
            row.args_digest == parsed.args_digest.map(|digest| digest.to_string()),
        ),
        (
            "approvals_required",
            row.approvals_required == i64::from(asked.approvals_required()),
        ),
    ])
}
