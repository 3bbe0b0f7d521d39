//! The history of one rule: who changed it, what and when.

use std::collections::BTreeMap;

use countersign_core::ops::rule_changes::{Kind, SignedChange};
use countersign_view::{IpcError, RuleArgs, RuleChangeKind, RuleChangeView, RuleChangesView};

use super::rules::workspace;
use super::suggest::operator_names;
use crate::gui::desk::Desk;
use countersign_view::secrets::hiding;
use countersign_view::window::fault;
use countersign_view::window::key_tail;

pub(crate) async fn rule_changes(desk: &Desk, args: RuleArgs) -> Result<RuleChangesView, IpcError> {
    let workspace = workspace(&args.workspace)?;
    let found = desk.app.rule_changes(&workspace, &args.id).await;
    let found = found.map_err(fault)?;
    let names = operator_names(desk).await?;
    Ok(RuleChangesView {
        changes: found.changes.iter().map(|of| view(of, &names)).collect(),
        more: found.more,
    })
}

fn view(of: &SignedChange, names: &BTreeMap<String, String>) -> RuleChangeView {
    let escape = |text: &str| hiding().escape(text);
    RuleChangeView {
        kind: match of.change.kind {
            Kind::Made => RuleChangeKind::Made,
            Kind::Known => RuleChangeKind::Known,
            Kind::Changed => RuleChangeKind::Changed,
            Kind::Removed => RuleChangeKind::Removed,
        },
        version: of.change.version,
        state: of.change.state,
        fields: of.change.fields.iter().map(|name| escape(name)).collect(),
        regret: of.change.regret,
        by: escape(names.get(&of.signer).unwrap_or(&of.by)),
        key_tail: escape(&key_tail(&of.signer)).plain(),
        at_ms: of.at.map_or(0, |at| at.0),
    }
}
