//! The state of a span, once the tree is known.

/// What a bar is drawn as: the words of the protocol, and what only the tree shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    /// It goes on.
    Running,
    /// It waits for a decision.
    Waiting,
    /// It ended well.
    Ok,
    /// It failed.
    Error,
    /// It was not allowed.
    Denied,
    /// Its time ran out.
    Timeout,
    /// It was given up.
    Cancelled,
    /// It was stopped before its end, such as by a limit of rounds.
    Incomplete,
    /// It never ended, although what caused it has: its agent crashed or left.
    Unfinished,
    /// It ended; how, the agent does not say.
    Ended,
}

/// The state of a span. `ended` and `parent_ended` say whether an end is known.
#[must_use]
pub fn span_state(status: Option<&str>, ended: bool, parent_ended: bool) -> Look {
    match status {
        Some("error") => Look::Error,
        Some("denied") => Look::Denied,
        Some("timeout") => Look::Timeout,
        Some("cancelled") => Look::Cancelled,
        Some("incomplete") => Look::Incomplete,
        Some("ok") => Look::Ok,
        _ if ended => Look::Ended,
        _ if parent_ended => Look::Unfinished,
        Some("waiting") => Look::Waiting,
        _ => Look::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_without_an_end_below_one_that_ended_never_ended() {
        let table = [
            (Some("running"), false, false, Look::Running),
            (None, false, false, Look::Running),
            (Some("waiting"), false, false, Look::Waiting),
            (Some("running"), false, true, Look::Unfinished),
            (Some("waiting"), false, true, Look::Unfinished),
            (None, true, false, Look::Ended),
            (Some("running"), true, true, Look::Ended),
            (Some("ok"), true, true, Look::Ok),
            (Some("error"), false, true, Look::Error),
            (Some("denied"), true, false, Look::Denied),
            (Some("timeout"), true, false, Look::Timeout),
            (Some("cancelled"), true, false, Look::Cancelled),
            (Some("incomplete"), true, false, Look::Incomplete),
        ];
        for (status, ended, parent_ended, expected) in table {
            assert_eq!(
                span_state(status, ended, parent_ended),
                expected,
                "{status:?}"
            );
        }
    }
}
