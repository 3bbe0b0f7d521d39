//! `keys`: where the seeds of the signing keys are.
//!
//! A seed is never printed, and moves only while the console is stopped.

use countersign_core::App;
use countersign_core::identity::KeyPlace;
use serde_json::json;

use super::args::{KeyPlaceWord, Keys};
use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::output::{Output, plain};

/// Runs one of the commands.
pub(crate) async fn run(settings: &Settings, out: Output, command: Keys) -> Result<(), Failure> {
    match command {
        Keys::Show => show(settings, out).await,
        Keys::Move { to } => relocate(settings, out, to).await,
    }
}

async fn show(settings: &Settings, out: Output) -> Result<(), Failure> {
    let (kept, human, auto) = reading(settings, false, async |app| {
        let own = app.identity();
        Ok((own.kept().clone(), own.human_key(), own.auto_key()))
    })
    .await?;
    let (place, why) = (kept.place.as_str(), plain(&kept.why));
    if out.json {
        let line = json!({ "place": place, "why": why, "human": human, "auto": auto });
        return Ok(out.json_line(&line)?);
    }
    out.line(&format!("seeds  {place}: {why}"))?;
    out.line(&format!("human  {human}"))?;
    Ok(out.line(&format!("auto   {auto}"))?)
}

async fn relocate(settings: &Settings, out: Output, to: KeyPlaceWord) -> Result<(), Failure> {
    let place = match to {
        KeyPlaceWord::Keychain => KeyPlace::Keychain,
        KeyPlaceWord::File => KeyPlace::File,
    };
    let app = App::offline(options(settings)?).await?;
    let moved = app.move_keys(place).await;
    app.shutdown().await;
    let moved = moved?;
    let left = moved.left.map(|error| plain(&error));
    if out.json {
        let line = json!({ "place": place.as_str(), "moved": moved.moved, "left": left });
        return Ok(out.json_line(&line)?);
    }
    match moved.moved {
        true => out.line(&format!("the seeds are now in the {}", place.as_str()))?,
        false => out.line(&format!("the seeds were already in the {}", place.as_str()))?,
    }
    if let Some(left) = left {
        out.remark(&format!(
            "seeds may remain in the old place, which could not be cleared: {left}"
        ));
    }
    Ok(())
}
