//! Whether the realm log is the one that this console knows, and whether a realm without administrators can come back.

use countersign_core::domain::{AlarmCode, alarm::sentence};
use countersign_core::ops::realm::own_operator;
use countersign_core::{App, Fault};
use countersign_wire::Stream;

use super::Check;
use super::Verdict::{Failed, Ok as Fine, Warning};

/// The checks of a folder that has met a bus.
pub(super) async fn checks(app: &App) -> Vec<Check> {
    if app.realm().is_none() {
        return Vec::new();
    }
    let log = match wrong(app).await {
        Ok(None) => {
            let n = own_operator(app).head.n;
            Check::new(
                "log",
                Fine,
                format!("{n} entries, as this console knows them"),
            )
        }
        Ok(Some(why)) => Check::new("log", Failed, why),
        Err(error) => Check::new("log", Failed, error.to_string()),
    };
    vec![log, recovery(app)]
}

/// What is wrong with the log on the bus. Who answers in its place is looked for now: no console may run.
async fn wrong(app: &App) -> Result<Option<String>, Fault> {
    let alarms = app.alarms().await?;
    let codes = [AlarmCode::LogDiffers, AlarmCode::LogHidden].map(AlarmCode::as_str);
    let mut raised = alarms.iter();
    if let Some(alarm) = raised.find(|alarm| codes.contains(&alarm.code.as_str())) {
        let (code, words) = (&alarm.code, sentence(&alarm.code, &alarm.subject));
        return Ok(Some(format!("{code} ({}): {words}", alarm.subject)));
    }
    let Some(bus) = app.bus() else {
        return Ok(None);
    };
    let mirrors = bus.mirrors_of(Stream::Decisions.name()).await?;
    let code = AlarmCode::LogHidden.as_str();
    let mirror = mirrors.first();
    Ok(mirror.map(|name| format!("{code} ({name}): {}", sentence(code, name))))
}

fn recovery(app: &App) -> Check {
    match own_operator(app).recovery {
        true => Check::new("recovery", Fine, "the realm has a recovery key"),
        false => Check::new(
            "recovery",
            Warning,
            "the realm has no recovery key: once its administrators have lost their keys, nobody can change operators; keep a backup with keys, or have two administrators (docs/operators.md)",
        ),
    }
}
