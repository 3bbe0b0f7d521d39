//! Calls that people denied, compared with a change of the rules.
//!
//! Such a change needs the operator's word that it may contradict them.

use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::rules::RulesChange;
use countersign_core::policy::simulate::Flip;
use countersign_wire::{ErrorCode, WorkspaceName};

use crate::cli::failure::Failure;
use crate::cli::output::plain;

/// A million requests are judged in about this time.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// Calls that are named; the others are counted.
const NAMED: usize = 5;

/// Refuses a change after which the rules approve what a person denied and they did not approve before.
pub(super) async fn refuse(
    app: &App,
    workspace: &WorkspaceName,
    change: &RulesChange,
) -> Result<(), Failure> {
    match app.denied_flips(workspace, change, LIMIT).await? {
        Some(flips) if flips.is_empty() => Ok(()),
        flips => Err(refusal(flips.as_deref())),
    }
}

/// Why a change is refused; `flips` are none where the search took too long.
pub(super) fn refusal(flips: Option<&[Flip]>) -> Failure {
    let Some(flips) = flips else {
        return Failure::new(
            ErrorCode::VerdictNotAllowed,
            format!(
                "could not check within {} s whether these rules would have approved calls that people denied; see `countersign rules simulate FILE`, then add --accept-flips",
                LIMIT.as_secs()
            ),
        );
    };
    let named = flips.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|flip| {
            format!(
                "{} (rule {})",
                plain(&flip.request_id),
                plain(&flip.rule_id)
            )
        })
        .collect();
    let more = match flips.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Failure::new(
        ErrorCode::VerdictNotAllowed,
        format!(
            "would have approved calls that a person denied: {}{more}. Nothing was changed; check with `countersign rules simulate FILE`, then narrow the rule or add --accept-flips",
            named.join(", ")
        ),
    )
}
