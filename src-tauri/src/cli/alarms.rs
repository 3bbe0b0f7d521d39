//! `alarms`: what a person must look at, and acknowledging it.
//!
//! An acknowledged alarm stays in this list until its cause is gone, and both in the audit log.

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::domain::alarm::sentence;
use countersign_core::domain::facts::Alarm;
use serde_json::{Value, json};

use super::args::{Alarms, AlarmsWhat};
use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::output::{Output, plain, wrong};
use super::when;
use countersign_view::secrets;

/// Lists the alarms, or acknowledges one.
pub(crate) async fn run(settings: &Settings, out: Output, wanted: Alarms) -> Result<(), Failure> {
    match wanted.what {
        None => list(settings, out).await,
        Some(AlarmsWhat::Ack { id }) => acknowledge(settings, out, id).await,
    }
}

async fn list(settings: &Settings, out: Output) -> Result<(), Failure> {
    let alarms = reading(settings, false, async |app| Ok(app.alarms().await?)).await?;
    if !out.json && alarms.is_empty() {
        out.remark("no alarms");
    }
    for alarm in &alarms {
        match out.json {
            true => out.json_line(&as_json(alarm))?,
            false => {
                out.line(&line(alarm))?;
                out.line(&format!("       {}", sentence(&alarm.code, &alarm.subject)))?;
            }
        }
    }
    Ok(())
}

async fn acknowledge(settings: &Settings, out: Output, id: i64) -> Result<(), Failure> {
    let app = App::offline(options(settings)?).await?;
    secrets::hide_under(app.identity().hiding());
    let done = app.acknowledge_alarm(id).await;
    app.shutdown().await;
    let alarm = done?;
    match out.json {
        true => Ok(out.json_line(&as_json(&alarm))?),
        false => Ok(out.line(&line(&alarm))?),
    }
}

fn line(alarm: &Alarm) -> String {
    let at = when::shown(Timestamp(alarm.at));
    let text = format!(
        "{:>5}  {at} {} {}",
        alarm.id,
        alarm.code,
        plain(&alarm.subject)
    );
    match alarm.acknowledged_at {
        None => wrong(&text),
        Some(at) => {
            let by = alarm.acknowledged_by.as_deref().map(plain);
            let by = by.unwrap_or_default();
            format!(
                "{text}, acknowledged {} by {by}",
                when::shown(Timestamp(at))
            )
        }
    }
}

fn as_json(alarm: &Alarm) -> Value {
    json!({
        "id": alarm.id,
        "code": alarm.code,
        "subject": plain(&alarm.subject),
        "at": Timestamp(alarm.at).rfc3339(),
        "sentence": sentence(&alarm.code, &alarm.subject),
        "acknowledged_at": alarm.acknowledged_at.map(|at| Timestamp(at).rfc3339()),
        "acknowledged_by": alarm.acknowledged_by.as_deref().map(plain),
    })
}
