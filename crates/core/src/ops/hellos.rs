//! Projects `CS_AGENTS`: what agents say about themselves.
//!
//! One bad part leaves the rest of a hello valid; where it cannot be read at all, the agent is shown with the reason.

use std::collections::HashMap;

use countersign_wire::{AgentKey, HelloReport, Sha256Digest, Stream};
use serde_json::json;

use super::incoming::IncomingHello;
use super::reports::set_aside;
use super::writer_state::{Tx, WriterState};
use crate::domain::Timestamp;
use crate::store::agent_instances::Heard;
use crate::store::agents::NewHello;
use crate::store::tools::Definitions;
use crate::store::{StoreError, agent_instances, agents, tools};

/// Hellos of one agent in one batch that are looked at one by one.
const LOOKED_AT: usize = 8;

/// What an agent said in one batch.
#[derive(Default)]
struct AgentHellos<'a> {
    /// The readable hellos that list other tools than the one before, in their order.
    readable: Vec<(&'a IncomingHello, &'a HelloReport)>,
    /// Whether there were more, which may have defined any tool otherwise.
    left_out: bool,
    /// The last one, if it could not be read: why.
    unreadable: Option<&'a str>,
    /// The stamp of the last one that could not be read.
    unread_at: Option<Timestamp>,
}

impl<'a> AgentHellos<'a> {
    fn next(&mut self, message: &'a IncomingHello, report: &'a HelloReport) {
        self.unreadable = None;
        let tools = |report: &'a HelloReport| {
            let named = report.hello.tools.is_some() || report.tools_unread;
            named.then_some((&report.definitions, report.tools_unread))
        };
        if let Some(last) = self.readable.last_mut() {
            let same = tools(last.1) == tools(report);
            let credentials =
                report.hello.credentials.is_some() || last.1.hello.credentials.is_none();
            if same && credentials {
                *last = (message, report);
                return;
            }
        }
        if self.readable.len() == LOOKED_AT {
            self.readable.pop();
            self.left_out = true;
        }
        self.readable.push((message, report));
    }

    fn unread(&mut self, message: &'a IncomingHello, why: &'a str) {
        self.unreadable = Some(why);
        self.unread_at = Some(message.at.stamp);
    }
}

fn has_gap(next: i64, mut sequences: impl Iterator<Item = i64>) -> bool {
    let mut expected = next;
    sequences.any(|sequence| {
        let missing = sequence != expected;
        expected = sequence + 1;
        missing
    })
}

/// Stores a batch of the stream with its position.
pub(crate) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    messages: &[IncomingHello],
) -> Result<(), StoreError> {
    let Some(unread) = writer.unread(batch.tx, messages)? else {
        return Ok(());
    };
    let mut heard: HashMap<&AgentKey, AgentHellos<'_>> = HashMap::new();
    // The stream keeps one hello of an agent: one that is replaced before it is delivered is never read, and the one
    // that replaced it was stored by now.
    if has_gap(unread.next, unread.iter().map(|message| message.at.seq)) {
        let now = batch.now.max(Timestamp(unread.last.stamp.0 + 1));
        writer.hellos_missed_before = writer.hellos_missed_before.max(Some(now));
    }
    for message in *unread {
        match &message.hello {
            Ok((agent, report)) => {
                heard.entry(agent).or_default().next(message, report);
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
                set_aside(batch, Stream::Agents, &unread.epoch, place, why)?;
                if let Some(agent) = agent {
                    heard.entry(agent).or_default().unread(message, why);
                }
            }
        }
    }
    for (agent, said) in heard {
        if let Some(at) = said.unread_at {
            tools::note_unread(batch.tx, agent, at)?;
        }
        let count = said.readable.len();
        for (place, hello) in said.readable.into_iter().enumerate() {
            let after_others = said.left_out && place + 1 == count;
            introduce(writer, batch, agent, hello, after_others)?;
            let declared = hello.1.hello.setup_schema.as_ref();
            let declared = declared.map(ToString::to_string);
            writer.judge.registers.declared(agent, declared.as_deref());
        }
        if let (Some(why), Some(at)) = (said.unreadable, said.unread_at) {
            agents::note_unreadable(batch.tx, agent, why, at)?;
        }
    }
    writer.projected(batch, unread)?;
    batch.effects.status = true;
    Ok(())
}

fn introduce(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    agent: &AgentKey,
    (message, report): (&IncomingHello, &HelloReport),
    after_others: bool,
) -> Result<(), StoreError> {
    let at = message.at.stamp;
    let definitions = Definitions {
        all: report.hello.tools.is_some().then_some(&report.definitions),
        at,
        now: batch.now,
        // The stream keeps one hello of an agent: what an earlier one said is not known.
        missed: writer.hellos_missed_before.is_none_or(|before| at < before)
            || writer
                .bus
                .as_ref()
                .is_none_or(|bus| message.at.seq <= bus.hellos_stored),
        unread: report.tools_unread || after_others,
    };
    for change in tools::replace(batch.tx, agent, &definitions)? {
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
    agents::note_hello(batch.tx, agent, &new)?;
    if hello.one_shot == Some(true) {
        return Ok(());
    }
    let heard = Heard {
        agent: agent.clone(),
        instance_id: hello.instance_id.clone().unwrap_or_default(),
        at,
    };
    agent_instances::note(batch.tx, &[heard])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_removed_before_it_was_read_leaves_a_gap() {
        for (next, sequences, gap) in [
            (1, &[1, 2, 3][..], false),
            (4, &[4], false),
            (4, &[5], true),
            (1, &[1, 2, 4], true),
            (1, &[], false),
        ] {
            let found = has_gap(next, sequences.iter().copied());
            assert_eq!(found, gap, "{next} {sequences:?}");
        }
    }
}
