//! What becomes of each message: the relay as a state machine without input or output.
//!
//! Refuses to let a tool call that asks reach the server before it was approved, and in other bytes than ours. `R` is
//! what a receipt is sent with.

mod client;
mod server;
mod tasks;

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use countersign_sdk::{PROBE, Which};
use countersign_wire::{Sha256Digest, args_digest};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::forms::Inputs;
use crate::id::Id;
use crate::message::Call;
use crate::tools::Tools;

/// How long an approval counts for a call that comes back with the server's state.
const REMEMBERED: Duration = Duration::from_secs(3600);
const MOST_REMEMBERED: usize = 1_000;

pub(crate) struct Relay<R> {
    which: Which,
    /// Forms of the server are cards; else they are relayed.
    console_forms: bool,
    calls: HashMap<Id, Stage<R>>,
    pub(crate) tools: Tools,
    discover: Option<(Id, Map<String, Value>)>,
    /// Forms of the server that wait, by the text of their ids.
    forms: HashMap<Id, CancellationToken>,
    remembered: Vec<Remembered<R>>,
    probes: u64,
    /// Calls that became tasks, by the server's names.
    tasks: HashMap<String, Box<Running<R>>>,
}

enum Stage<R> {
    /// For a person. Cancelled when nobody waits for the answer any more.
    Waits(CancellationToken),
    /// It went on to the server.
    Runs(Box<Running<R>>),
}

/// A call that the server has.
pub(crate) struct Running<R> {
    pub(crate) call: Call,
    /// What it runs with.
    pub(crate) arguments: Value,
    /// What the model is informed before the result.
    pub(crate) notice: Option<String>,
    /// None where nobody was asked.
    pub(crate) receipt: Option<R>,
}

/// An approval whose call the server wants to see again.
struct Remembered<R> {
    name: String,
    digest: Sha256Digest,
    state: String,
    at: Instant,
    receipt: Option<R>,
}

/// What to do with a message.
pub(crate) struct Steps<R> {
    /// The message goes on as it is.
    pub(crate) pass: bool,
    /// Then this goes to the server.
    pub(crate) to_server: Option<Bytes>,
    /// And this to the client.
    pub(crate) to_client: Option<Bytes>,
    pub(crate) then: Then<R>,
}

pub(crate) enum Then<R> {
    Nothing,
    /// A person is asked whether the call may run.
    Ask(Box<Call>, CancellationToken),
    /// The call is over.
    Report(R, Ended),
    /// The server keeps this task for so long.
    Expires(String, Duration),
    /// The tools are known, or others.
    Tools,
    /// A person is asked to fill in forms.
    Fill(Box<Inputs<R>>, CancellationToken),
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) arguments: Value,
    /// The error's type; none for a result.
    pub(crate) failed: Option<String>,
    /// The model was not informed of an edit.
    pub(crate) notice_pending: bool,
}

impl<R> Steps<R> {
    fn pass() -> Self {
        let pass = true;
        Self {
            pass,
            ..Self::stop()
        }
    }

    fn stop() -> Self {
        Self {
            pass: false,
            to_server: None,
            to_client: None,
            then: Then::Nothing,
        }
    }

    fn answer(to_client: Bytes) -> Self {
        let to_client = Some(to_client);
        Self {
            to_client,
            ..Self::stop()
        }
    }
}

impl<R> Relay<R> {
    pub(crate) fn new(which: Which, console_forms: bool) -> Self {
        Self {
            which,
            console_forms,
            calls: HashMap::new(),
            tools: Tools::default(),
            discover: None,
            forms: HashMap::new(),
            remembered: Vec::new(),
            probes: 0,
            tasks: HashMap::new(),
        }
    }

    pub(crate) fn which(&self) -> &Which {
        &self.which
    }

    /// The message of an approved call; its running is given back where nobody waits any more, or it is a probe.
    pub(crate) fn go(&mut self, running: Box<Running<R>>) -> Result<Bytes, Box<Running<R>>> {
        let id = running.call.id.clone();
        let waits = matches!(self.calls.get(&id), Some(Stage::Waits(_)));
        if !waits || running.call.name == PROBE {
            return Err(running);
        }
        let others = &running.call.others;
        let message = running.call.message(&id, &running.arguments, others);
        self.calls.insert(id, Stage::Runs(running));
        Ok(answer::line(&message))
    }

    /// Ends a call that waits; whether it still waited, so that its answer has a reader.
    pub(crate) fn over(&mut self, id: &Id) -> bool {
        let waits = matches!(self.calls.get(id), Some(Stage::Waits(_)));
        if waits {
            self.calls.remove(id);
        }
        waits
    }

    /// The call that this id means: with the other JSON type while it waits, where no call has the exact one.
    fn meant(&self, id: Id) -> Id {
        let waits = |other: &Id| matches!(self.calls.get(other), Some(Stage::Waits(_)));
        match self.calls.contains_key(&id) {
            true => id,
            false => id.other().filter(waits).unwrap_or(id),
        }
    }

    /// How many calls of the probe's name reached the server.
    pub(crate) fn probes(&self) -> u64 {
        self.probes
    }

    /// Nobody reads answers any more.
    pub(crate) fn client_gone(&mut self) {
        self.calls.retain(|_, stage| match stage {
            Stage::Waits(token) => {
                token.cancel();
                false
            }
            Stage::Runs(_) => true,
        });
        for (_, token) in self.forms.drain() {
            token.cancel();
        }
    }

    /// The server gives no answer any more: how the calls ended that it had.
    pub(crate) fn server_gone(&mut self) -> Vec<(R, Ended)> {
        self.client_gone();
        let stages = std::mem::take(&mut self.calls).into_values();
        let closed = stages.filter_map(|stage| match stage {
            Stage::Runs(running) => ended(*running, Some("connection_closed")),
            Stage::Waits(_) => None,
        });
        let tasks = std::mem::take(&mut self.tasks).into_values();
        let unseen = tasks.filter_map(|running| ended(*running, Some(answer::NO_REPORT)));
        closed.chain(unseen).collect()
    }

    /// Keeps an approval until its call comes back with the server's state.
    fn remember(&mut self, running: Running<R>, state: &str) {
        let now = Instant::now();
        self.remembered
            .retain(|kept| now.duration_since(kept.at) < REMEMBERED);
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.remove(0);
        }
        if let (Some(receipt), Ok(digest)) = (running.receipt, args_digest(&running.arguments)) {
            self.remembered.push(Remembered {
                name: running.call.name,
                digest,
                state: state.to_owned(),
                at: now,
                receipt: Some(receipt),
            });
        }
    }

    /// The approval that was given to this call before the server wanted to see it again; it counts once.
    fn approved_before(&mut self, call: &Call) -> Option<R> {
        let state = call.others.get("requestState")?.as_str()?;
        let digest = args_digest(&call.arguments).ok()?;
        let now = Instant::now();
        let at = self.remembered.iter().position(|kept| {
            let fresh = now.duration_since(kept.at) < REMEMBERED;
            fresh && kept.name == call.name && kept.digest == digest && kept.state == state
        })?;
        self.remembered.remove(at).receipt
    }
}

fn ended<R>(running: Running<R>, failed: Option<&str>) -> Option<(R, Ended)> {
    let ended = Ended {
        arguments: running.arguments,
        failed: failed.map(str::to_owned),
        notice_pending: running.notice.is_some(),
    };
    Some((running.receipt?, ended))
}

#[cfg(test)]
mod tests;
