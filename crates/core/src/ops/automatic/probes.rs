//! Probes: calls of the reserved tool that ask whether a gate holds. Every console denies them at once, before any rule.

use countersign_wire::{Origin, Verdict};
use tokio::sync::oneshot;

use super::super::decide;
use super::AT_ONCE;
use crate::domain::{Authority, State};
use crate::ops::job::DecideCommand;
use crate::ops::writer_state::{Tx, WriterState};
use crate::store::{StoreError, requests};

const TOOL: &str = "countersign_probe";

/// Whether a call of this tool is a probe.
pub(in crate::ops) fn is_probe(tool: Option<&str>) -> bool {
    tool == Some(TOOL)
}

/// Denies those that came, and those that waited when the past was read. Rules see none of them.
pub(super) fn deny(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    let judge = &mut writer.judge;
    let mut ids = Vec::new();
    judge.arrived.retain(|(id, parsed)| {
        let tool = parsed.request.tool.as_ref();
        let probe = is_probe(tool.map(|tool| tool.name.as_str()));
        if probe {
            ids.push(*id);
        }
        !probe
    });
    if judge.owed == Some(0) {
        ids.extend(requests::waiting_for(batch.tx, TOOL, AT_ONCE)?);
    }
    // A pending or retired key would put a void decision there, in the place of another console's answer.
    if ids.is_empty() || !writer.counts(writer.identity.auto_key().as_str()) {
        return Ok(());
    }
    ids.sort_unstable();
    ids.dedup();
    let mut commands = Vec::new();
    for record in requests::records_by_id(batch.tx, &ids)? {
        if record.state != State::Pending || record.deadline_at <= batch.now {
            continue;
        }
        let command = DecideCommand {
            message: Some("probe".to_owned()),
            authority: Authority::Console,
            origin: Origin::System,
            ..DecideCommand::by_operator(record.key, Verdict::Deny)
        };
        // Nobody waits for the answer: losing this race is expected.
        let (reply, _) = oneshot::channel();
        commands.push((Box::new(command), reply));
    }
    let settlements = writer.settlements.clone();
    decide::apply(writer, batch, &settlements, commands)
}
