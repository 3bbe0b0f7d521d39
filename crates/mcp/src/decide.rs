//! One call that waits for a person, and the forms of a server.
//!
//! Refuses to let anything but an approval send the call on.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use countersign_sdk::{Ask, Decision, DecisionVerdict, GateError, edit_notice, refusal_text};
use serde_json::{Map, Value};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::forms::{self, Inputs};
use crate::message::Call;
use crate::relay::{PROBE, Running};
use crate::session::Session;

/// How often a client hears that its call still waits.
pub(crate) const PROGRESS: Duration = Duration::from_secs(10);

/// How many calls that are alike may wait at once.
const MOST_ALIKE: usize = 32;

enum Outcome {
    Answered(Box<Result<Decision, GateError>>),
    /// The client was held up as long as it may be.
    Held,
    /// Nobody waits any more.
    Gone,
}

impl Session {
    /// Asks whether the call may run, and does what was answered.
    pub(crate) async fn decide(self: Arc<Self>, call: Call, over: CancellationToken) {
        match self.asked(&call, &over).await {
            Outcome::Gone => {}
            Outcome::Held => {
                let name = &call.name;
                let words = format!(
                    "{name} was not run: it still waits for a person. To get the answer, call it again with the same arguments."
                );
                self.refuse(&call, &words).await;
            }
            Outcome::Answered(answer) => match *answer {
                Ok(decision) if decision.allowed() && call.name != PROBE => {
                    self.run(call, decision).await;
                }
                answer => self.answer(&call, answer).await,
            },
        }
    }

    async fn asked(&self, call: &Call, over: &CancellationToken) -> Outcome {
        let prepared = async {
            self.tools().await;
            let gate = self.gate().await?;
            let relay = self.relay.lock();
            let risk = relay.which().risk(&call.name);
            let ask = self.desk.call(call, relay.tools.get(&call.name), risk);
            Ok((gate, ask))
        };
        let (gate, ask) = tokio::select! {
            biased;
            () = over.cancelled() => return Outcome::Gone,
            prepared = prepared => match prepared {
                Ok(prepared) => prepared,
                Err(error) => return Outcome::Answered(Box::new(Err(error))),
            },
        };
        let token = call.progress_token();
        let Some((hold, _)) = &self.desk.asker.hold else {
            return self.wait(&gate, ask, token, pending(), over).await;
        };
        let held = sleep(*hold);
        tokio::pin!(held);
        // Calls that are alike and wait at once are calls of their own.
        for place in 0..MOST_ALIKE {
            let ask = ask.clone().key(self.desk.key(call, place));
            match self.wait(&gate, ask, token, held.as_mut(), over).await {
                Outcome::Answered(answer) if taken(&answer) => {}
                outcome => return outcome,
            }
        }
        let error = GateError::TooManyWaiting { limit: MOST_ALIKE };
        Outcome::Answered(Box::new(Err(error)))
    }

    /// Waits for an answer; tells the client that it still waits where it wants to hear so.
    async fn wait(
        &self,
        gate: &countersign_sdk::Gate,
        ask: Ask,
        token: Option<&Value>,
        held: impl Future<Output = ()>,
        over: &CancellationToken,
    ) -> Outcome {
        let mut asking = gate.ask(ask);
        tokio::pin!(held);
        let mut ticks = interval(PROGRESS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut told = 0;
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return Outcome::Gone,
                answer = &mut asking => return Outcome::Answered(Box::new(answer)),
                () = &mut held => return Outcome::Held,
                _ = ticks.tick() => {
                    told += 1;
                    self.tell(token.map(|token| answer::progress(token, told))).await;
                }
            }
        }
    }

    async fn run(&self, call: Call, decision: Decision) {
        let Some(arguments) = decision.args().cloned() else {
            return;
        };
        let running = Box::new(Running {
            notice: edit_notice(&decision),
            receipt: Some(decision),
            arguments,
            call,
        });
        let refused = match self.to_server.reserve().await {
            // Under the lock: a cancellation that comes now follows the call.
            Ok(room) => match self.relay.lock().go(running) {
                Ok(message) => {
                    room.send(message);
                    None
                }
                Err(running) => running.receipt,
            },
            Err(_) => running.receipt,
        };
        if let Some(decision) = refused
            && let Err(error) = decision.refused("not_started").await
        {
            tracing::warn!(request = %decision.request(), "the receipt is late: {error}");
        }
    }

    async fn answer(&self, call: &Call, answer: Result<Decision, GateError>) {
        if let Ok(decision) = &answer
            && *decision.verdict() == DecisionVerdict::Respond
            && let Some(response) = decision.response()
        {
            let waits = self.relay.lock().over(&call.id);
            self.tell(waits.then(|| answer::response(call, &response.content)))
                .await;
            return;
        }
        let words = refusal_text(&call.name, answer.as_ref());
        self.refuse(call, &words).await;
    }

    async fn refuse(&self, call: &Call, words: &str) {
        let answer = {
            let mut relay = self.relay.lock();
            let answer = match call.name == PROBE {
                true => answer::probe(call, words, relay.probes()),
                false => answer::refusal(call, words),
            };
            relay.over(&call.id).then_some(answer)
        };
        self.tell(answer).await;
    }

    /// Asks for what the server wants filled in, and hands it to the server.
    pub(crate) async fn fill(self: Arc<Self>, inputs: Inputs<Decision>, over: CancellationToken) {
        match inputs {
            Inputs::OfServer(id, form) => {
                let Some(filled) = self.ask_form(&form, None, &over).await else {
                    return;
                };
                if let Ok(room) = self.to_server.reserve().await
                    && self.relay.lock().filled(&id)
                {
                    room.send(answer::accept(&id.value(), &filled));
                }
            }
            Inputs::OfCall(mut running, asked, state) => {
                let token = running.call.progress_token().cloned();
                let mut responses = Map::new();
                for (name, form) in asked {
                    let Some(filled) = self.ask_form(&form, token.as_ref(), &over).await else {
                        return;
                    };
                    responses.insert(name, filled);
                }
                forms::again(&mut running, responses, state);
                if let Ok(room) = self.to_server.reserve().await
                    && let Ok(message) = self.relay.lock().go(running)
                {
                    room.send(message);
                }
            }
        }
    }

    async fn ask_form(
        &self,
        form: &forms::Form,
        token: Option<&Value>,
        over: &CancellationToken,
    ) -> Option<Value> {
        let gate = tokio::select! {
            biased;
            () = over.cancelled() => return None,
            gate = self.gate() => gate,
        };
        let outcome = match gate {
            Ok(gate) => match self
                .wait(&gate, self.desk.form(form), token, pending(), over)
                .await
            {
                Outcome::Answered(answer) => *answer,
                Outcome::Held | Outcome::Gone => return None,
            },
            Err(error) => Err(error),
        };
        Some(forms::filled(&outcome))
    }
}

fn taken(answer: &Result<Decision, GateError>) -> bool {
    matches!(answer, Err(GateError::KeyWaiting { .. }))
}
