//! `practice`: its switch and its figures.

use countersign_core::App;
use countersign_core::ops::practice::{OperatorPractice, PracticeNote, PracticeReport};
use countersign_core::store::practice::PracticeSwitch;
use serde_json::{Value, json};

use super::args::Practice;
use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::output::{Output, plain};
use countersign_view::secrets;

/// Turns practice on or off, or shows its figures.
pub(crate) async fn run(settings: &Settings, out: Output, what: Practice) -> Result<(), Failure> {
    match what {
        Practice::On { one_in } => set(settings, out, Some(one_in)).await,
        Practice::Off => set(settings, out, None).await,
        Practice::Report => report(settings, out).await,
    }
}

async fn set(settings: &Settings, out: Output, one_in: Option<u32>) -> Result<(), Failure> {
    let app = App::offline(options(settings)?).await?;
    secrets::hide_under(app.identity().hiding());
    let done = change(&app, one_in).await;
    app.shutdown().await;
    let switch = done?;
    if out.json {
        return Ok(out.json_line(&json!({ "on": switch.on, "one_in": switch.one_in }))?);
    }
    Ok(out.line(&sentence(switch))?)
}

async fn change(app: &App, one_in: Option<u32>) -> Result<PracticeSwitch, Failure> {
    let switch = PracticeSwitch {
        on: one_in.is_some(),
        one_in: one_in.unwrap_or(app.practice().await?.one_in),
    };
    app.note_practice(PracticeNote::Switch(switch)).await?;
    Ok(switch)
}

fn sentence(switch: PracticeSwitch) -> String {
    match switch.on {
        true => format!(
            "practice is on: about one card in {} of the window",
            switch.one_in
        ),
        false => "practice is off".to_owned(),
    }
}

async fn report(settings: &Settings, out: Output) -> Result<(), Failure> {
    let report = reading(settings, false, async |app| {
        Ok(app.practice_report().await?)
    })
    .await?;
    if out.json {
        return Ok(out.json_line(&as_json(&report))?);
    }
    out.line(&sentence(report.switch))?;
    for operator in &report.operators {
        out.line(&line(operator))?;
        for (kind, of) in &operator.figures.kinds {
            let (words, shown, caught) = (kind.words(), of.shown, of.caught);
            out.line(&format!("  {words}: {caught} of {shown} caught"))?;
        }
    }
    Ok(())
}

fn line(operator: &OperatorPractice) -> String {
    let of = &operator.figures;
    let changed = of.caught + of.missed;
    let d_prime = match of.sensitivity() {
        Some(found) => format!(
            "d′ {:.2} ({:.2} to {:.2})",
            found.d_prime, found.low, found.high
        ),
        None => "d′: too few".to_owned(),
    };
    format!(
        "{}: {} of {changed} changes caught, {} false alarms on {} unchanged cards, {d_prime}",
        plain(&operator.name),
        of.caught,
        of.false_alarms,
        of.shown - changed,
    )
}

fn as_json(report: &PracticeReport) -> Value {
    let operators = report.operators.iter().map(|operator| {
        let of = &operator.figures;
        let found = of.sensitivity();
        let kinds = of.kinds.iter().map(|(kind, of)| {
            json!({ "kind": kind.as_str(), "shown": of.shown, "caught": of.caught, "missed": of.missed })
        });
        json!({
            "name": plain(&operator.name), "key": operator.key,
            "shown": of.shown, "caught": of.caught, "missed": of.missed, "false_alarms": of.false_alarms,
            "kinds": kinds.collect::<Vec<_>>(),
            "d_prime": found.map(|of| of.d_prime), "low": found.map(|of| of.low), "high": found.map(|of| of.high),
        })
    });
    json!({
        "on": report.switch.on, "one_in": report.switch.one_in, "operators": operators.collect::<Vec<_>>(),
    })
}
