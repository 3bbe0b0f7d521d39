//! One command from its arrival to its end. Each step is stored before the next, so that any of them can be the first
//! after a start.

mod forwarding;

use std::sync::Arc;
use std::time::Duration;

use countersign_sdk::wire::{ParsedRequest, parse_request, request_subject};
use countersign_sdk::{Ask, Decision, RequestId};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::api::{self, Away, Card};
use crate::call::Call;
use crate::card;
use crate::config::Project;
use crate::report::{Outcome, Reported, job};
use crate::run::Bridge;
use crate::spans;
use crate::store::{Set, State};
use crate::store_rows::{Answer, Stored, now_ms, unstamp};

const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_REPORT_PAUSE: Duration = Duration::from_secs(30);

type Step = Result<Next, rusqlite::Error>;

/// Whether a command has another step.
#[derive(PartialEq)]
enum Next {
    Again,
    End,
}

/// Goes on with a command until its end.
pub(crate) async fn drive(bridge: Arc<Bridge>, id: i64) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        match step(&bridge, id).await {
            Ok(Next::Again) => pause = SHORTEST_PAUSE,
            Ok(Next::End) => return,
            Err(error) => {
                tracing::warn!("a command waits: the bridge's store failed: {error}");
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn step(bridge: &Bridge, id: i64) -> Step {
    let command = bridge.store.load(id)?;
    let Some(project) = bridge.config.project(&command.project) else {
        return Ok(Next::End);
    };
    let trace = bridge.trace_of(&project.id, &command.message);
    let call = match Call::of(&command.message, project, trace) {
        Ok(call) => call,
        Err(refusal) if command.state == State::Rejected => {
            let reported = refusal.reason.is_reported();
            let outcome = Outcome::refused(refusal.reason.as_str(), &refusal.what);
            return report(bridge, &command, reported.then_some(outcome)).await;
        }
        Err(refusal) => {
            // Its tool was taken out of the configuration.
            let reason = refusal.reason.as_str();
            bridge
                .store
                .step(id, State::Rejected, &[("reason", reason.to_owned().into())])
                .await?;
            return Ok(Next::Again);
        }
    };
    let flow = Flow {
        bridge,
        project,
        command: &command,
        call,
    };
    match command.state {
        State::Received | State::WaitingForCard => flow.ask().await,
        State::Asked | State::Unverifiable => flow.answer().await,
        State::Forwarding => flow.forward().await,
        State::Reporting | State::Expired => {
            let answer = command.decision.clone().unwrap_or_else(expired);
            let outcome = Outcome::of(&answer, &flow.call.request_id());
            report(bridge, &command, Some(outcome)).await
        }
        _ => Ok(Next::End),
    }
}

fn expired() -> Answer {
    Answer {
        verdict: "expired".to_owned(),
        ..Answer::default()
    }
}

struct Flow<'a> {
    bridge: &'a Bridge,
    project: &'a Project,
    command: &'a Stored,
    call: Call<'a>,
}

impl Flow<'_> {
    async fn keep(&self, state: State, set: Set<'_>) -> Result<(), rusqlite::Error> {
        self.bridge.store.step(self.command.id, state, set).await
    }

    fn span(&self, status: &'static str) {
        let step = self
            .command
            .card
            .as_ref()
            .and_then(|card| card.pointer("/metadata/step_id"));
        let at = if status == "waiting" {
            self.command.message.at_ms
        } else {
            now_ms()
        };
        let piece = spans::of_call(&self.call, step.and_then(Value::as_str), status, at);
        self.bridge.span(self.call.project, &piece);
    }

    /// The deadline by the time that CommonGround named, where it has.
    fn named_deadline(&self) -> Result<Option<(i64, i64)>, rusqlite::Error> {
        let resume = self
            .bridge
            .store
            .wait_of(self.call.project, self.call.tool_call_id)?;
        Ok(resume.map(|at| (at, at - millis(self.bridge.config.margin))))
    }

    async fn ask(&self) -> Step {
        let (found, named) = tokio::join!(self.card(), self.state_event());
        let Some(found) = found? else {
            return self.run_out().await;
        };
        let (resume, deadline) = match named? {
            Some((resume, deadline)) => (Some(resume), deadline),
            None => (None, self.command.deadline_ms),
        };
        let now = now_ms();
        if now >= deadline {
            return self.run_out().await;
        }
        let Some(gate) = self.bridge.gates.get(&self.project.id) else {
            return Ok(Next::End);
        };
        let key = gate.agent();
        let body = |card: &Card| {
            card::request(
                &self.call,
                card,
                key.workspace.as_ref(),
                key.agent.as_ref(),
                (now, deadline),
            )
            .to_string()
        };
        let mut request = body(&found);
        let mut state = match card::unverifiable(&self.call, &found) {
            Some(_) => State::Unverifiable,
            None => State::Asked,
        };
        if self.parsed(request.as_bytes()).is_none() {
            // Arguments that have no canonical form cannot be approved.
            request = body(&Card::Malformed);
            state = State::Unverifiable;
        }
        let card = match &found {
            Card::Found(card) => Some(card.to_string()),
            _ => None,
        };
        let request = request.into_bytes();
        self.keep(
            state,
            &[
                ("card", card.into()),
                ("request", request.into()),
                ("deadline_ms", deadline.into()),
                ("resume_ms", resume.into()),
            ],
        )
        .await?;
        Ok(Next::Again)
    }

    /// The card, or none at the deadline.
    async fn card(&self) -> Result<Option<Card>, rusqlite::Error> {
        if self.command.state != State::WaitingForCard {
            match self.read_card().await {
                Ok(card) => return Ok(Some(card)),
                Err(Away(why)) => tracing::info!("a card is waited for: {why}"),
            }
            self.span("waiting");
            self.keep(State::WaitingForCard, &[]).await?;
            sleep(SHORTEST_PAUSE.min(left(self.command.deadline_ms))).await;
        }
        Ok(self.until_answered(|| self.read_card()).await)
    }

    fn read_card(&self) -> impl Future<Output = Result<Card, Away>> {
        api::card(&self.bridge.http, self.project, &self.call.payload.card_id)
    }

    /// What the API says, asked again until the deadline; none where it did not say so.
    async fn until_answered<T, A>(&self, ask: impl Fn() -> A) -> Option<T>
    where
        A: Future<Output = Result<T, Away>>,
    {
        let mut pause = SHORTEST_PAUSE;
        loop {
            match ask().await {
                Ok(answer) => return Some(answer),
                Err(Away(why)) => tracing::info!("the API is asked again: {why}"),
            }
            let left = left(self.command.deadline_ms);
            if left.is_zero() {
                return None;
            }
            sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits a little for the state event that names CommonGround's own deadline.
    async fn state_event(&self) -> Result<Option<(i64, i64)>, rusqlite::Error> {
        let waiter = self
            .bridge
            .waits
            .of(self.call.project, self.call.tool_call_id);
        let until = self.command.message.at_ms + millis(self.bridge.config.state_wait);
        loop {
            let named = self.named_deadline()?;
            let left = left(until);
            if named.is_some() || left.is_zero() {
                return Ok(named);
            }
            let _ = timeout(left, waiter.changed()).await;
        }
    }

    async fn run_out(&self) -> Step {
        let answer = json_of(&expired());
        self.keep(State::Expired, &[("decision", answer.into())])
            .await?;
        self.span("timeout");
        Ok(Next::Again)
    }

    /// The request as it was sent.
    fn request(&self) -> Value {
        let bytes = self.command.request.as_deref().unwrap_or_default();
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    fn parsed(&self, request: &[u8]) -> Option<ParsedRequest> {
        let key = self.bridge.gates.get(&self.project.id)?.agent();
        let id: RequestId = self.call.request_id().parse().ok()?;
        let key = countersign_sdk::wire::RequestKey {
            workspace: key.workspace.clone(),
            agent: key.agent.clone(),
            request_id: id,
        };
        parse_request(&request_subject(&key), request).ok()
    }

    async fn answer(&self) -> Step {
        let bytes = self.command.request.as_deref().unwrap_or_default();
        let (Some(gate), Some(parsed)) =
            (self.bridge.gates.get(&self.project.id), self.parsed(bytes))
        else {
            return self.run_out().await;
        };
        self.span("waiting");
        let waiter = self
            .bridge
            .waits
            .of(self.call.project, self.call.tool_call_id);
        let first = self.request()["expires_at"].as_str().and_then(unstamp);
        let mut deadline = first.unwrap_or(self.command.deadline_ms);
        // After a start its timer runs for what is left.
        let mut asking = gate.ask(Ask::raw(parsed.request).timeout(left(deadline)));
        let handle = asking.handle();
        let answered = loop {
            // Also one that was named in an earlier life: whether it was published then is not known.
            if let Some((resume, named)) = self.named_deadline()?
                && named < deadline
            {
                deadline = named;
                handle.tighten(left(deadline));
                self.keep(
                    self.command.state,
                    &[
                        ("deadline_ms", deadline.into()),
                        ("resume_ms", resume.into()),
                    ],
                )
                .await?;
            }
            tokio::select! {
                answered = &mut asking => break answered,
                () = waiter.changed() => {}
            }
        };
        match answered {
            Ok(decision) => self.decided(&decision).await,
            Err(error) if left(deadline).is_zero() => {
                tracing::warn!("nobody could be asked: {error}");
                self.run_out().await
            }
            Err(error) => {
                tracing::warn!("asking again: {error}");
                sleep(SHORTEST_PAUSE).await;
                Ok(Next::Again)
            }
        }
    }

    async fn decided(&self, decision: &Decision) -> Step {
        let answer = Answer {
            verdict: decision.verdict().to_string(),
            by: decision.decided_by().map(|by| by.name.clone()),
            message: decision.message().map(str::to_owned),
            decision_id: decision.decision_id().map(str::to_owned),
            sequence: decision.sequence(),
        };
        let kept = json_of(&answer);
        let (state, status) = match answer.verdict.as_str() {
            "approve" if decision.allowed() => (State::Forwarding, "waiting"),
            "expired" => (State::Expired, "timeout"),
            "skip" => (State::Reporting, "cancelled"),
            _ => (State::Reporting, "denied"),
        };
        self.keep(state, &[("decision", kept.into())]).await?;
        self.span(status);
        Ok(Next::Again)
    }
}

/// Has the result of a call that does not run written, until CommonGround itself stops waiting.
async fn report(bridge: &Bridge, command: &Stored, outcome: Option<Outcome>) -> Step {
    if command.report.is_some() {
        return Ok(Next::End);
    }
    let header = |name| command.message.header(name);
    let known = header("CG-Agent-Id").is_some() && header("CG-Turn-Id").is_some();
    let keep = async |state: State, word: &str| {
        let set = [("report", word.to_owned().into())];
        bridge.store.step(command.id, state, &set).await
    };
    let Some(outcome) = outcome.filter(|_| known && command.message.tool_call_id().is_some())
    else {
        keep(command.state, "not_reportable").await?;
        return Ok(Next::End);
    };
    let name = command.tool_name.as_deref().unwrap_or("tool");
    let body = job(command, name, &outcome).to_string();
    let subject = format!("countersign.bridge.{}.report", bridge.config.name);
    let until = command.deadline_ms + millis(bridge.config.margin);
    let mut pause = Duration::from_secs(1);
    loop {
        let answer = bridge
            .nats
            .request(subject.clone(), body.clone().into())
            .await;
        let answer = match answer {
            Ok(message) => Reported::read(&message.payload),
            Err(error) => Reported::Again(error.kind().to_string()),
        };
        let done = |state: State| match command.state {
            State::Reporting => state,
            // What became of the call says more than that it was reported.
            other => other,
        };
        match answer {
            Reported::Done => keep(done(State::Reported), "reported").await?,
            Reported::AlreadyAnswered => keep(done(State::Answered), "already answered").await?,
            Reported::Failed(code) => keep(command.state, &format!("failed:{code}")).await?,
            Reported::Again(why) => {
                let left = left(until);
                if left.is_zero() {
                    keep(command.state, "failed:no_answer").await?;
                    return Ok(Next::End);
                }
                tracing::info!("a report is tried again: {why}");
                sleep(pause.min(left)).await;
                pause = (pause * 2).min(LONGEST_REPORT_PAUSE);
                continue;
            }
        }
        return Ok(Next::End);
    }
}

fn json_of(answer: &Answer) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// What is left until a time of the wall clock.
fn left(until_ms: i64) -> Duration {
    Duration::from_millis((until_ms - now_ms()).max(0).unsigned_abs())
}
