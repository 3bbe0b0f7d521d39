//! The reasons why a request asks or was decided, and the matrix of tools by risks.

use countersign_view::{IpcError, KeyArgs, MatrixCell, MatrixRow, MatrixView, RulesArgs, WhyView};
use countersign_wire::escape;

use super::rules::workspaces;
use crate::gui::desk::Desk;
use crate::gui::view::{why_decided, why_now, words_of};
use countersign_view::secrets::hiding;
use countersign_view::window::fault;

pub(crate) async fn why(desk: &Desk, args: KeyArgs) -> Result<WhyView, IpcError> {
    let story = desk.shown(&args.key).await?;
    let now = desk.app.why(&story.line).await.map_err(fault)?;
    let mut decided = why_decided(&story.line, story.decision.as_ref());
    if let Some(decided) = &mut decided
        && let Some(digest) = &decided.policy_digest
        && let Some(rule) = &decided.rule
    {
        let body = desk
            .app
            .policy_version(&digest.plain())
            .await
            .map_err(fault)?;
        decided.words = body.and_then(|body| words_of(&body, &rule.plain()));
    }
    Ok(WhyView {
        now: now.map(why_now),
        decided,
    })
}

pub(crate) async fn matrix(desk: &Desk, args: RulesArgs) -> Result<MatrixView, IpcError> {
    let (workspace, _) = workspaces(desk, args.workspace).await?;
    let found = desk.app.matrix(&workspace).await.map_err(fault)?;
    let rows = found.rows.into_iter().map(|row| MatrixRow {
        agent: row.agent,
        tool: hiding().escape(&row.tool),
        risk: row.risk,
        cells: row
            .cells
            .into_iter()
            .map(|cell| MatrixCell {
                outcome: cell.outcome,
                rule: cell.rule,
                bypass: cell.bypass,
                approvals: cell.approvals,
                depends: cell.depends,
                held: cell.held.map(|held| escape(&held.to_string())),
            })
            .collect(),
    });
    Ok(MatrixView {
        workspace: workspace.to_string(),
        risks: countersign_core::policy::matrix::RISKS.to_vec(),
        rows: rows.collect(),
        more: u64::try_from(found.more).unwrap_or(u64::MAX),
        policy_digest: found.policy_digest,
    })
}
