//! The way to the people: one gate, opened when it is first needed.

use std::path::PathBuf;
use std::time::Duration;

use countersign_sdk::{Ask, Decision, Gate, GateError, HelloTool, Introduction, Verdict};
use countersign_wire::{Risk, ToolOrigin, args_digest};
use serde_json::{Map, json};
use tokio::sync::Mutex;

use crate::answer::NO_REPORT;
use crate::forms::Form;
use crate::message::Call;
use crate::mirrored;
use crate::place::Place;
use crate::relay::Ended;
use crate::span::CallSpan;
use crate::tools::Tool;

/// Who asks, and how long.
#[derive(Debug, Clone)]
pub struct Asker {
    /// The `agent.json`.
    pub enrolment: PathBuf,
    /// The name of the server, as the person knows it.
    pub server: String,
    /// What asks: the framework in hello.
    pub framework: &'static str,
    /// How long a call waits for an answer.
    pub timeout: Duration,
    /// How long a call holds its client up, and the folder in which its request goes on afterwards.
    pub hold: Option<(Duration, PathBuf)>,
    /// Which server it is.
    pub place: Place,
}

pub(crate) struct Desk {
    pub(crate) asker: Asker,
    open: Mutex<Option<Open>>,
}

struct Open {
    gate: Gate,
    tools: Vec<HelloTool>,
}

impl Desk {
    pub(crate) fn new(asker: Asker) -> Self {
        let open = Mutex::new(None);
        Self { asker, open }
    }

    /// The gate. Connects where that did not succeed before; its hello names the tools.
    pub(crate) async fn gate(&self, tools: Vec<HelloTool>) -> Result<Gate, GateError> {
        let mut open = self.open.lock().await;
        if let Some(open) = &*open {
            return Ok(open.gate.clone());
        }
        let mut builder = Gate::builder(self.asker.enrolment.clone());
        builder = builder.introduction(self.introduction(&tools));
        if let Some((_, journal)) = &self.asker.hold {
            builder = builder.journal(journal);
        }
        let gate = builder.connect().await?;
        *open = Some(Open {
            gate: gate.clone(),
            tools,
        });
        Ok(gate)
    }

    /// Says hello with these tools, unless that was said.
    pub(crate) async fn introduce(&self, tools: Vec<HelloTool>) {
        if let Err(error) = self.gate(tools.clone()).await {
            tracing::warn!("no hello: {error}");
            return;
        }
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_mut().filter(|open| open.tools != tools) {
            match open.gate.introduce(&self.introduction(&tools)).await {
                Ok(()) => open.tools = tools,
                Err(error) => tracing::warn!("no hello: {error}"),
            }
        }
    }

    fn introduction(&self, tools: &[HelloTool]) -> Introduction {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Introduction {
            framework: Some((self.asker.framework.to_owned(), version)),
            tools: tools.to_vec(),
            ..Introduction::default()
        }
    }

    /// Takes back what waits, and sends what is to be sent.
    pub(crate) async fn close(&self) {
        if let Some(open) = self.open.lock().await.take()
            && !open.gate.close().await
        {
            tracing::warn!("not everything was sent to the console before the time limit");
        }
    }

    pub(crate) fn call(&self, call: &Call, tool: Option<&Tool>, risk: Risk) -> Ask {
        let mut allowed = vec![Verdict::Approve, Verdict::Deny, Verdict::Skip];
        let schema = tool.and_then(|tool| tool.args_schema.as_ref());
        if !schema.is_some_and(mirrored::wanted) {
            allowed.push(Verdict::Modify);
        }
        if tool.is_some_and(|tool| !tool.typed) {
            allowed.push(Verdict::Respond);
        }
        let mut ask = Ask::tool(&call.name, call.arguments.clone())
            .origin(ToolOrigin::Mcp)
            .namespace(&self.asker.server)
            .call_id(call.id.to_string())
            .title(format!(
                "MCP server {}: {}",
                self.asker.server, self.asker.place.shown
            ))
            .risk(risk)
            .allow(allowed)
            .timeout(self.asker.timeout);
        // What the person may want to see beside the arguments: the rest that goes to the server.
        let others = call.others.iter().filter(|(name, _)| *name != "_meta");
        let others: Map<_, _> = others.map(|(k, v)| (k.clone(), v.clone())).collect();
        if !others.is_empty() {
            ask = ask.native(others);
        }
        let Some(tool) = tool else { return ask };
        if let Some(description) = &tool.description {
            ask = ask.describe(description);
        }
        if let Some(schema) = &tool.args_schema {
            ask = ask.args_schema(schema.clone());
        }
        match tool.effects {
            Some(effects) => ask.effects(effects),
            None => ask,
        }
    }

    /// Names the request of this call for a later one of the same tool of the same server with the same arguments.
    pub(crate) fn key(&self, call: &Call, place: usize) -> String {
        let (server, behind) = (&self.asker.server, &self.asker.place.digest);
        let same = json!([server, behind, call.name, call.arguments, place]);
        // What has no canonical form is not asked in the end.
        let digest = args_digest(&same).map_or_else(|_| same.to_string(), |digest| digest.hex());
        format!("mcp-proxy/{digest}")
    }

    /// The desk's words are the title, the server's are marked as its own.
    pub(crate) fn form(&self, form: &Form) -> Ask {
        Ask::form(form.heading(&self.asker.server), form.schema.clone())
            .explain(format!("The server writes: {}", form.message))
            .allow([Verdict::Respond, Verdict::Deny, Verdict::Skip])
            .timeout(self.asker.timeout)
    }
}

/// A call that runs, and what is shown when it is over.
pub(crate) struct Outstanding {
    pub(crate) decision: Decision,
    pub(crate) span: CallSpan,
}

impl Outstanding {
    /// Reports how the call ended.
    pub(crate) async fn report(self, ended: Ended) {
        self.span.ended(ended.failed.as_deref());
        let pending = ended.notice_pending.then(|| "edit_notice".to_owned());
        let sent = match ended.failed {
            Some(kind) if kind == NO_REPORT => self.decision.unreported().await,
            Some(kind) => self.decision.failed(kind).await,
            None => {
                self.decision
                    .executed_degraded(&ended.arguments, pending)
                    .await
            }
        };
        late(&self.decision, sent);
    }

    /// The approval came too late: the call does not run.
    pub(crate) async fn not_started(self) {
        self.span.end("cancelled");
        let sent = self.decision.refused("not_started").await;
        late(&self.decision, sent);
    }
}

fn late(decision: &Decision, sent: Result<(), GateError>) {
    if let Err(error) = sent {
        tracing::warn!(request = %decision.request(), "the receipt is late: {error}");
    }
}
