//! Practice cards: their switch, the calls that they are made of, and what came of them. Nothing here makes a request.

use countersign_practice::make;
pub use countersign_practice::{
    Answer, ApprovedCall, Change, ChangeKind, Figures, Outcome, PracticeCard, Queue, Turns,
};
use countersign_wire::{ApprovalRequest, json_value};
use serde_json::json;

use super::habits;
use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::runtime::App;
use crate::store::StoreError;
use crate::store::practice::{self, ApprovedByPerson, PracticeSwitch, PracticeVerdict};
use crate::store::request_list::RequestSummary;

/// How long an approved call is good for practice, ms.
const APPROVED_MS: i64 = 180 * 86_400_000;

/// What the writer keeps of practice.
#[derive(Debug)]
pub enum PracticeNote {
    /// Somebody turned it on or off.
    Switch(PracticeSwitch),
    /// A person answered a card.
    Answered(Option<ChangeKind>, Outcome),
}

/// How well people see changes.
#[derive(Debug)]
pub struct PracticeReport {
    /// Whether it is on, and how often a card comes.
    pub switch: PracticeSwitch,
    /// Who answered a card, by name.
    pub operators: Vec<OperatorPractice>,
}

/// The practice of one person.
#[derive(Debug)]
pub struct OperatorPractice {
    /// The name.
    pub name: String,
    /// The key.
    pub key: String,
    /// The answered cards.
    pub figures: Figures,
}

/// Writes it. Only the switch is audited: a verdict on a practice card is not a decision.
pub(super) fn keep(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    note: PracticeNote,
) -> Result<(), StoreError> {
    let operator = writer.identity.human_key().to_string();
    match note {
        PracticeNote::Switch(to) => {
            if practice::set(batch.tx, to)? {
                let detail = json!({ "on": to.on, "one_in": to.one_in });
                batch.record(operator, "practice", "practice", detail);
            }
        }
        PracticeNote::Answered(kind, outcome) => {
            let verdict = PracticeVerdict {
                operator,
                name: writer.identity.operator.clone(),
                kind: kind.map(ChangeKind::as_str),
                outcome: outcome.as_str(),
                at: batch.now.0,
            };
            practice::keep(batch.tx, &verdict)?;
        }
    }
    Ok(())
}

impl App {
    /// The line of a practice card with what is found in its call now.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when the store takes no writes.
    pub async fn examined(&self, mut line: RequestSummary) -> Result<RequestSummary, Fault> {
        let request: Option<ApprovalRequest> = serde_json::from_slice(&line.raw).ok();
        if let (Some(key), Some(request)) = (line.key(), request) {
            // As at one that arrives; nothing of it is kept.
            let found = self.ask(move |writer, batch| {
                let agent = key.agent_key();
                habits::look(&mut writer.habits, batch.tx, batch.now, &agent, &request)
            });
            let found = found.await?;
            line.findings = Some(found.text());
            line.effect = found.effect;
        }
        Ok(line)
    }

    /// Whether practice is on.
    pub async fn practice(&self) -> Result<PracticeSwitch, Fault> {
        Ok(practice::switch(self.reader()).await?)
    }

    /// Turns practice on or off, or keeps what came of a card.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when the store takes no writes.
    pub async fn note_practice(&self, note: PracticeNote) -> Result<(), Fault> {
        self.ask(move |writer, batch| keep(writer, batch, note))
            .await
    }

    /// Every person's figures.
    pub async fn practice_report(&self) -> Result<PracticeReport, Fault> {
        let mut operators: Vec<OperatorPractice> = Vec::new();
        for row in practice::counts(self.reader()).await? {
            if operators.last().is_none_or(|last| last.key != row.operator) {
                operators.push(OperatorPractice {
                    name: row.name,
                    key: row.operator,
                    figures: Figures::default(),
                });
            }
            let kind = row.kind.as_deref().and_then(ChangeKind::parse);
            if let (Some(of), Some(outcome)) = (operators.last_mut(), Outcome::parse(&row.outcome))
            {
                (0..row.cards).for_each(|_| of.figures.count(kind, outcome));
            }
        }
        Ok(PracticeReport {
            switch: self.practice().await?,
            operators,
        })
    }

    /// The real requests that wait.
    pub async fn practice_queue(&self) -> Result<Queue, Fault> {
        let (waiting, first_due, last_due) = practice::queue(self.reader()).await?;
        Ok(Queue {
            waiting: u64::try_from(waiting).unwrap_or_default(),
            first_due,
            last_due,
        })
    }

    /// A practice card of what people approved here; none where nothing fits.
    pub async fn practice_card(&self, seed: u64) -> Result<Option<PracticeCard>, Fault> {
        let found = practice::approved(self.reader(), self.now().0 - APPROVED_MS).await?;
        let calls: Vec<ApprovedCall> = found.into_iter().filter_map(call).collect();
        Ok(make(&calls, seed))
    }
}

/// The call as it ran.
fn call(row: ApprovedByPerson) -> Option<ApprovedCall> {
    let args = match &row.edited {
        Some(decision) => json_value(decision)?.get("edited_args")?.clone(),
        None => json_value(&row.raw)?.get("args")?.clone(),
    };
    Some(ApprovedCall {
        key: format!("{}/{}/{}", row.ws, row.agent, row.request_id),
        tool: row.tool,
        args,
    })
}
