//! Standard Webhooks: each event once and more often, in the order of what it is about.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_post::{Call, Post, PostError, signature};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::config::{Feed, Webhook};
use crate::event::Event;
use crate::place::{Place, kept};
use crate::queue::{Changes, Next, Outcome, Queue};
use crate::rest::Rest;
use crate::source::{Source, of_kept};
use crate::{Desk, secret, tries};

/// Events in memory.
const WINDOW: usize = 500;
/// More are read when so many are left.
const REFILL: usize = WINDOW / 2;
/// Of an answer.
const ANSWER: usize = 4 << 10;
/// Rows are read so often before anything else is looked at.
const CHUNKS: usize = 20;

/// What sends the events of one webhook.
struct Hook {
    post: Post,
    to: Webhook,
    folder: PathBuf,
    name: String,
}

impl Hook {
    fn new(folder: &Path, name: &str, to: &Webhook) -> std::io::Result<Self> {
        let post = Post::trusting(to.tls_ca.as_deref())?;
        Ok(Self {
            post,
            to: to.clone(),
            folder: folder.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The status and `Retry-After`, or the word of what failed.
    async fn call(&self, event: &Event, now: i64) -> Result<(u16, Option<String>), &'static str> {
        let secrets = secret::signing(&self.folder, &self.name, now).map_err(|_| "write")?;
        let seconds = now.div_euclid(1_000);
        let signed = signature(&secrets, &event.id, seconds, event.body.as_bytes());
        let mut headers: Vec<(&str, String)> = vec![
            (
                "user-agent",
                format!("countersign/{}", env!("CARGO_PKG_VERSION")),
            ),
            ("webhook-id", event.id.clone()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signed),
        ];
        headers.extend(
            self.to
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let call = Call {
            url: self.to.url.as_str(),
            headers,
            body: Some(event.body.clone().into_bytes()),
            timeout: Duration::from_secs(self.to.timeout_s),
            largest: ANSWER,
        };
        self.post.notify(call).await.map_err(word)
    }

    async fn send(&self, event: &Event, now: i64) -> Outcome {
        match self.call(event, now).await {
            Err(word) => Outcome::Away(word.to_owned(), None),
            Ok((200..300, _)) => Outcome::Taken,
            Ok((410, _)) => Outcome::Gone,
            Ok((status @ (408 | 425 | 429 | 500..), after)) => Outcome::Away(
                status.to_string(),
                after.and_then(|after| asked_ms(&after, now)),
            ),
            Ok((status, _)) => Outcome::Refused(status.to_string()),
        }
    }
}

pub(crate) fn word(error: PostError) -> &'static str {
    match error {
        PostError::AddressForbidden => "address_forbidden",
        PostError::Tls => "tls",
        PostError::Timeout => "timeout",
        PostError::Invalid | PostError::Connect | PostError::TooLarge => "connect",
    }
}

/// `Retry-After`: seconds, or a date.
fn asked_ms(after: &str, now: i64) -> Option<i64> {
    if let Ok(seconds) = after.trim().parse::<u32>() {
        return Some(i64::from(seconds) * 1_000);
    }
    let date = OffsetDateTime::parse(after.trim(), &Rfc2822).ok()?;
    Some((date.unix_timestamp() * 1_000 - now).max(0))
}

/// Sends one event. Returns the status, and the word of what failed.
pub(crate) async fn send_test(
    folder: &Path,
    name: &str,
    to: &Webhook,
    event: &Event,
    now: i64,
) -> (Option<u16>, Option<&'static str>) {
    let Ok(hook) = Hook::new(folder, name, to) else {
        return (None, Some("tls"));
    };
    match hook.call(event, now).await {
        Err(word) => (None, Some(word)),
        Ok((status @ 200..300, _)) => (Some(status), None),
        Ok((status, _)) => (Some(status), Some("status")),
    }
}

/// Sends until it is stopped.
pub(crate) async fn run<D: Desk>(desk: &D, feed: &Feed, to: &Webhook, stop: &CancellationToken) {
    let (mut rest, mut is_said) = (Rest::new(&feed.name, &feed.rest_s), false);
    while let Some(mut place) = Place::read(desk, &feed.name, stop).await {
        let hook = match Hook::new(desk.folder(), &feed.name, to) {
            Ok(hook) => Arc::new(hook),
            Err(error) => {
                tracing::warn!(feed = feed.name, %error, "the authorities cannot be read; the feed rests");
                let failing = (!std::mem::replace(&mut is_said, true)).then_some(true);
                let changes = Changes {
                    failing,
                    ..Changes::default()
                };
                if place.row.state != "disabled" {
                    place.state(true, &Some("tls".to_owned()), None);
                }
                place.write(desk, (changes, false), true, stop).await;
                let now = desk.now();
                rest.begin(now, None);
                let ms = rest.until().map_or(0, |until| until - now);
                let pause = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
                tokio::select! { () = sleep(pause) => {}, () = stop.cancelled() => {} }
                continue;
            }
        };
        let Some(kept) = kept(desk, &feed.name, stop).await else {
            return;
        };
        let queue = Queue::new(&to.retry_s, Rest::new(&feed.name, &feed.rest_s), kept);
        let source = Source::new(place.row.cursor, place.replay());
        let mut sending = Sending {
            desk,
            feed,
            hook: &hook,
            place,
            source,
            queue,
            flying: JoinSet::new(),
            calls: HashMap::new(),
        };
        sending.run(stop).await;
    }
}

struct Sending<'a, D> {
    desk: &'a D,
    feed: &'a Feed,
    hook: &'a Arc<Hook>,
    place: Place,
    source: Source,
    queue: Queue,
    flying: JoinSet<Outcome>,
    /// What each call sends.
    calls: HashMap<Id, Next>,
}

impl<D: Desk> Sending<'_, D> {
    /// Until the stop, or until a command has changed the feed.
    async fn run(&mut self, stop: &CancellationToken) {
        loop {
            let is_off = self.place.row.state == "disabled";
            let more = !is_off && self.fill().await;
            while !is_off && let Some(next) = self.queue.next(self.desk.now()) {
                self.fly(next);
            }
            if stop.is_cancelled() || self.place.is_changed(self.desk).await {
                self.flying.abort_all();
                return self.write(true, stop).await;
            }
            self.write(false, stop).await;
            let due = self
                .queue
                .due_at()
                .map(|at| u64::try_from(at - self.desk.now()).unwrap_or(0).max(1));
            let due = if more && self.queue.len() <= REFILL {
                Some(1)
            } else {
                due
            };
            let pause = due.map_or(self.place.look_in(), |ms| {
                self.place.look_in().min(Duration::from_millis(ms))
            });
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                Some(ended) = self.flying.join_next_with_id() => {
                    self.done(ended);
                    // All that have ended, before anything is written.
                    while let Some(ended) = self.flying.try_join_next_with_id() {
                        self.done(ended);
                    }
                }
                () = self.desk.changed(), if !more && !is_off => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Reads rows until the window is full, once half of it is empty. Returns whether there may be more.
    async fn fill(&mut self) -> bool {
        if self.queue.len() > REFILL {
            return true;
        }
        for _ in 0..CHUNKS {
            if self.queue.len() > WINDOW - 2 {
                break;
            }
            match self
                .source
                .read(self.desk, self.feed, WINDOW - self.queue.len())
                .await
            {
                Ok((events, true)) => self.queue.push(events),
                Ok((_, false)) => return false,
                Err(error) => {
                    tracing::warn!(feed = self.feed.name, %error, "the audit log cannot be read");
                    // When something is written, or a moment later.
                    return false;
                }
            }
        }
        true
    }

    fn fly(&mut self, next: Next) {
        let (desk, hook) = (self.desk.clone(), Arc::clone(self.hook));
        let sent = next.clone();
        let call = self.flying.spawn(async move {
            let event = match sent {
                Next::New(event) => Ok(Some(event)),
                Next::Kept(kept) => of_kept(&desk, &kept).await,
            };
            match event {
                Ok(Some(event)) => hook.send(&event, desk.now()).await,
                Ok(None) => Outcome::Missing,
                Err(error) => Outcome::Away(error.to_string(), None),
            }
        });
        self.calls.insert(call.id(), next);
    }

    fn done(&mut self, ended: Result<(Id, Outcome), JoinError>) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(next) = self.calls.remove(&id) else {
            return;
        };
        let outcome = match ended {
            Ok((_, outcome)) => outcome,
            Err(error) if error.is_panic() => Outcome::Away("internal".to_owned(), None),
            // It was ended with the feed.
            Err(_) => return,
        };
        self.queue.done(&next, outcome, self.desk.now());
        if !self.queue.result.is_empty() {
            tries::count(&self.feed.name, self.queue.result, 1);
        }
    }

    async fn write(&mut self, now: bool, stop: &CancellationToken) {
        let changes: Changes = std::mem::take(&mut self.queue.changes);
        if self.place.row.state != "disabled" {
            self.place
                .settle_to(self.queue.settled_to().unwrap_or(self.source.read_to));
            self.place.state(
                self.queue.is_resting(),
                &self.queue.last_error,
                self.queue.last_taken_at,
            );
        }
        let gone = std::mem::take(&mut self.queue.is_gone);
        if gone {
            "disabled".clone_into(&mut self.place.row.state);
            self.flying.abort_all();
        }
        self.place
            .write(self.desk, (changes, gone), now, stop)
            .await;
    }
}
