//! An approved command on its way to its tool: looked up once more, then published once.

use countersign_sdk::RequestId;
use tokio::time::sleep;

use super::{Flow, Next, SHORTEST_PAUSE, Step, left};
use crate::api::{self, Away};
use crate::card;
use crate::forward;
use crate::store::{State, as_i64};

impl Flow<'_> {
    pub(super) async fn forward(&self) -> Step {
        let answer = self.command.decision.clone().unwrap_or_default();
        let decision_id = answer.decision_id.as_deref().unwrap_or_default();
        if let Some(from) = self.command.forward_from {
            match forward::earlier(&self.bridge.jetstream, &self.call, from).await {
                Ok(Some(sequence)) => return self.forwarded(decision_id, sequence).await,
                Ok(None) => {}
                Err(why) => return self.later(&why).await,
            }
        }
        if left(self.command.deadline_ms).is_zero() {
            self.refused(decision_id, "late").await;
            return self.run_out().await;
        }
        let refused = match self.until_answered(|| self.is_answered()).await {
            Some(false) => match self.until_answered(|| self.read_card()).await {
                Some(card) if card::is_as_approved(&self.call, &card, &self.request()) => None,
                Some(_) => Some("digest_differs"),
                None => Some("api_unreachable"),
            },
            Some(true) => {
                self.refused(decision_id, "already_answered").await;
                self.keep(State::Answered, &[]).await?;
                return Ok(Next::End);
            }
            None => Some("api_unreachable"),
        };
        if let Some(code) = refused {
            self.refused(decision_id, code).await;
            self.keep(State::NotForwarded, &[]).await?;
            self.span("error");
            return Ok(Next::End);
        }
        let from = match self.command.forward_from {
            Some(from) => from,
            None => match forward::last_sequence(&self.bridge.jetstream).await {
                Ok(from) => from,
                Err(why) => return self.later(&why).await,
            },
        };
        self.keep(State::Forwarding, &[("forward_from", as_i64(from).into())])
            .await?;
        if left(self.command.deadline_ms).is_zero() {
            return Ok(Next::Again);
        }
        match forward::publish(&self.bridge.jetstream, &self.call, decision_id).await {
            Ok(sequence) => self.forwarded(decision_id, sequence).await,
            Err(why) => self.later(&why).await,
        }
    }

    /// Whether CommonGround has an answer already.
    fn is_answered(&self) -> impl Future<Output = Result<bool, Away>> {
        api::is_answered(&self.bridge.http, self.project, self.call.tool_call_id)
    }

    async fn later(&self, why: &str) -> Step {
        tracing::info!("a forward is tried again: {why}");
        sleep(SHORTEST_PAUSE).await;
        Ok(Next::Again)
    }

    async fn forwarded(&self, decision_id: &str, sequence: u64) -> Step {
        if let Some(reports) = self.reports(decision_id) {
            let sent = reports
                .executed_degraded(&self.request()["args"], ["forwarded".to_owned()])
                .await;
            noted(sent);
        }
        self.keep(
            State::Forwarded,
            &[("forwarded_seq", as_i64(sequence).into())],
        )
        .await?;
        self.span("running");
        Ok(Next::End)
    }

    async fn refused(&self, decision_id: &str, code: &str) {
        if let Some(reports) = self.reports(decision_id) {
            noted(reports.refused(code).await);
        }
    }

    fn reports(&self, decision_id: &str) -> Option<countersign_sdk::Receipts> {
        let gate = self.bridge.gates.get(&self.project.id)?;
        let id: RequestId = self.call.request_id().parse().ok()?;
        Some(gate.reports(id, decision_id))
    }
}

fn noted(sent: Result<(), countersign_sdk::GateError>) {
    if let Err(error) = sent {
        tracing::warn!("a receipt is late: {error}");
    }
}
