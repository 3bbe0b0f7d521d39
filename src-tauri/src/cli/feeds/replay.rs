//! Sends events again: those of a time, or one.

use countersign_core::App;
use countersign_core::ops::reader;
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
use super::{changed, store_failed, write};

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
    let first = first_since(store, &since.rfc3339())
        .await
        .map_err(store_failed)?;
    let last = match until {
        Some(until) => last_before(store, &until.rfc3339()).await,
        None => current_head(store).await.map(|head| head.seq),
    };
    let last = last.map_err(store_failed)?;
    let row = write(app, feed, |row| range_again(row, first, last)).await?;
    let (mut events, of) = (0, (&sender(app), feed));
    let again = (first.unwrap_or(i64::MAX) - 1, last.min(resume(&row)));
    let counted = events_of(store, of, again, |_| {
        events += 1;
        true
    });
    counted.await.map_err(store_failed)?;
    Ok(events)
}

/// None where nothing of these rows was settled yet: what is behind the cursor is sent anyway.
fn range_again(row: FeedRow, first: Option<i64>, last: i64) -> Option<FeedNote> {
    let resume = resume(&row);
    let first = first.filter(|first| *first <= last.min(resume))?;
    let again = FeedRow {
        cursor: row.cursor.min(first - 1),
        replay_to: Some(last.min(resume).max(row.replay_to.unwrap_or(0))),
        resume_at: Some(resume),
        ..row
    };
    Some(FeedNote {
        revived: Some((first, last)),
        ..changed(again, "replayed")
    })
}

/// What is behind the cursor is sent again by the change alone, in its place.
fn one_again(row: FeedRow, kept: &KeptEvent, was_kept: bool) -> FeedNote {
    let is_kept = was_kept || kept.seq <= resume(&row);
    FeedNote {
        kept: is_kept.then(|| kept.clone()).into_iter().collect(),
        ..changed(row, "replayed")
    }
}

/// The row behind which everything is sent anyway.
fn resume(row: &FeedRow) -> i64 {
    row.resume_at.unwrap_or(row.cursor)
}

/// One event, wherever it is. Returns 1.
pub(super) async fn one(app: &App, feed: &Feed, id: &str) -> Result<u64, Failure> {
    let store = reader::store(app);
    let kept = of_feed(store, &feed.name).await.map_err(store_failed)?;
    let now = app.now().0;
    let kept = kept.into_iter().find(|kept| kept.id == id);
    let was_kept = kept.is_some();
    let kept = match kept {
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
    write(app, feed, |row| Some(one_again(row, &kept, was_kept))).await?;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn row(cursor: i64, replay_to: Option<i64>, resume_at: Option<i64>) -> FeedRow {
        FeedRow {
            cursor,
            replay_to,
            resume_at,
            revision: 7,
            ..FeedRow::default()
        }
    }

    /// Cursor, up to where again, where it goes on, and which dead ones are sent again.
    fn again(row: FeedRow, first: Option<i64>, last: i64) -> Option<[i64; 5]> {
        let note = range_again(row, first, last)?;
        let ((row, read), revived) = (note.row.unwrap(), note.revived.unwrap());
        assert_eq!((read, row.revision), (7, 8));
        let (to, resume) = (row.replay_to.unwrap(), row.resume_at.unwrap());
        Some([row.cursor, to, resume, revived.0, revived.1])
    }

    #[test]
    fn a_range_is_sent_again_up_to_the_cursor_and_then_it_goes_on() {
        let (at, sent) = (row(10, None, None), row(5, Some(8), Some(30)));
        for (row, first, last, expected) in [
            (&at, Some(3), 6, Some([2, 6, 10, 3, 6])),
            (&at, Some(3), 20, Some([2, 10, 10, 3, 20])),
            (&at, Some(11), 20, None),
            (&at, Some(7), 6, None),
            (&at, None, 20, None),
            // While others are sent again.
            (&sent, Some(3), 6, Some([2, 8, 30, 3, 6])),
            (&sent, Some(20), 40, Some([5, 30, 30, 20, 40])),
        ] {
            assert_eq!(
                again(row.clone(), first, last),
                expected,
                "{first:?} {last}"
            );
        }
    }

    #[test]
    fn one_behind_the_cursor_is_kept_and_one_before_it_comes_anyway() {
        let kept = |seq| KeptEvent {
            seq,
            ..KeptEvent::default()
        };
        for (seq, was_kept, is_kept) in [(10, false, true), (11, false, false), (11, true, true)] {
            let note = one_again(row(10, None, None), &kept(seq), was_kept);
            assert_eq!(
                (note.kept.len(), note.row.unwrap().0.revision),
                (usize::from(is_kept), 8)
            );
        }
    }
}
