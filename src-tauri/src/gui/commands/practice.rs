//! The switch of practice cards, and what people saw.

use countersign_core::ops::practice::{OperatorPractice, PracticeNote};
use countersign_core::store::practice::PracticeSwitch;
use countersign_view::{IpcError, Nothing, PracticePerson, PracticeView, SetPracticeArgs};
use countersign_wire::ErrorCode;
use countersign_wire::escape;

use crate::gui::desk::Desk;
use countersign_view::window::{fault, refuse};

pub(crate) async fn practice(desk: &Desk, _: Nothing) -> Result<PracticeView, IpcError> {
    let report = desk.app.practice_report().await.map_err(fault)?;
    Ok(PracticeView {
        on: report.switch.on,
        one_in: report.switch.one_in,
        operators: report.operators.iter().map(person).collect(),
    })
}

pub(crate) async fn set_practice(
    desk: &Desk,
    args: SetPracticeArgs,
) -> Result<PracticeView, IpcError> {
    if !(2..=10_000).contains(&args.one_in) {
        return Err(refuse(
            ErrorCode::InvalidArgs,
            "one card in 2 to 10,000 can be practice; choose such a number",
        ));
    }
    let switch = PracticeSwitch {
        on: args.on,
        one_in: args.one_in,
    };
    let note = PracticeNote::Switch(switch);
    desk.app.note_practice(note).await.map_err(fault)?;
    practice(desk, Nothing {}).await
}

fn person(of: &OperatorPractice) -> PracticePerson {
    let (figures, found) = (&of.figures, of.figures.sensitivity());
    PracticePerson {
        name: escape(&of.name),
        key: of.key.clone(),
        shown: figures.shown,
        caught: figures.caught,
        missed: figures.missed,
        false_alarms: figures.false_alarms,
        d_prime: found.map(|of| of.d_prime),
        low: found.map(|of| of.low),
        high: found.map(|of| of.high),
    }
}
