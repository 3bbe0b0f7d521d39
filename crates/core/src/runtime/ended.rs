//! The error for a caller whose work ended before it was done.

use tokio::task::JoinError;

use crate::Fault;

pub(crate) fn stopped() -> Fault {
    Fault::failed("the console is stopping; start it again and repeat the command")
}

/// The fault of a task that was stopped or that panicked.
pub(crate) fn joined(error: JoinError) -> Fault {
    if error.is_cancelled() {
        return stopped();
    }
    tracing::error!(%error, "internal error");
    Fault::failed("internal error; the log says more, please report it with the version")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[tokio::test]
    async fn a_fault_of_the_program_is_no_console_that_stops() {
        let fault = tokio::task::spawn_blocking(|| panic!("a fault")).await;
        let reported = joined(fault.unwrap_err()).message;
        assert!(reported.contains("internal error"), "{reported}");
        assert!(!reported.contains("stopping"), "{reported}");
    }
}
