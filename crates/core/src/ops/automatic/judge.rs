//! Evaluation of one request by the rules in force, and the decision that follows.
//!
//! The caller knows whose turn it is, and stores the decision.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_realm::InForce;
use countersign_wire::{
    Origin, ParsedRequest, RequestKey, RuleRef, Verdict, parse_request, request_subject,
};

use crate::domain::{RequestRecord, Timestamp};
use crate::ops::bypass;
use crate::ops::rule_usage::used;
use crate::ops::writer_state::{Tx, WriterState};
use crate::policy::{
    Asked, By, Evaluation, Outcome, Rule, Says, Setting, SetupSays, Used, Uses, evaluate,
};
use crate::store::StoreError;
use crate::store::pending_evaluation::PendingEvaluation;

/// What a rule or a setup key decides.
pub(super) struct Decided {
    pub(super) id: i64,
    pub(super) key: RequestKey,
    pub(super) verdict: Verdict,
    pub(super) origin: Origin,
    pub(super) rule: RuleRef,
    pub(super) message: Option<String>,
    pub(super) seen: Option<String>,
    pub(super) in_force: Arc<InForce>,
}

/// What rules say to a request.
pub(in crate::ops) struct Judged {
    pub(in crate::ops) found: Evaluation,
    /// What a sum has reached is not known yet: it is to be judged again, in the next transaction.
    pub(in crate::ops) reads_on: bool,
}

impl Judged {
    /// Whether something approves it, or would if it were on.
    pub(super) fn approves(&self) -> bool {
        let says = self.found.matched.iter().chain(&self.found.shadows);
        matches!(self.found.outcome, Outcome::Approve(_))
            || says.into_iter().any(|(_, says)| *says == Says::Approve)
    }
}

/// What the rules in force say to a request now, with what their limits have counted.
pub(in crate::ops) fn judge(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    record: &RequestRecord,
    asked: &Asked<'_>,
    in_force: &InForce,
    in_hand: &HashMap<(String, String), Used>,
) -> Result<Judged, StoreError> {
    let agent = record.key.agent_key();
    let fresh = writer.policy_known.is_fresh();
    let (approves_off, bypass) = {
        let controls = writer.controls.read();
        (
            controls.may_approve(&agent, fresh).err(),
            bypass::standing(&writer.trusted, &controls, (&agent, record.risk), batch.now),
        )
    };
    let workspace = &record.key.workspace;
    let mut uses = Uses::new();
    let mut reads_on = false;
    loop {
        let setting = Setting {
            now: batch.now,
            approves_off,
            author_may: in_force.may_allow(&writer.trusted, workspace, record.risk),
            bypass,
            uses: &uses,
            explain: false,
            conditions: &writer.judge.conditions,
        };
        let found = evaluate(&in_force.set, asked, &setting);
        let known = uses.len();
        for place in &found.unknown_uses {
            let rule = &in_force.set.rules()[*place].rule;
            let counted = used(
                (batch.tx, batch.now),
                &writer.judge.amounts,
                workspace.as_ref(),
                rule,
            )?;
            reads_on |= counted.reads_on;
            let mut used = counted.used;
            let name = (workspace.to_string(), rule.id.clone());
            if let Some(more) = in_hand.get(&name) {
                used.count += more.count;
                used.sum += more.sum;
            }
            uses.insert(rule.id.clone(), used);
        }
        if uses.len() == known {
            return Ok(Judged { found, reads_on });
        }
    }
}

/// The decision that follows from it; none where a person is asked.
pub(super) fn decision(
    writer: &WriterState,
    record: &RequestRecord,
    parsed: &ParsedRequest,
    (in_force, found): (&Arc<InForce>, &Evaluation),
    now: Timestamp,
) -> Option<Decided> {
    let rules = in_force.set.rules();
    let reference = |rule: &Rule| RuleRef {
        id: rule.id.clone(),
        version: rule.version,
        name: Some(rule.name.clone()),
    };
    let (verdict, origin, rule, message) = match found.outcome {
        Outcome::Ask { .. } => return None,
        Outcome::Approve(By::Rule(place)) => (
            Verdict::Approve,
            Origin::Rule,
            reference(&rules[place].rule),
            None,
        ),
        Outcome::Approve(By::SetupKey) => {
            let key = parsed
                .request
                .confirm
                .as_ref()
                .and_then(|of| of.setup_key.clone())?;
            let Some(SetupSays::Passes { revision, value }) = &found.setup else {
                return None;
            };
            let name = Some(format!("{key} = {value}"));
            let rule = RuleRef {
                id: key,
                version: *revision,
                name,
            };
            (Verdict::Approve, Origin::SetupKey, rule, None)
        }
        Outcome::Approve(By::Bypass) => {
            let controls = writer.controls.read();
            let rule = bypass::reference(&controls, &record.key.agent_key(), now)?;
            (Verdict::Approve, Origin::Rule, rule, None)
        }
        Outcome::Deny(place) => {
            let rule = &rules[place].rule;
            let message = rule.message.clone();
            let message = message.unwrap_or_else(|| format!("Denied by rule {}.", rule.name));
            (Verdict::Deny, Origin::Rule, reference(rule), Some(message))
        }
    };
    Some(Decided {
        id: record.id,
        key: record.key.clone(),
        verdict,
        origin,
        rule,
        message,
        seen: record.args_digest.clone(),
        in_force: Arc::clone(in_force),
    })
}

/// A request that came in an earlier transaction.
pub(super) fn read(record: &RequestRecord, row: &PendingEvaluation) -> Option<Arc<ParsedRequest>> {
    let parsed = parse_request(&request_subject(&record.key), row.raw.as_deref()?);
    parsed.ok().map(Arc::new)
}

/// Whether a bypass of its agent is active.
pub(super) fn is_bypassed(writer: &WriterState, record: &RequestRecord, now: Timestamp) -> bool {
    let agent = record.key.agent_key();
    writer.controls.read().bypass_of(&agent, now).is_some()
}
