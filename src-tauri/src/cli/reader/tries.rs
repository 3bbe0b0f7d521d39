//! The made-up cards that show what a reader is worth.

use countersign_core::domain::reader::ReaderFault;
use countersign_reader::{Answer, Card};
use serde_json::Value;

const CARDS: &str = include_str!("tries/cards.json");

/// A made-up card.
#[derive(Debug, Clone)]
pub(crate) struct MadeUp {
    /// What is sent.
    pub(crate) card: Card,
    /// The places that show what is bad; none where it is good.
    pub(crate) bad: Vec<String>,
}

/// The twelve cards; dates in them are those of a fixed day.
pub(crate) fn made_up() -> Vec<MadeUp> {
    let cards: Vec<Value> = serde_json::from_str(CARDS).unwrap_or_default();
    let made = cards.iter().map(|of| {
        let bad = of["bad"].as_array().into_iter().flatten();
        let bad = bad.filter_map(|at| Some(at.as_str()?.to_owned()));
        let (text, args) = (of["card"].to_string(), of["card"]["args"].clone());
        let (card, bad) = (Card { text, args }, bad.collect());
        MadeUp { card, bad }
    });
    made.collect()
}

/// What came of the cards.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Score {
    /// Bad ones with a mark at the place.
    pub(crate) found: u32,
    /// Bad ones.
    pub(crate) of: u32,
    /// Good ones with a mark.
    pub(crate) false_marks: u32,
    /// Good ones.
    pub(crate) of_good: u32,
    /// Cards without an answer.
    pub(crate) failed: u32,
    /// Why the last of them has none.
    pub(crate) why: Option<&'static str>,
    seconds: Vec<f64>,
}

impl Score {
    /// Counts one card that took so many seconds.
    pub(crate) fn add(
        &mut self,
        made: &MadeUp,
        seconds: f64,
        answer: &Result<Answer, ReaderFault>,
    ) {
        let is_good = made.bad.is_empty();
        self.of += u32::from(!is_good);
        self.of_good += u32::from(is_good);
        match answer {
            Err(fault) => {
                self.failed += 1;
                self.why = Some(fault.as_str());
            }
            Ok(answer) => {
                let at_the_place = answer.marks.iter().any(|mark| made.bad.contains(&mark.at));
                self.found += u32::from(at_the_place);
                self.false_marks += u32::from(is_good && !answer.marks.is_empty());
                self.seconds.push(seconds);
            }
        }
    }

    /// The middle time of an answer, s.
    pub(crate) fn seconds_p50(&self) -> Option<f64> {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests;
