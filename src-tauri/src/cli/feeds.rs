//! `feeds`: what is sent to other systems, what they did not take, and their secrets.

mod desk;
mod replay;
mod shown;

use countersign_core::App;
use countersign_core::ops::{feeds, reader};
use countersign_core::store::feed_events::of_feed;
use countersign_core::store::feeds::{FeedNote, FeedRow, all};
use countersign_feeds::config::{Feed, Target, read_in};
use countersign_feeds::event::{Sender, test};
use countersign_feeds::{detail, secret, send_test};
use countersign_wire::ErrorCode;
use serde_json::json;
use uuid::Uuid;

use super::args::Feeds as Asked;
use super::config::Settings;
use super::console::{options, reading};
use super::failure::Failure;
use super::output::{Output, plain};
use countersign_view::secrets;

/// How often a change is made again that another command was faster than.
const TRIES: usize = 10;

pub use desk::Feeds;
pub(crate) use shown::states;

/// Does one of them.
pub(crate) async fn run(settings: &Settings, out: Output, asked: Asked) -> Result<(), Failure> {
    let feeds = wanted(settings)?;
    let named = |name: &str| {
        let found = feeds.iter().find(|feed| feed.name == name).cloned();
        found.ok_or_else(|| {
            Failure::new(
                ErrorCode::NotFound,
                format!("there is no feed {name:?} in config.toml"),
            )
        })
    };
    match asked {
        Asked::List => {
            reading(settings, false, async |app| {
                shown::list(app, out, &feeds).await
            })
            .await
        }
        Asked::Test { name } => try_one(settings, out, &named(&name)?).await,
        Asked::Failed { name } => {
            let feed = named(&name)?;
            reading(settings, false, async |app| {
                let kept = of_feed(reader::store(app), &feed.name)
                    .await
                    .map_err(store_failed)?;
                shown::failed(out, &kept)
            })
            .await
        }
        Asked::Replay {
            name,
            since,
            until,
            id,
        } => {
            let feed = named(&name)?;
            writing(settings, async |app| {
                let sent = match &id {
                    Some(id) => replay::one(app, &feed, id).await?,
                    None => {
                        replay::range(
                            app,
                            &feed,
                            since.as_deref().unwrap_or_default(),
                            until.as_deref(),
                        )
                        .await?
                    }
                };
                out_line(
                    out,
                    &json!({ "feed": feed.name, "events": sent }),
                    &format!("{sent} events are sent again"),
                )
            })
            .await
        }
        Asked::Secret { name } => {
            let feed = webhook(named(&name)?)?;
            let secret = secret::current(&settings.data_dir, &feed.name)?;
            out_line(
                out,
                &json!({ "feed": feed.name, "secret": secret }),
                &secret,
            )
        }
        Asked::Rotate { name } => {
            let feed = webhook(named(&name)?)?;
            writing(settings, async |app| rotate(app, out, &feed).await).await
        }
        Asked::Enable { name } => {
            let feed = named(&name)?;
            writing(settings, async |app| enable(app, out, &feed).await).await
        }
    }
}

fn wanted(settings: &Settings) -> Result<Vec<Feed>, Failure> {
    let file = settings.data_dir.join(super::config::FILE);
    read_in(&settings.data_dir)
        .map_err(|fault| Failure::environment(format!("{}, {fault}", file.display())))
}

/// Works on the store, beside a running console too.
async fn writing(
    settings: &Settings,
    work: impl AsyncFnOnce(&App) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let app = App::offline(options(settings)?).await?;
    secrets::hide_under(app.identity().hiding());
    let done = work(&app).await;
    app.shutdown().await;
    done
}

fn store_failed(error: countersign_core::store::StoreError) -> Failure {
    countersign_core::Fault::from(error).into()
}

fn out_line(out: Output, json: &serde_json::Value, text: &str) -> Result<(), Failure> {
    let printed = match out.json {
        true => out.json_line(json),
        false => out.line(text),
    };
    Ok(printed?)
}

fn webhook(feed: Feed) -> Result<Feed, Failure> {
    match feed.to {
        Target::Webhook(_) => Ok(feed),
        _ => Err(Failure::new(
            ErrorCode::InvalidArgs,
            format!(
                "{} is a {} feed; only webhooks are signed",
                feed.name,
                feed.kind()
            ),
        )),
    }
}

/// Writes a change that is made from the row of a feed; made again where another command changed that meanwhile.
async fn write(
    app: &App,
    feed: &Feed,
    change: impl Fn(FeedRow) -> Option<FeedNote>,
) -> Result<FeedRow, Failure> {
    for _ in 0..TRIES {
        let row = row(app, feed).await?;
        let Some(note) = change(row.clone()) else {
            return Ok(row);
        };
        if feeds::note(app, note).await? {
            return Ok(row);
        }
    }
    Err(Failure::new(
        ErrorCode::Failed,
        format!("other commands keep changing feed {}; try again", feed.name),
    ))
}

/// The row of a feed that a console has had.
async fn row(app: &App, feed: &Feed) -> Result<FeedRow, Failure> {
    let rows = all(reader::store(app)).await.map_err(store_failed)?;
    let found = rows.into_iter().find(|row| row.name == feed.name);
    found.ok_or_else(|| {
        Failure::environment(format!(
            "no console has started with feed {} yet",
            feed.name
        ))
    })
}

/// A change that a running console follows.
fn changed(row: FeedRow, state: &str) -> FeedNote {
    let audit = Some((detail(state, &row.address), true));
    let (feed, read) = (row.name.clone(), row.revision);
    let row = FeedRow {
        revision: read + 1,
        ..row
    };
    FeedNote {
        feed,
        row: Some((row, read)),
        audit,
        ..FeedNote::default()
    }
}

async fn rotate(app: &App, out: Output, feed: &Feed) -> Result<(), Failure> {
    let (new, until) = secret::rotate(&settings_folder(app), &feed.name, app.now().0)?;
    let audit = Some((detail("rotated", &feed.address().to_string()), true));
    feeds::note(
        app,
        FeedNote {
            feed: feed.name.clone(),
            audit,
            ..FeedNote::default()
        },
    )
    .await?;
    let json = json!({ "feed": feed.name, "secret": new, "old_until": until.rfc3339() });
    out_line(
        out,
        &json,
        &format!("{new}\nThe old secret signs too until {}.", until.rfc3339()),
    )
}

fn settings_folder(app: &App) -> std::path::PathBuf {
    app.data().path().to_owned()
}

async fn enable(app: &App, out: Output, feed: &Feed) -> Result<(), Failure> {
    let enabled = |row: FeedRow| {
        let state = "ok".to_owned();
        (row.state == "disabled").then(|| changed(FeedRow { state, ..row }, "enabled"))
    };
    let state = match write(app, feed, enabled).await?.state.as_str() {
        "disabled" => "ok".to_owned(),
        other => other.to_owned(),
    };
    out_line(
        out,
        &json!({ "feed": feed.name, "state": state }),
        &format!("{}: {state}", feed.name),
    )
}

/// Sends an event of its own, also where no console has been.
async fn try_one(settings: &Settings, out: Output, feed: &Feed) -> Result<(), Failure> {
    let tried = tried(settings, feed).await?;
    let fix = tried.error.map(shown::fix);
    let words = match (tried.error, fix) {
        (Some(error), Some(fix)) => format!("{}: {error}; {fix}", plain(&feed.name)),
        _ => format!("{}: taken in {} ms", plain(&feed.name), tried.ms),
    };
    let printed = out_line(
        out,
        &json!({
            "feed": feed.name, "ok": tried.error.is_none(), "status": tried.status, "ms": tried.ms,
            "error": tried.error, "fix": fix,
        }),
        &words,
    );
    let answer = match tried.error {
        None => Ok(()),
        Some(_) => Err(Failure::Printed(ErrorCode::Failed)),
    };
    Failure::answered(printed, answer)
}

async fn tried(settings: &Settings, feed: &Feed) -> Result<countersign_feeds::Tried, Failure> {
    let random = Uuid::new_v4().to_string();
    let work = async |sender: Sender, now: countersign_core::domain::Timestamp| {
        let event = test(&sender, &now.rfc3339(), &random);
        send_test(&settings.data_dir, feed, &event, &sender.console, now.0).await
    };
    if !settings.data_dir.join("countersign.db").is_file() {
        return Err(countersign_core::data_dir::no_console(&settings.data_dir).into());
    }
    reading(settings, false, async |app| {
        Ok(work(desk::sender(app), app.now()).await)
    })
    .await
}

/// What `doctor --feeds` says: whether each receiver takes an event.
pub(crate) async fn tries(settings: &Settings) -> Result<Vec<(bool, String)>, Failure> {
    let mut found = Vec::new();
    for feed in wanted(settings)? {
        let tried = tried(settings, &feed).await?;
        found.push(match tried.error {
            None => (
                true,
                format!("{} took an event in {} ms", feed.name, tried.ms),
            ),
            Some(error) => (
                false,
                format!("{}: {error}; {}", feed.name, shown::fix(error)),
            ),
        });
    }
    Ok(found)
}
