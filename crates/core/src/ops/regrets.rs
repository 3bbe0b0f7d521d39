//! An automatic decision that a person calls wrong: what decided it is suspended.
//!
//! The decision itself is final, and a person's decision cannot be regretted.

use std::time::Duration;

use countersign_wire::RequestKey;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bypass;
use super::rules::RulesChange;
use super::setup::SetupChange;
use crate::Fault;
use crate::policy::Enabled;
use crate::policy::simulate::Flip;
use crate::runtime::App;
use crate::store::request_list::RequestSummary;

/// Regrets of one rule that are kept whole; older ones are only counted.
const KEPT: usize = 20;
/// The longest reason, in bytes.
pub const REASON_MAX: usize = 1_000;

/// One decision that a person called wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regret {
    /// `WS/AGENT/ID` of the request.
    pub request: String,
    /// Version of the rule that decided it.
    pub version: u64,
    /// The operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The operator's name.
    pub by: String,
    /// When, by the operator's console: RFC 3339.
    pub at: String,
}

/// Every regret of one rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regrets {
    /// How many there were.
    pub count: u64,
    /// The last 20, oldest first.
    pub last: Vec<Regret>,
}

impl Regrets {
    /// Counts a regret, each request once.
    pub(super) fn add(&mut self, regret: Regret) {
        if self
            .last
            .iter()
            .any(|known| known.request == regret.request)
        {
            return;
        }
        self.count = self.count.saturating_add(1);
        self.last.push(regret);
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
    }
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspended {
    /// A rule: it is off.
    Rule,
    /// A setup key: it is bound no more.
    SetupKey,
    /// A bypass: it is over.
    Bypass,
}

/// What is to happen where the rule goes that overrode an approval of what people denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// They are looked for, so long at most, and refuse the regret.
    Refuse(Duration),
    /// A person was shown them.
    Accept,
}

/// What a regret came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Regretting {
    /// It is suspended.
    Done(Regretted),
    /// Nothing was changed: people denied these, and the rules that are left would let them run. None where that took
    /// too long to find out.
    Denied(Option<Vec<Flip>>),
}

/// A regret that the bus has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regretted {
    /// What was suspended.
    pub suspended: Suspended,
    /// The rule's id, the setup key, or the bypass's key in the shared policy.
    pub id: String,
    /// The version that decided.
    pub version: u64,
    /// Revision of the changed value in the shared policy.
    pub revision: u64,
}

impl App {
    /// Marks what a rule, a setup key or a bypass decided as wrong: the rule is switched off, the key's binding is
    /// taken away, the bypass ends. Returns once the bus has stored it. The decision itself is final. A rule that was
    /// changed since is suspended all the same. An approve goes off without a question; a rule that denies or asks may
    /// have overridden an approval.
    ///
    /// # Errors
    /// `ErrorCode::InvalidArgs` for what was not decided automatically and for a reason beyond [`REASON_MAX`];
    /// `ErrorCode::NotFound` for a rule or binding that is gone; `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`.
    pub async fn regret(
        &self,
        line: &RequestSummary,
        reason: Option<String>,
        denied: Denied,
    ) -> Result<Regretting, Fault> {
        let key = line
            .key()
            .ok_or_else(|| Fault::unknown(&line.request_id, "history"))?;
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        if reason.as_ref().is_some_and(|of| of.len() > REASON_MAX) {
            let why = format!("a reason has at most {REASON_MAX} bytes");
            return Err(Fault::invalid_args(why));
        }
        let (origin, id) = match (line.state.as_str(), &line.origin, &line.rule_id) {
            ("decided", Some(origin), Some(id)) => (origin.as_str(), id.clone()),
            _ => ("", String::new()),
        };
        let version = u64::try_from(line.rule_version.unwrap_or(0)).unwrap_or(0);
        let (suspended, revision) = match origin {
            "rule" if id == bypass::rule_id(&key.agent_key()) => {
                let set = self.end_bypass(&key.agent_key()).await?;
                (Suspended::Bypass, set.revision)
            }
            "rule" => {
                if let Denied::Refuse(limit) = denied {
                    let off = RulesChange::Enable(id.clone(), Enabled::Off);
                    let flips = self.denied_flips(&key.workspace, &off, limit).await?;
                    if !flips.as_ref().is_some_and(Vec::is_empty) {
                        return Ok(Regretting::Denied(flips));
                    }
                }
                let revision = self
                    .suspend_rule(&key, &id, version, reason.clone())
                    .await?;
                (Suspended::Rule, revision)
            }
            "setup_key" => {
                let change = SetupChange::Unbind(id.clone());
                let revision = self.change_setup(&key.agent_key(), &change).await?;
                (Suspended::SetupKey, revision)
            }
            _ => {
                return Err(Fault::invalid_args(format!(
                    "{key} was not decided by a rule, a setup key or a bypass; there is nothing to suspend"
                )));
            }
        };
        let detail = json!({
            "suspended": suspended, "id": id, "version": version, "revision": revision,
        });
        self.record("regret", key.to_string(), detail).await?;
        Ok(Regretting::Done(Regretted {
            suspended,
            id,
            version,
            revision,
        }))
    }

    async fn suspend_rule(
        &self,
        key: &RequestKey,
        id: &str,
        version: u64,
        reason: Option<String>,
    ) -> Result<u64, Fault> {
        let regret = Regret {
            request: key.to_string(),
            version,
            reason,
            by: self.identity().operator.clone(),
            at: self.now().rfc3339(),
        };
        let change = RulesChange::Regret(id.to_owned(), regret);
        Ok(self.change_rules(&key.workspace, &change).await?.revision)
    }
}
