//! Why a question about a call's arguments has no answer.

/// Why a test has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unsure {
    /// The request does not say it.
    #[error("the request does not have it")]
    Missing,
    /// It has another type than the rule expects.
    #[error("its type is not the one that the rule expects")]
    WrongType,
    /// It is larger than a pattern may look at.
    #[error("it is too large to be compared")]
    TooLarge,
    /// The command cannot be read, or shells read it in different ways.
    #[error("the command cannot be read with certainty")]
    Unreadable,
    /// A program's name is not known before it runs.
    #[error("it runs a program that is not known before it runs")]
    UnknownCommand,
    /// Which file it is, is not known.
    #[error("it is unknown which file it names")]
    UnknownPath,
    /// The parts of a sequence are in it.
    #[error("it runs these commands one after the other")]
    Sequence,
    /// A program that is not known to be harmless is given the command.
    #[error("it gives this command to a program that may run it")]
    Launched,
}
