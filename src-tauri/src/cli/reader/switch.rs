//! Finds readers, switches one on or off in `config.toml`, and asks it about made-up cards. For command and window.

use std::path::{Path, PathBuf};

use countersign_core::App;
use countersign_core::domain::reader::{ReaderAudit, ReaderFault};
use countersign_core::ops::scrutiny::Code;
use countersign_reader::config::{self, Config, is_model};
use countersign_reader::{Answer, Asker, Http as _, Known, Source, answered, asked, locate};
use countersign_wire::ErrorCode;
use serde_json::json;
use tokio::time::Instant;

use super::super::config::FILE;
use super::super::connect::place::Target;
use super::super::failure::Failure;
use super::edit;
use super::http::Models;
use super::tries::{MadeUp, Score, made_up};

/// What is not about a call in the audit log.
const SUBJECT: &str = "reader";

/// A known program on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) name: &'static str,
    /// Its path or address; none where it was not found.
    pub(crate) place: Option<String>,
    /// The host that gets arguments, whatever model is chosen.
    pub(crate) outside: Option<&'static str>,
    pub(crate) models: Vec<String>,
}

/// Looks for all known programs.
pub(crate) async fn found() -> Vec<Found> {
    let (mut all, http) = (Vec::new(), Models::new());
    for known in Known::ALL {
        let (place, models) = match known {
            Known::ClaudeCode => (
                locate("claude").map(|path| path.display().to_string()),
                Vec::new(),
            ),
            known => match http.models(known).await {
                Some(models) => (Some("127.0.0.1".to_owned()), models),
                None => (None, Vec::new()),
            },
        };
        let (name, outside) = (known.as_str(), known.outside(None));
        all.push(Found {
            name,
            place,
            outside,
            models,
        });
    }
    all
}

/// Where a data folder's reader is set, and how its program is started.
pub(crate) fn source(folder: &Path) -> Source<Models> {
    let own = std::env::current_exe().unwrap_or_else(|_| "countersign".into());
    let words = ["reader", "guard", "--"].map(Into::into);
    Source {
        folder: folder.to_owned(),
        guard: std::iter::once(own.into()).chain(words).collect(),
        knows_code: |code| serde_json::from_value::<Code>(code.into()).is_ok(),
        http: Models::new(),
    }
}

/// Asks a known program about one made-up card, then writes it into `config.toml`. Its settings, and the copy of the
/// file.
pub(crate) async fn switch_on(
    app: &App,
    name: &str,
    workspaces: &[String],
    model: Option<&str>,
) -> Result<(Config, Option<PathBuf>), Failure> {
    if model.is_some_and(|model| !is_model(model)) {
        return Err(Failure::usage(format!("{model:?} is no name of a model")));
    }
    let target = Target::read(&app.data().path().join(FILE))?;
    let text = target.text.clone().unwrap_or_default();
    let new = edit::use_program(&text, name, workspaces, model)
        .map_err(|error| target.unreadable(error.message()))?;
    let faulty = |fault: String| {
        // The line is one that is not written.
        let (_, why) = fault.split_once("[reader] ").unwrap_or(("", &fault));
        Failure::usage(format!("{why}; see countersign reader list"))
    };
    let config = config::read(&new, app.data().path())
        .map_err(faulty)?
        .ok_or_else(|| Failure::usage("name the workspaces whose calls it reads"))?;
    let asker = Asker::new(config.clone(), source(app.data().path()));
    let failed = |why: ReaderFault| {
        let why = format!(
            "{name} did not answer a made-up card ({}): nothing was changed. Is it installed, logged in and up to date?",
            why.as_str()
        );
        Failure::new(ErrorCode::Failed, why)
    };
    if !asker.is_there().await {
        return Err(failed(ReaderFault::Missing));
    }
    if let Some(made) = made_up().first() {
        let (_, answer) = try_one(app, &asker, made).await?;
        answer.map_err(failed)?;
    }
    if Target::read(&app.data().path().join(FILE))?.text != target.text {
        let why = format!("{FILE} was changed meanwhile, so nothing was written; run it again");
        return Err(Failure::new(ErrorCode::Failed, why));
    }
    let (copy, _) = target.write(Some(&new))?;
    Ok((config, copy))
}

/// Takes the section out of `config.toml`; false where there was none.
pub(crate) fn switch_off(folder: &Path) -> Result<bool, Failure> {
    let target = Target::read(&folder.join(FILE))?;
    let Some(text) = &target.text else {
        return Ok(false);
    };
    let new = edit::remove(text).map_err(|error| target.unreadable(error.message()))?;
    let (_, changed) = target.write(Some(&new))?;
    Ok(changed)
}

/// Asks about all made-up cards, one after the other. Three failures in a row end it.
pub(crate) async fn try_cards(app: &App, asker: &Asker<Models>) -> Result<Score, Failure> {
    let (mut score, mut in_a_row) = (Score::default(), 0);
    for made in made_up() {
        let (seconds, answer) = match in_a_row {
            3.. => (0.0, Err(ReaderFault::Stopped)),
            _ => try_one(app, asker, &made).await?,
        };
        in_a_row = if answer.is_err() { in_a_row + 1 } else { 0 };
        score.add(&made, seconds, &answer);
    }
    Ok(score)
}

/// Asks about one made-up card, with its rows in the audit log.
async fn try_one(
    app: &App,
    asker: &Asker<Models>,
    made: &MadeUp,
) -> Result<(f64, Result<Answer, ReaderFault>), Failure> {
    let record = async |mut row: ReaderAudit| {
        row.detail["try"] = json!(true);
        app.record(row.action, row.subject, row.detail).await
    };
    record(asked(asker, &made.card, SUBJECT)).await?;
    let begun = Instant::now();
    let answer = asker.ask(&made.card).await;
    let took = begun.elapsed();
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    record(answered(SUBJECT, ms, &answer)).await?;
    Ok((took.as_secs_f64(), answer))
}
