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

countersign_wire::words!(Outcome {
    Caught => "caught", Missed => "missed", FalseAlarm => "false_alarm", Passed => "passed",
});

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
