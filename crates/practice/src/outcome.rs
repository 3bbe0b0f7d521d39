//! What a verdict on a practice card is worth.

use serde_json::Value;

use crate::card::PracticeCard;

/// What a person did with the card.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// Approved as it is.
    Approved,
    /// Approved with other arguments.
    Edited(&'a Value),
    /// Denied, terminated, skipped, handed on or answered instead: it does not run so.
    Refused,
}

/// What that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The change was seen.
    Caught,
    /// The change would have run.
    Missed,
    /// Refused without a change.
    FalseAlarm,
    /// Approved without a change.
    Passed,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Caught, Self::Missed, Self::FalseAlarm, Self::Passed];

    /// The word in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Missed => "missed",
            Self::FalseAlarm => "false_alarm",
            Self::Passed => "passed",
        }
    }

    /// Reads the word of the store.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.as_str() == word)
    }
}

impl PracticeCard {
    /// Judges a verdict. An edit is right once the value that was changed is the approved one again.
    #[must_use]
    pub fn judge(&self, answer: Answer<'_>) -> Outcome {
        let Some(change) = &self.change else {
            return match answer {
                Answer::Refused => Outcome::FalseAlarm,
                Answer::Approved | Answer::Edited(_) => Outcome::Passed,
            };
        };
        let seen = match answer {
            Answer::Refused => true,
            Answer::Approved => false,
            Answer::Edited(args) => args.pointer(&change.at) == change.was.as_ref(),
        };
        if seen {
            Outcome::Caught
        } else {
            Outcome::Missed
        }
    }
}
