//! Suggested rules, and those that were dismissed.
//!
//! A suggestion opens in the editor, which alone saves rules.

use countersign_wire::ErrorCode;
use std::collections::BTreeMap;

use countersign_core::ops::suggest::Suggestion;
use countersign_core::policy::Enabled;
use countersign_core::policy::suggest::{APPROVALS_MIN, WINDOW_DAYS};
use countersign_view::{
    DismissArgs, IpcError, Nothing, SuggestionView, SuggestionsArgs, SuggestionsView,
};

use super::rules::{text_of, workspace};
use crate::gui::desk::Desk;
use crate::gui::view::suggestion_view;
use countersign_view::secrets::hiding;
use countersign_view::window::{fault, refuse};

/// Where the window remembers what was dismissed: ids by workspace, the oldest first.
const DISMISSED: &str = "rules.dismissed";
/// More are forgotten, the oldest first.
const KEPT: usize = 500;

type Dismissed = BTreeMap<String, Vec<String>>;

pub(crate) async fn suggestions(
    desk: &Desk,
    args: SuggestionsArgs,
) -> Result<SuggestionsView, IpcError> {
    let workspace = workspace(&args.workspace)?;
    let revision = desk.app.rules(&workspace).await.map_err(fault)?.revision;
    let seen = desk.suggested.look(&desk.app, &workspace, revision).await;
    let mut view = SuggestionsView {
        ready: seen.found.is_some(),
        looked: seen.looked,
        trouble: None,
        suggestions: Vec::new(),
        approvals_min: APPROVALS_MIN,
        window_days: WINDOW_DAYS,
    };
    match seen.found {
        None => {}
        Some(Err(why)) => view.trouble = Some(hiding().escape_lines(&why).plain()),
        Some(Ok(found)) => {
            let dismissed = dismissed(desk).await?;
            let names = operator_names(desk).await?;
            let gone = dismissed.get(workspace.as_ref());
            for of in found.iter() {
                let known = gone.is_some_and(|ids| ids.contains(&of.rule.id));
                view.suggestions.push(one(of, &names, known)?);
            }
        }
    }
    Ok(view)
}

fn one(
    of: &Suggestion,
    names: &BTreeMap<String, String>,
    dismissed: bool,
) -> Result<SuggestionView, IpcError> {
    let mut shadow = of.rule.clone();
    shadow.enabled = Enabled::Shadow;
    let text = text_of(&shadow, 0)?;
    Ok(suggestion_view(of, names, text, dismissed))
}

/// Names on the realm's list by key.
pub(super) async fn operator_names(desk: &Desk) -> Result<BTreeMap<String, String>, IpcError> {
    let listed = desk.app.operators(true).await.map_err(fault)?;
    let named = listed
        .into_iter()
        .filter_map(|one| Some((one.key, one.name?)));
    Ok(named.collect())
}

async fn dismissed(desk: &Desk) -> Result<Dismissed, IpcError> {
    let kept = desk.app.remembered(DISMISSED).await.map_err(fault)?;
    // What another version kept and this one cannot read hides nothing.
    Ok(kept
        .and_then(|kept| serde_json::from_str(&kept).ok())
        .unwrap_or_default())
}

pub(crate) async fn dismiss_suggestion(
    desk: &Desk,
    args: DismissArgs,
) -> Result<Nothing, IpcError> {
    let workspace = workspace(&args.workspace)?;
    let mut kept = dismissed(desk).await?;
    let ids = kept.entry(workspace.to_string()).or_default();
    ids.retain(|id| *id != args.id);
    if args.dismissed {
        ids.push(args.id);
        let over = ids.len().saturating_sub(KEPT);
        ids.drain(..over);
    }
    let text = serde_json::to_string(&kept)
        .map_err(|error| refuse(ErrorCode::Failed, &error.to_string()))?;
    desk.app.remember(DISMISSED, text).await.map_err(fault)?;
    Ok(Nothing {})
}
