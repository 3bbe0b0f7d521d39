//! Ask, run what was allowed, report it.
//!
//! Only the approved arguments run, and one answer runs once.

use countersign_wire::Stage;
use serde_json::Value;

use crate::gate::Gate;
use crate::receipts::Report;
use crate::{Ask, Decision, GateError};

/// What became of a call.
#[derive(Debug)]
pub enum Ran<T, E> {
    /// It ran.
    Done(T, Decision),
    /// It ran and failed.
    Failed(E, Decision),
    /// It did not run: see the decision's verdict.
    Not(Decision),
}

impl Gate {
    /// Asks, calls `tool` with the approved arguments if it may run, and sends the receipts.
    ///
    /// An [`Ask::raw`] whose bytes were on the bus before gets the stored answer, and then runs again what an earlier
    /// life may have run: the agent has to know that itself.
    ///
    /// Allow `modify` with [`Ask::allow`] and the arguments are the edited ones. Errors
    /// as [`ask`](Self::ask); a receipt that the bus does not take at once is sent later.
    pub async fn run<T, E, F, Running>(
        &self,
        ask: impl Into<Ask>,
        tool: F,
    ) -> Result<Ran<T, E>, GateError>
    where
        E: std::fmt::Display,
        F: FnOnce(Value) -> Running,
        Running: Future<Output = Result<T, E>>,
    {
        let decision = self.ask(ask).await?;
        let Some(args) = decision.args().cloned() else {
            return Ok(Ran::Not(decision));
        };
        let mut running = UnderWay::new(&decision);
        let outcome = tool(args.clone()).await;
        running.over = true;
        drop(running);
        let receipt = match &outcome {
            Ok(_) => decision.executed(&args).await,
            Err(error) => decision.failed(error.to_string()).await,
        };
        if let Err(error) = receipt {
            tracing::warn!(request = %decision.request(), "the receipt is late: {error}");
        }
        Ok(match outcome {
            Ok(value) => Ran::Done(value, decision),
            Err(error) => Ran::Failed(error, decision),
        })
    }
}

/// A call under way; one that is dropped or panics is reported as failed.
struct UnderWay<'a> {
    decision: &'a Decision,
    over: bool,
}

impl<'a> UnderWay<'a> {
    fn new(decision: &'a Decision) -> Self {
        let over = false;
        Self { decision, over }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.over {
            let report = Report {
                digest: self.decision.args_digest(),
                ..Report::saying(Stage::Failed, "stopped while it ran")
            };
            self.decision.receipts.post(report);
        }
    }
}
