//! `countersign mcp`: the tool that Claude Code asks for permission (`--permission-prompt-tool`).
//!
//! Refuses whatever it cannot read; only an answer of a person or a rule allows.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use countersign_sdk::{Ask, DecisionVerdict, GateError, Verdict, refusal_text};
use countersign_wire::{Risk, ToolOrigin, mcp_server};
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{stdin, stdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer;
use crate::desk::{Asker, Desk};
use crate::id::Id;
use crate::lines::{Line, lines, write};
use crate::message::{self, Call, LARGEST, Refused, Sent};
use crate::wait::{self, Outcome};

const TOOL: &str = "approve";
/// Revisions that begin with `initialize`, the newest first.
const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const UNKNOWN_METHOD: i64 = -32601;
const QUEUE: usize = 64;

struct Tool {
    desk: Desk,
    to_client: mpsc::Sender<Bytes>,
    /// The client's version, for the cards.
    version: Mutex<Option<String>>,
    waiting: Mutex<HashMap<Id, CancellationToken>>,
    tasks: TaskTracker,
}

/// Serves the tool on standard input and output until the client leaves or `stop` comes; what waits is then taken back.
///
/// Errors: standard output cannot be written.
pub async fn permission(asker: Asker, stop: impl Future<Output = ()>) -> io::Result<()> {
    let (to_client, messages) = mpsc::channel(QUEUE);
    let tool = Arc::new(Tool {
        desk: Desk::new(asker),
        to_client,
        version: Mutex::new(None),
        waiting: Mutex::new(HashMap::new()),
        tasks: TaskTracker::new(),
    });
    let over = CancellationToken::new();
    let written = tokio::spawn(write(messages, stdout(), over.clone()));
    let read = async {
        let mut lines = lines(stdin(), LARGEST);
        while let Some(Ok(line)) = lines.next().await {
            match line {
                Line::Whole(line) => tool.take(&line).await,
                Line::TooLong => tool.send(message::too_long()).await,
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = stop => {}
    }
    for (_, gone) in tool.waiting.lock().drain() {
        gone.cancel();
    }
    tool.tasks.close();
    tool.tasks.wait().await;
    tool.desk.close().await;
    over.cancel();
    written.await.map_err(io::Error::other)?
}

impl Tool {
    async fn send(&self, message: Bytes) {
        // Fails only where nobody reads any more.
        let _ = self.to_client.send(message).await;
    }

    async fn take(self: &Arc<Self>, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match message::read(line) {
            Err(refused) => self.send(unread(line, &refused)).await,
            Ok(Sent::Call(call)) => {
                let gone = CancellationToken::new();
                self.waiting.lock().insert(call.id.clone(), gone.clone());
                self.tasks.spawn(Arc::clone(self).answer(*call, gone));
            }
            Ok(Sent::Cancelled(id)) => {
                if let Some(gone) = self.waiting.lock().remove(&id) {
                    gone.cancel();
                }
            }
            Ok(_) => {
                let message = countersign_wire::json_value(line).unwrap_or_default();
                if let (Some(id), Some(method)) = (message.get("id"), message.get("method")) {
                    self.send(self.other(id, method, &message)).await;
                }
            }
        }
    }

    /// The answer to a request that is no call.
    fn other(&self, id: &Value, method: &Value, message: &Value) -> Bytes {
        match method.as_str() {
            Some("initialize") => {
                let version = message.pointer("/params/clientInfo/version");
                *self.version.lock() = version.and_then(Value::as_str).map(str::to_owned);
                let asked = message.pointer("/params/protocolVersion");
                let known = REVISIONS.iter().find(|known| asked == Some(&json!(known)));
                let server = json!({"name": "countersign", "version": env!("CARGO_PKG_VERSION")});
                answer::result_of(
                    id,
                    &json!({
                        "protocolVersion": known.unwrap_or(&REVISIONS[0]),
                        "capabilities": {"tools": {}},
                        "serverInfo": server,
                    }),
                )
            }
            Some("ping") => answer::result_of(id, &json!({})),
            Some("tools/list") => answer::result_of(id, &json!({"tools": [described()]})),
            _ => answer::error(&Refused {
                id: id.clone(),
                code: UNKNOWN_METHOD,
                why: "this method is not known here".to_owned(),
            }),
        }
    }

    async fn answer(self: Arc<Self>, call: Call, gone: CancellationToken) {
        let reported = match self.decided(&call, &gone).await {
            Some(reported) => reported,
            None => return,
        };
        if self.waiting.lock().remove(&call.id).is_some() {
            self.send(answer::text(&call, &reported.to_string())).await;
        }
    }

    async fn decided(&self, call: &Call, gone: &CancellationToken) -> Option<Value> {
        let name = call.arguments.get("tool_name").and_then(Value::as_str);
        let input = call
            .arguments
            .get("input")
            .filter(|input| input.is_object());
        let (true, Some(name), Some(input)) = (call.name == TOOL, name, input) else {
            return Some(deny(
                "nothing was run: the question for permission could not be read",
            ));
        };
        let gate = tokio::select! {
            biased;
            () = gone.cancelled() => return None,
            gate = self.desk.gate(Vec::new()) => gate,
        };
        let gate = match gate {
            Ok(gate) => gate,
            Err(error) => return Some(deny(&refusal_text(name, Err(&error)))),
        };
        let ask = self.ask(name, input, call);
        let token = call.progress_token();
        let outcome = wait::answer(&gate, ask, token, pending(), gone, &self.to_client).await;
        let Outcome::Answered(outcome) = outcome else {
            return None;
        };
        let decision = match outcome.as_ref() {
            Ok(decision) => decision,
            Err(error) => return Some(deny(&refusal_text(name, Err::<_, &GateError>(error)))),
        };
        if let Some(args) = decision.args().filter(|_| decision.allowed()) {
            return Some(json!({"behavior": "allow", "updatedInput": args}));
        }
        let mut reported = deny(&refusal_text(name, Ok(decision)));
        if *decision.verdict() == DecisionVerdict::Terminate {
            reported["interrupt"] = true.into();
        }
        Some(reported)
    }

    fn ask(&self, name: &str, input: &Value, call: &Call) -> Ask {
        let version = self.version.lock().clone();
        let mut ask = Ask::tool(name, input.clone())
            .risk(Risk::High)
            .framework("claude-code", version.unwrap_or_default())
            .allow([
                Verdict::Approve,
                Verdict::Modify,
                Verdict::Deny,
                Verdict::Skip,
                Verdict::Terminate,
            ])
            // Claude Code tells neither us what became of the call nor its model that it was changed.
            .degraded(|decision| {
                let words: &[&str] = match decision.verdict {
                    DecisionVerdict::Approve => &["no_execution_report"],
                    DecisionVerdict::Modify => &["no_execution_report", "edit_notice"],
                    _ => &[],
                };
                words.iter().map(|&word| word.to_owned()).collect()
            })
            .timeout(self.desk.asker.timeout);
        if let Some(id) = call.arguments.get("tool_use_id").and_then(Value::as_str) {
            ask = ask.call_id(id);
        }
        if let Some(reason) = input.get("description").and_then(Value::as_str) {
            ask = ask.explain(reason);
        }
        // Claude Code's name of another server's tool.
        match mcp_server(name) {
            Some(server) => ask.origin(ToolOrigin::Mcp).namespace(server),
            None => ask,
        }
    }
}

/// What cannot be read is denied where it may be a call, and an error else.
fn unread(line: &[u8], refused: &Refused) -> Bytes {
    let message = countersign_wire::json_value(line).unwrap_or_default();
    if message.get("method") == Some(&json!("tools/call")) && !refused.id.is_null() {
        let reported = deny(&format!("nothing was run: {}", refused.why));
        let item = answer::item(&reported.to_string());
        return answer::result_of(&refused.id, &json!({"content": [item]}));
    }
    answer::error(refused)
}

fn deny(words: &str) -> Value {
    json!({"behavior": "deny", "message": words})
}

fn described() -> Value {
    json!({
        "name": TOOL,
        "description": "Asks a person whether a tool may run (for --permission-prompt-tool)",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string"},
                "input": {"type": "object"},
                "tool_use_id": {"type": "string"},
            },
            "required": ["tool_name", "input"],
        },
    })
}
