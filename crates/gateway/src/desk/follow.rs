//! What happens to an ask without a client: its answer comes, its time ends, its receipt reaches the bus.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use countersign_sdk::{Ask as Question, Decision, DecisionVerdict, Gate, GateError, refusal_text};
use countersign_wire::{ApprovalRequest, DecisionFault, read_json};
use tokio::time::sleep;

use super::{Cell, Desk, lock};
use crate::ask::{Answer, Ask, Keep, ProofOfAnswer, Report, State};
use crate::link::Link;
use crate::moment::Moment;

/// Before something is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often arguments and old asks are removed, in looks.
const CLEAR_EVERY: u32 = 30;
/// For the answer to an ask whose time ran out while no gateway was there: it gets its receipt. In seconds.
const LAST_LOOK: f64 = 10.0;

impl Desk {
    /// Starts what the ask needs now.
    pub(super) fn go_on(self: &Arc<Self>, cell: &Arc<Cell>) {
        let ask = cell.ask();
        let withdrawn = ask
            .end
            .as_ref()
            .is_some_and(|end| end.state == State::Withdrawn);
        let open = ask.passed(&Moment::now()) < ask.lifetime;
        let waits = ask.answer.is_none() && (ask.end.is_none() || withdrawn && open);
        if waits && !cell.waiting.swap(true, Ordering::AcqRel) {
            tokio::spawn(Arc::clone(self).wait(Arc::clone(cell)));
        }
        let handle = lock(&cell.handle).clone();
        if let Some(handle) = handle.filter(|_| withdrawn) {
            handle.cancel(reason(&ask));
        }
        let unsent = ask.receipt.as_ref().filter(|report| !report.sent);
        if let Some(report) = unsent.cloned()
            && !cell.reporting.swap(true, Ordering::AcqRel)
        {
            tokio::spawn(Arc::clone(self).deliver(Arc::clone(cell), report));
        }
        self.call_back(cell, &ask);
    }

    async fn wait(self: Arc<Self>, cell: Arc<Cell>) {
        loop {
            let gate = self.gate_within(&cell).await;
            let ask = cell.ask();
            let request = ask.request.as_deref().map(str::as_bytes);
            let Some(Ok(request)) = request.map(read_json::<ApprovalRequest>) else {
                return;
            };
            let outcome = match gate {
                Some(gate) => self.ask_once(&gate, &cell, &ask, request).await,
                None => Ok(None),
            };
            let answer = match outcome {
                Ok(Some(decision)) => answer(&decision, &ask),
                Ok(None) => over("expired", refusal(&ask, "expired: nobody answered in time")),
                Err(error) if is_final(&error) => over("rejected", refused(&ask, &error)),
                Err(GateError::NotPlaced { .. }) => over(
                    "expired",
                    refusal(&ask, "expired: the bus took no request in time"),
                ),
                Err(error) => {
                    tracing::debug!(request = %ask.id, "{error}");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let kept = self
                .change(&cell, move |ask, _| Ok(((), ask.answered(answer))))
                .await;
            if kept.is_ok() || !cell.is_kept() {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    /// The connection, once there is one; none when the ask's time has run out before, and a little more.
    async fn gate_within(&self, cell: &Cell) -> Option<Gate> {
        let mut link = self.link.clone();
        let up = link.wait_for(|link| matches!(link, Link::Up(_)));
        let ask = cell.ask();
        let left = ask.lifetime - ask.passed(&Moment::now());
        let left = Duration::try_from_secs_f64(left.max(LAST_LOOK)).unwrap_or_default();
        let up = tokio::time::timeout(left, up).await.ok()?.ok()?;
        match &*up {
            Link::Up(gate) => Some(gate.clone()),
            Link::Down | Link::Refused => None,
        }
    }

    /// None where it was withdrawn meanwhile.
    async fn ask_once(
        &self,
        gate: &Gate,
        cell: &Cell,
        ask: &Ask,
        request: ApprovalRequest,
    ) -> Result<Option<Decision>, GateError> {
        let passed = Duration::try_from_secs_f64(ask.passed(&Moment::now()));
        // In doubt its time has run out.
        let passed = passed.unwrap_or(Duration::MAX);
        let words = degraded(ask);
        let question = Question::raw(request)
            .kept_since(passed)
            .degraded(move |_| words.clone());
        let asking = gate.ask(question);
        let handle = asking.handle();
        *lock(&cell.handle) = Some(handle.clone());
        // Whoever withdrew it before did not find the handle.
        let ask = cell.ask();
        if ask.end.is_some() {
            handle.cancel(reason(&ask));
        }
        asking.await.map(Some)
    }

    /// Tries until the bus has the receipt.
    async fn deliver(self: Arc<Self>, cell: Arc<Cell>, report: Report) {
        let ask = cell.ask();
        let decision_id = ask
            .answer
            .as_ref()
            .and_then(|answer| answer.decision_id.clone());
        loop {
            let gate = self.link.borrow().gate();
            let sent = match gate {
                Ok(gate) => {
                    let receipts =
                        gate.reports(ask.id.clone(), decision_id.clone().unwrap_or_default());
                    let report = report.clone();
                    let words = degraded(&ask);
                    receipts
                        .deliver(report.stage, report.digest, words, report.message)
                        .await
                }
                Err(_) => Err(GateError::NoStreams),
            };
            match sent {
                Err(error) if !is_final(&error) => sleep(PAUSE).await,
                sent => {
                    if let Err(error) = sent {
                        tracing::warn!(request = %ask.id, "the bus takes no receipt: {error}");
                    }
                    let _ = self.change(&cell, |ask, _| Ok(((), ask.reported()))).await;
                    cell.reporting.store(false, Ordering::Release);
                    return;
                }
            }
        }
    }

    /// Ends answers that nobody claimed, and removes what nothing needs.
    pub(super) async fn look_after(self: Arc<Self>) {
        for look in 0_u32.. {
            let clear = look % CLEAR_EVERY == CLEAR_EVERY - 1;
            let cells = match clear {
                true => lock(&self.table).all(),
                false => lock(&self.table).answered(),
            };
            for cell in cells {
                let ask = cell.ask();
                let (mut probe, now) = (ask.clone(), Moment::now());
                if clear && ask.is_old(&now) {
                    self.remove(&cell).await;
                } else if probe.expire(&now) != Keep::Nothing
                    || clear && probe.forget(&now) != Keep::Nothing
                {
                    let _ = self
                        .change(&cell, |ask, now| Ok(((), late(ask, now))))
                        .await;
                }
            }
            sleep(PAUSE).await;
        }
    }

    pub(super) async fn remove(&self, cell: &Cell) {
        let _turn = cell.turn.lock().await;
        let ask = cell.ask();
        if !ask.is_old(&Moment::now()) {
            return;
        }
        let (journal, id) = (Arc::clone(&self.journal), ask.id.clone());
        let removed = tokio::task::spawn_blocking(move || journal.remove(&id)).await;
        if removed.is_ok_and(|removed| removed.is_ok()) {
            lock(&cell.ask).seq = 0;
            lock(&self.table).leave(&ask);
        }
    }
}

fn late(ask: &mut Ask, now: &Moment) -> Keep {
    match ask.expire(now) {
        Keep::Nothing => ask.forget(now),
        keep => keep,
    }
}

fn reason(ask: &Ask) -> String {
    let end = ask.end.as_ref();
    end.and_then(|end| end.message.clone()).unwrap_or_default()
}

/// Of every receipt: the agent verified nothing itself.
fn degraded(ask: &Ask) -> Vec<String> {
    let words = ["trusts_gateway", "no_execution_report"];
    let count = if ask.reports { 1 } else { 2 };
    words[..count].iter().map(|&word| word.to_owned()).collect()
}

/// Whether it will not work either when it is tried again.
fn is_final(error: &GateError) -> bool {
    matches!(
        error,
        GateError::Refused { .. }
            | GateError::InvalidRequest { .. }
            | GateError::Forbidden { .. }
            | GateError::AlreadyAsked { .. }
            | GateError::NoDecision
    )
}

fn refusal(ask: &Ask, why: &str) -> String {
    format!("{} was not run, {why}", ask.name())
}

fn refused(ask: &Ask, error: &GateError) -> String {
    refusal_text(ask.name(), Err(error))
}

fn over(verdict: &str, text: String) -> Answer {
    Answer {
        at: Moment::now(),
        run: false,
        verdict: verdict.to_owned(),
        args: None,
        args_digest: None,
        response: None,
        text: Some(text),
        message: None,
        decided_by: None,
        decision_id: None,
        fault: None,
        proof: None,
    }
}

fn answer(decision: &Decision, ask: &Ask) -> Answer {
    let verdict = decision.verdict();
    let run = decision.allowed();
    let fault = decision
        .fault()
        .filter(|fault| *fault != DecisionFault::Late);
    let answered = *verdict == DecisionVerdict::Respond;
    Answer {
        run,
        args: decision.args().cloned(),
        args_digest: decision.args_digest().filter(|_| run),
        response: decision
            .response()
            .and_then(|of| serde_json::to_value(of).ok()),
        text: (!run).then(|| refusal_text(ask.name(), Ok(decision))),
        message: decision
            .message()
            .map(str::to_owned)
            .filter(|_| fault.is_none()),
        decided_by: decision.decided_by().cloned(),
        decision_id: decision.decision_id().map(str::to_owned),
        fault: fault.map(|fault| fault.as_str().to_owned()),
        proof: decision
            .proof()
            .filter(|_| run || answered)
            .map(|proof| ProofOfAnswer {
                subject: proof.subject.clone(),
                payload: proof.payload.clone(),
                key: proof.key.clone(),
                sig: proof.sig.clone(),
            }),
        ..over(&verdict.to_string(), String::new())
    }
}
