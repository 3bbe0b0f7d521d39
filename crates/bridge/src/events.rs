//! CommonGround's events: the time that it names for a wait, and the tree of its turns.

use serde_json::{Map, Value, json};

use crate::command::Inbound;
use crate::digest::span_id;
use crate::spans::Piece;
use crate::store_rows::unstamp;

/// One event that the bridge reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) project: String,
    pub(crate) channel: String,
    pub(crate) agent: String,
    pub(crate) kind: Kind,
    pub(crate) turn: Option<String>,
    pub(crate) body: Value,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Step,
    State,
    Task,
}

impl Event {
    /// None for other suffixes, other versions, and bodies that are no JSON object.
    pub(crate) fn read(message: &Inbound) -> Option<Self> {
        let tokens: Vec<&str> = message.subject.split('.').collect();
        let [
            "cg",
            "v1r4",
            project,
            channel,
            "evt",
            "agent",
            agent,
            suffix,
        ] = tokens[..]
        else {
            return None;
        };
        let kind = match suffix {
            "step" => Kind::Step,
            "state" => Kind::State,
            "task" => Kind::Task,
            _ => return None,
        };
        let body: Value = serde_json::from_slice(&message.payload).ok()?;
        let turn = body.get("agent_turn_id").and_then(Value::as_str);
        let turn = turn
            .or_else(|| message.header("CG-Turn-Id"))
            .map(str::to_owned);
        body.is_object().then(|| Self {
            project: project.to_owned(),
            channel: channel.to_owned(),
            agent: agent.to_owned(),
            kind,
            turn,
            body,
        })
    }

    /// The calls that wait, and until when, where a state event says it.
    pub(crate) fn waits(&self) -> Option<(Vec<&str>, i64)> {
        if self.kind != Kind::State || self.text("/status") != Some("suspended") {
            return None;
        }
        let until = unstamp(self.text("/metadata/resume_deadline")?)?;
        let calls = self
            .body
            .pointer("/metadata/waiting_tool_call_ids")?
            .as_array()?;
        Some((calls.iter().filter_map(Value::as_str).collect(), until))
    }

    /// The cards that a step made; results among them end a call.
    pub(crate) fn new_cards(&self) -> Vec<&str> {
        let cards = self.body.get("new_card_ids").and_then(Value::as_array);
        cards
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// What it says of the tree, in this trace.
    pub(crate) fn pieces(&self, message: &Inbound, trace_id: &str) -> Vec<Piece> {
        let Some(turn) = &self.turn else {
            return Vec::new();
        };
        let mut pieces = vec![self.turn_piece(message, turn, trace_id)];
        if let (Kind::Step, Some(step)) = (self.kind, self.text("/step_id")) {
            let status = match self.text("/phase") {
                Some("completed") => "ok",
                Some("failed") => "error",
                _ => "running",
            };
            pieces.push(Piece {
                trace_id: trace_id.to_owned(),
                span_id: span_id("step", &self.project, step),
                parent: Some(span_id("turn", &self.project, turn)),
                name: Some("step".to_owned()),
                kind: "chain",
                status: Some(status),
                at_ms: message.at_ms,
                more: Map::new(),
            });
        }
        pieces
    }

    fn turn_piece(&self, message: &Inbound, turn: &str, trace_id: &str) -> Piece {
        let word = self.text("/status").unwrap_or_default();
        let status = match (self.kind, word) {
            (Kind::State, "suspended") => Some("waiting"),
            (Kind::State, "idle") | (Kind::Step, _) => None,
            (Kind::State, _) => Some("running"),
            (Kind::Task, "success") => Some("ok"),
            (Kind::Task, "failed") => Some("error"),
            (Kind::Task, "canceled") => Some("cancelled"),
            (Kind::Task, "timeout") => Some("timeout"),
            (Kind::Task, "partial") => Some("incomplete"),
            (Kind::Task, _) => Some("running"),
        };
        let parent = message.header("CG-Parent-Step-Id");
        let mut more = Map::new();
        more.insert("run_id".to_owned(), json!(turn));
        more.insert("thread_id".to_owned(), json!(self.channel));
        if let (Kind::Task, Some(code)) = (self.kind, self.text("/error_code")) {
            more.insert(
                "error".to_owned(),
                json!({"code": code, "message": self.text("/error")}),
            );
        }
        Piece {
            trace_id: trace_id.to_owned(),
            span_id: span_id("turn", &self.project, turn),
            parent: parent.map(|step| span_id("step", &self.project, step)),
            name: Some(format!("turn of {}", self.agent)),
            kind: "agent",
            status,
            at_ms: message.at_ms,
            more,
        }
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.body.pointer(pointer).and_then(Value::as_str)
    }
}
