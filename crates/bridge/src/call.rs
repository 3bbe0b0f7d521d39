//! A command that can be asked about, with its tool.

use crate::command::{GateSubject, Inbound, Payload, read};
use crate::config::{GuardedTool, Project};
use crate::digest::{request_id, span_id};
use crate::refusal::Refusal;

/// One call of a guarded tool.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) message: &'a Inbound,
    pub(crate) tool: &'a GuardedTool,
    pub(crate) payload: Payload,
    pub(crate) project: &'a str,
    pub(crate) channel: String,
    pub(crate) agent_id: &'a str,
    pub(crate) tool_call_id: &'a str,
    /// Where it has no trace context of its own.
    trace: String,
}

impl<'a> Call<'a> {
    /// `trace` is that of its turn, for one without a trace context.
    pub(crate) fn of(
        message: &'a Inbound,
        project: &'a Project,
        trace: String,
    ) -> Result<Self, Refusal> {
        let (payload, tool) = read(message, Some(project))?;
        let channel = GateSubject::parse(&message.subject).map(|of| of.channel);
        Ok(Self {
            tool,
            payload,
            project: &project.id,
            channel: channel.unwrap_or_default(),
            agent_id: message.header("CG-Agent-Id").unwrap_or_default(),
            tool_call_id: message.tool_call_id().unwrap_or_default(),
            message,
            trace,
        })
    }

    pub(crate) fn request_id(&self) -> String {
        request_id(self.project, self.tool_call_id)
    }

    pub(crate) fn turn(&self) -> Option<&'a str> {
        self.message.header("CG-Turn-Id")
    }

    /// The inbound trace context, or one that is the same at every start.
    pub(crate) fn traceparent(&self) -> String {
        match self.message.header("traceparent") {
            Some(inbound) => inbound.to_owned(),
            None => {
                let span = span_id("call", self.project, self.tool_call_id);
                format!("00-{}-{span}-01", self.trace)
            }
        }
    }

    pub(crate) fn trace_id(&self) -> String {
        let text = self.traceparent();
        text.split('-').nth(1).unwrap_or_default().to_owned()
    }

    /// The same trace and flags, with a new span.
    pub(crate) fn child_traceparent(&self) -> String {
        let text = self.traceparent();
        let parts: Vec<&str> = text.split('-').collect();
        let span = span_id("forward", self.project, self.tool_call_id);
        match parts[..] {
            [version, trace, _, flags] => format!("{version}-{trace}-{span}-{flags}"),
            _ => text,
        }
    }
}
