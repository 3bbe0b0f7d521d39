//! Errors of the core as the page gets them: a code and an escaped sentence.

use crate::{FaultCode, IpcError};
use countersign_domain::Fault;

use crate::secrets::hiding;

/// The page's error for an error of the core.
pub fn fault(error: impl Into<Fault>) -> IpcError {
    let error = error.into();
    IpcError::new(error.code, hiding().escape_lines(&error.message).plain())
}

/// An error that only a window can meet.
pub fn refuse(code: impl Into<FaultCode>, message: &str) -> IpcError {
    IpcError::new(code, hiding().escape_lines(message).plain())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_wire::ErrorCode;

    #[test]
    fn hostile_characters_of_a_message_are_marked() {
        let fault = fault(Fault::not_found("a\u{202e}b"));
        assert_eq!(fault.code, ErrorCode::NotFound.into());
        assert!(fault.message.contains("⟨U+202E⟩") && !fault.message.contains('\u{202e}'));
    }
}
