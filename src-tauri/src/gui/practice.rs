//! The practice cards of the window, in memory alone.
//!
//! They are read by their key before the store is asked, drawn like any other card, and answered here: what is decided
//! by the core is found by its key in the store, where none of them is.

mod line;
mod said;
mod trace;

use countersign_core::domain::State;
use std::collections::BTreeMap;

use countersign_core::App;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::ops::practice::{Answer, Outcome, PracticeCard, PracticeNote, Queue, Turns};
use countersign_view::{
    DecideArgs, DecideOutcome, InboxChange, InboxRow, IpcError, PracticeAnswer,
};
use countersign_wire::Verdict;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use uuid::Uuid;

pub(crate) use line::story;
pub(crate) use trace::trace;

use super::desk::Desk;
use countersign_view::window::fault;
use countersign_view::window::inbox_row;

/// What a key of the page names.
pub(crate) enum Named {
    /// A request of the store, if there is one.
    Real(String),
    /// A practice card.
    Practice {
        /// The line that it is drawn as.
        line: Box<RequestSummary>,
        /// Key of the approved call that it is made of.
        source: String,
    },
}

impl Named {
    /// The key of a real request: of a practice card that of its call.
    pub(crate) fn request(self) -> String {
        match self {
            Self::Real(key) | Self::Practice { source: key, .. } => key,
        }
    }

    /// The line of it. A practice card comes after every call.
    pub(crate) async fn line(self, app: &App) -> Result<RequestSummary, IpcError> {
        match self {
            Self::Real(key) => app.find(&key).await.map_err(fault),
            Self::Practice { line, .. } => Ok(RequestSummary {
                id: i64::MAX,
                ..*line
            }),
        }
    }
}

/// A card that waits, and the line that it is drawn as.
struct Waiting {
    card: PracticeCard,
    line: RequestSummary,
}

struct Cards {
    turns: Turns,
    waiting: BTreeMap<String, Waiting>,
    gone: Vec<String>,
    dealt: i64,
}

/// What waits for practice in this window.
pub(crate) struct Deck {
    cards: Mutex<Cards>,
    answered: Notify,
}

impl Deck {
    pub(crate) fn new() -> Self {
        let (seed, _) = Uuid::new_v4().as_u64_pair();
        let cards = Cards {
            turns: Turns::new(seed),
            waiting: BTreeMap::new(),
            gone: Vec::new(),
            dealt: 0,
        };
        Self {
            cards: Mutex::new(cards),
            answered: Notify::new(),
        }
    }

    /// Until a card was answered.
    pub(crate) async fn answered(&self) {
        self.answered.notified().await;
    }

    /// The rows of the list.
    pub(crate) fn rows(&self) -> Vec<InboxRow> {
        let cards = self.cards.lock();
        cards
            .waiting
            .values()
            .filter_map(|of| inbox_row(&of.line))
            .collect()
    }

    /// Whether a key is that of a card.
    pub(crate) fn named(&self, key: &str) -> Named {
        match self.cards.lock().waiting.get(key) {
            None => Named::Real(key.to_owned()),
            Some(of) => Named::Practice {
                line: Box::new(of.line.clone()),
                source: of.card.source().key.clone(),
            },
        }
    }

    fn take(&self, key: &str) -> Option<PracticeCard> {
        let mut cards = self.cards.lock();
        let taken = cards.waiting.remove(key)?;
        cards.gone.push(key.to_owned());
        drop(cards);
        self.answered.notify_one();
        Some(taken.card)
    }

    /// Whether nothing can come of it but by a real card that arrives.
    fn is_idle(&self) -> bool {
        let cards = self.cards.lock();
        cards.waiting.is_empty() && cards.gone.is_empty() && !cards.turns.owes()
    }

    /// Cards that are over, and those that are behind the last real one from now on.
    fn settle(&self, queue: Option<Queue>, now: i64) -> Vec<InboxChange> {
        let mut cards = self.cards.lock();
        let mut gone = std::mem::take(&mut cards.gone);
        let mut changes = Vec::new();
        cards.waiting.retain(|key, of| {
            let stays = queue.is_some() && of.line.deadline_at > now;
            if !stays {
                gone.push(key.clone());
            }
            stays
        });
        let last = queue.and_then(|queue| queue.last_due).unwrap_or_default();
        for of in cards
            .waiting
            .values_mut()
            .filter(|of| of.line.deadline_at <= last)
        {
            of.line.deadline_at = last + line::BEHIND_MS;
            changes.extend(put(&of.line));
        }
        changes.extend(gone.into_iter().map(|key| InboxChange::Gone { key }));
        changes
    }

    /// A row number that no request has.
    fn next(&self) -> i64 {
        let mut cards = self.cards.lock();
        cards.dealt -= 1;
        cards.dealt
    }

    fn deal(&self, card: PracticeCard, line: RequestSummary) -> Option<InboxChange> {
        let change = put(&line)?;
        let key = card.key().to_owned();
        self.cards
            .lock()
            .waiting
            .insert(key, Waiting { card, line });
        Some(change)
    }
}

fn put(line: &RequestSummary) -> Option<InboxChange> {
    let row = Box::new(inbox_row(line)?);
    Some(InboxChange::Put { row })
}

/// What changed among the practice cards since it was asked last, with so many real ones that arrived.
pub(crate) async fn news(desk: &Desk, arrived: usize) -> Vec<InboxChange> {
    let deck = &desk.practice;
    if arrived == 0 && deck.is_idle() {
        return Vec::new();
    }
    let now = desk.app.now().0;
    // What cannot be read counts as off: practice is never in the way.
    let switch = desk.app.practice().await.ok().filter(|switch| switch.on);
    let Some(switch) = switch else {
        return deck.settle(None, now);
    };
    deck.cards.lock().turns.arrived(arrived, switch.one_in);
    if deck.is_idle() {
        return Vec::new();
    }
    let Ok(queue) = desk.app.practice_queue().await else {
        return deck.settle(None, now);
    };
    let mut changes = deck.settle(Some(queue), now);
    let seed = deck.cards.lock().turns.take(queue, now);
    if let Some(seed) = seed {
        changes.extend(deal(desk, seed, queue).await);
    }
    changes
}

async fn deal(desk: &Desk, seed: u64, queue: Queue) -> Option<InboxChange> {
    let card = desk.app.practice_card(seed).await.ok()??;
    let source = desk.app.find(&card.source().key).await.ok()?;
    let place = (desk.practice.next(), desk.app.now().0, queue.last_due);
    let line = line::of(&card, &source, place)?;
    let line = desk.app.examined(line).await.ok()?;
    desk.practice.deal(card, line)
}

/// Answers a verdict on a practice card; none where the key is of a real one. What was seen and typed is checked before.
pub(crate) async fn decide(
    desk: &Desk,
    args: &DecideArgs,
    edited: Option<&Value>,
) -> Result<Option<DecideOutcome>, IpcError> {
    let Some(card) = desk.practice.take(&args.key) else {
        return Ok(None);
    };
    let outcome = card.judge(match (args.verdict, edited) {
        (Verdict::Approve, _) => Answer::Approved,
        (Verdict::Modify, Some(edited)) => Answer::Edited(edited),
        _ => Answer::Refused,
    });
    let kind = card.change().map(|change| change.kind);
    let note = PracticeNote::Answered(kind, outcome);
    desk.app.note_practice(note).await.map_err(fault)?;
    Ok(Some(DecideOutcome {
        state: State::Decided,
        verdict: args.verdict.as_str().to_owned(),
        release_ms: None,
        practice: Some(PracticeAnswer {
            right: matches!(outcome, Outcome::Caught | Outcome::Passed),
            words: said::words(card.change(), outcome),
        }),
    }))
}
