//! Projects `CS_AGENTS`: what agents say of themselves.
//!
//! Refuses to lose a hello for one bad part of it; of one that cannot be read at all the agent is shown
//! with the reason.

use std::collections::HashMap;

use countersign_wire::{AgentKey, HelloReport, Sha256Digest, Stream};
use serde_json::json;

use super::incoming::IncomingHello;
use super::ledger::{Batch, Ledger};
use super::reports::set_aside;
use crate::store::agent_instances::Heard;
use crate::store::agents::NewHello;
use crate::store::tools::Definitions;
use crate::store::{StoreError, agent_instances, agents, bus_stream, tools};

/// Stores a batch of the stream with its position.
pub(crate) async fn apply(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
    messages: &[IncomingHello],
) -> Result<(), StoreError> {
    let (epoch, next) = ledger.place(batch.tx, Stream::Agents).await?;
    let known = messages.partition_point(|message| message.at.seq < next);
    let messages = &messages[known..];
    let Some(last) = messages.last().map(|message| message.at) else {
        return Ok(());
    };
    // Of one agent only the last one counts: the stream itself keeps no other.
    let mut newest: HashMap<&AgentKey, (&IncomingHello, Result<&HelloReport, &str>)> =
        HashMap::new();
    for message in messages {
        match &message.hello {
            Ok((agent, report)) => {
                newest.insert(agent, (message, Ok(report)));
                batch.record(
                    agent.to_string(),
                    "hello",
                    agent.to_string(),
                    json!({
                        "payload_digest": Sha256Digest::of_bytes(&message.raw).to_string(),
                    }),
                );
            }
            Err((agent, why)) => {
                let place = (message.at, message.subject.as_str(), message.raw.as_slice());
                set_aside(batch, Stream::Agents, &epoch, place, why).await?;
                if let Some(agent) = agent {
                    newest.insert(agent, (message, Err(why)));
                }
            }
        }
    }
    for (agent, (message, report)) in newest {
        let report = match report {
            Ok(report) => report,
            Err(why) => {
                agents::note_unreadable(batch.tx, agent, why, message.at.stamp).await?;
                tools::note_unread(batch.tx, agent, message.at.stamp).await?;
                continue;
            }
        };
        introduce(ledger, batch, agent, (message, report)).await?;
        let declared = report.hello.setup_schema.as_ref().map(ToString::to_string);
        ledger.judge.policies.declared(agent, declared.as_deref());
    }
    bus_stream::advance(
        batch.tx,
        Stream::Agents.name(),
        &epoch,
        last.seq + 1,
        last.stamp,
    )
    .await?;
    ledger.advanced(Stream::Agents, &epoch, last.seq + 1);
    batch.reached(Stream::Agents, &epoch, last.seq + 1);
    batch.gathered.status = true;
    Ok(())
}

async fn introduce(
    ledger: &Ledger,
    batch: &mut Batch<'_>,
    agent: &AgentKey,
    (message, report): (&IncomingHello, &HelloReport),
) -> Result<(), StoreError> {
    let at = message.at.stamp;
    let definitions = Definitions {
        all: report.hello.tools.is_some().then_some(&report.definitions),
        at,
        // The stream keeps one hello of an agent: what an earlier one said is not known.
        missed: ledger.joined_at.is_none_or(|joined_at| at < joined_at),
        unread: report.tools_unread,
    };
    for change in tools::replace(batch.tx, agent, &definitions).await? {
        let detail = json!({ "approved_digest": change.approved, "def_digest": change.now });
        batch.record(agent.to_string(), "tool_changed", agent.to_string(), detail);
    }
    let hello = &report.hello;
    let text = |value: &serde_json::Value| value.to_string();
    let credentials = hello
        .credentials
        .as_ref()
        .map(|list| json!(list).to_string());
    let new = NewHello {
        framework: hello.agent.framework.as_deref(),
        raw: &message.raw,
        setup_schema: hello.setup_schema.as_ref().map(text),
        credentials,
        at,
    };
    agents::note_hello(batch.tx, agent, &new).await?;
    let heard = Heard {
        agent: agent.clone(),
        instance_id: hello.instance_id.clone().unwrap_or_default(),
        at,
    };
    agent_instances::note(batch.tx, &[heard]).await?;
    Ok(())
}
