//! One call that waits for a person, and the forms of a server.
//!
//! Refuses to let anything but an approval send the call on.

use std::future::pending;
use std::sync::Arc;

use countersign_sdk::{
    Ask, Decision, DecisionVerdict, Gate, GateError, PROBE, edit_notice, refusal_text,
};
use serde_json::{Map, Value};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::desk::Outstanding;
use crate::forms::{self, Inputs};
use crate::message::Call;
use crate::relay::Running;
use crate::session::Session;
use crate::span::CallSpan;
use crate::wait::{self, Outcome};

/// How many calls that are alike may wait at once.
const MOST_ALIKE: usize = 32;

impl Session {
    /// Asks whether the call may run, and does what was answered.
    pub(crate) async fn decide(self: Arc<Self>, call: Call, gone: CancellationToken) {
        let prepared = async {
            self.tools().await;
            self.gate().await
        };
        let gate = tokio::select! {
            biased;
            () = gone.cancelled() => return,
            gate = prepared => gate,
        };
        match gate {
            Ok(gate) => self.ask(call, &gate, &gone).await,
            Err(error) => self.answer(&call, Err(error)).await,
        }
    }

    async fn ask(&self, call: Call, gate: &Gate, gone: &CancellationToken) {
        let mut span = CallSpan::new(gate, &call);
        match self.asked(&call, gate, &mut span, gone).await {
            Outcome::Gone => span.end("cancelled"),
            Outcome::Held => {
                span.end("timeout");
                let name = &call.name;
                let words = format!(
                    "{name} was not run: it still waits for a person. To get the answer, call it again with the same arguments."
                );
                self.refuse(&call, &words).await;
            }
            Outcome::Answered(answer) => match *answer {
                Ok(decision) if decision.allowed() && call.name != PROBE => {
                    self.run(call, decision, span).await;
                }
                answer => {
                    span.answered(answer.as_ref());
                    self.answer(&call, answer).await;
                }
            },
        }
    }

    async fn asked(
        &self,
        call: &Call,
        gate: &Gate,
        span: &mut CallSpan,
        gone: &CancellationToken,
    ) -> Outcome {
        let ask = {
            let relay = self.relay.lock();
            let risk = relay.which().risk(&call.name);
            self.desk.call(call, relay.tools.get(&call.name), risk)
        };
        let ask = ask.traceparent(&span.traceparent);
        let token = call.progress_token();
        let Some((hold, _)) = &self.desk.asker.hold else {
            let id = uuid::Uuid::now_v7().to_string();
            span.waiting(Some(&id));
            let ask = match id.parse() {
                Ok(id) => ask.request_id(id),
                Err(_) => ask,
            };
            return wait::answer(gate, ask, token, pending(), gone, &self.to_client).await;
        };
        // Which request it waits for is known when it was answered.
        span.waiting(None);
        let held = sleep(*hold);
        tokio::pin!(held);
        // Calls that are alike and wait at once are calls of their own.
        for place in 0..MOST_ALIKE {
            let ask: Ask = ask.clone().key(self.desk.key(call, place));
            let held = held.as_mut();
            match wait::answer(gate, ask, token, held, gone, &self.to_client).await {
                Outcome::Answered(answer) if taken(&answer) => {}
                outcome => return outcome,
            }
        }
        Outcome::error(GateError::TooManyWaiting { limit: MOST_ALIKE })
    }

    async fn run(&self, call: Call, decision: Decision, mut span: CallSpan) {
        let Some(arguments) = decision.args().cloned() else {
            return;
        };
        span.running(&decision, &arguments);
        let running = Box::new(Running {
            notice: edit_notice(&decision),
            receipt: Some(Outstanding { decision, span }),
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
        if let Some(outstanding) = refused {
            outstanding.not_started().await;
        }
    }

    async fn answer(&self, call: &Call, answer: Result<Decision, GateError>) {
        if let Ok(decision) = &answer
            && *decision.verdict() == DecisionVerdict::Respond
            && let Some(response) = decision.response()
        {
            let waits = self.relay.lock().over(&call.id);
            self.send(waits.then(|| answer::response(call, &response.content)))
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
        self.send(answer).await;
    }

    /// Asks for what the server wants filled in, and hands it to the server.
    pub(crate) async fn fill(
        self: Arc<Self>,
        inputs: Inputs<Outstanding>,
        gone: CancellationToken,
    ) {
        match inputs {
            Inputs::OfServer(id, form) => {
                let Some(filled) = self.ask_form(&form, None, &gone).await else {
                    return;
                };
                if let Ok(room) = self.to_server.reserve().await
                    && self.relay.lock().filled(&id)
                {
                    room.send(answer::result_of(&id.value(), &filled));
                }
            }
            Inputs::OfCall(mut running, asked, state) => {
                let token = running.call.progress_token().cloned();
                let mut responses = Map::new();
                for (name, form) in asked {
                    let Some(filled) = self.ask_form(&form, token.as_ref(), &gone).await else {
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
        gone: &CancellationToken,
    ) -> Option<Value> {
        let gate = tokio::select! {
            biased;
            () = gone.cancelled() => return None,
            gate = self.gate() => gate,
        };
        let outcome = match gate {
            Ok(gate) => match wait::answer(
                &gate,
                self.desk.form(form),
                token,
                pending(),
                gone,
                &self.to_client,
            )
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
