//! Sends events again: those of a time, or one.

use countersign_core::App;
use countersign_core::ops::{feeds, reader};
use countersign_core::store::audit::current_head;
use countersign_core::store::feed_events::{KeptEvent, of_feed};
use countersign_core::store::feed_log::{first_since, last_before};
use countersign_core::store::feeds::{FeedNote, FeedRow};
use countersign_feeds::config::Feed;
use countersign_feeds::event::Event;
use countersign_feeds::events_of;
use countersign_wire::ErrorCode;

use super::super::failure::Failure;
use super::super::when;
use super::desk::sender;
use super::{changed, row, store_failed};

/// The events of rows from one time on and before another. Returns how many.
pub(super) async fn range(
    app: &App,
    feed: &Feed,
    since: &str,
    until: Option<&str>,
) -> Result<u64, Failure> {
    let (store, now) = (reader::store(app), app.now());
    let since = when::parse("--since", since, now)?;
    let until = until
        .map(|until| when::parse("--until", until, now))
        .transpose()?;
    let row = row(app, feed).await?;
    let first = first_since(store, &since.rfc3339())
        .await
        .map_err(store_failed)?;
    let last = match until {
        Some(until) => last_before(store, &until.rfc3339()).await,
        None => current_head(store).await.map(|head| head.seq),
    };
    // What is behind its cursor is sent anyway.
    let resume = row.resume_at.unwrap_or(row.cursor);
    let last = last.map_err(store_failed)?.min(resume);
    let Some(first) = first.filter(|first| *first <= last) else {
        return Ok(0);
    };
    let mut events = 0;
    let of = (&sender(app), feed);
    let counted = events_of(store, of, (first - 1, last), |_| {
        events += 1;
        true
    });
    counted.await.map_err(store_failed)?;
    let again = FeedRow {
        cursor: row.cursor.min(first - 1),
        replay_to: Some(last.max(row.replay_to.unwrap_or(last))),
        resume_at: Some(resume),
        ..row
    };
    let note = FeedNote {
        revived: Some((first, last)),
        ..changed(again, "replayed")
    };
    feeds::note(app, note).await?;
    Ok(events)
}

/// One event, wherever it is. Returns 1.
pub(super) async fn one(app: &App, feed: &Feed, id: &str) -> Result<u64, Failure> {
    let (store, row) = (reader::store(app), row(app, feed).await?);
    let kept = of_feed(store, &feed.name).await.map_err(store_failed)?;
    let now = app.now().0;
    let kept = match kept.into_iter().find(|kept| kept.id == id) {
        Some(kept) => Some(KeptEvent {
            tries: 0,
            due_at: now,
            state: "retrying".to_owned(),
            ..kept
        }),
        None => find(app, feed, id).await?.map(|event| KeptEvent {
            id: event.id,
            seq: event.seq,
            kind: event.kind,
            subject: event.subject,
            first_at: now,
            last_at: now,
            due_at: now,
            state: "retrying".to_owned(),
            ..KeptEvent::default()
        }),
    };
    let Some(kept) = kept else {
        let why = format!("feed {} has no event {id}", feed.name);
        return Err(Failure::new(ErrorCode::NotFound, why));
    };
    // What is behind its cursor is sent anyway.
    let waits = kept.seq > row.resume_at.unwrap_or(row.cursor);
    if !waits {
        let note = FeedNote {
            kept: vec![kept],
            ..changed(row, "replayed")
        };
        feeds::note(app, note).await?;
    }
    Ok(1)
}

async fn find(app: &App, feed: &Feed, id: &str) -> Result<Option<Event>, Failure> {
    let mut found = None;
    let sender = sender(app);
    let looked = events_of(
        reader::store(app),
        (&sender, feed),
        (0, i64::MAX),
        |event| {
            found = (event.id == id).then(|| event.clone());
            found.is_none()
        },
    );
    looked.await.map_err(store_failed)?;
    Ok(found)
}
