//! Errors of the core as the page gets them: a code and an escaped sentence.

use countersign_core::Fault;
use countersign_view::{IpcError, IpcErrorCode};

use crate::secrets::hiding;

/// The page's error for an error of the core.
pub(crate) fn fault(error: impl Into<Fault>) -> IpcError {
    let error = error.into();
    // Both enums spell the codes of the command line contract.
    let code = serde_json::to_value(error.code).and_then(serde_json::from_value);
    IpcError::new(
        code.unwrap_or(IpcErrorCode::Failed),
        hiding().escape_lines(&error.message).plain(),
    )
}

/// An error that only a window can meet.
pub(crate) fn refuse(code: IpcErrorCode, message: &str) -> IpcError {
    IpcError::new(code, hiding().escape_lines(message).plain())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_wire::ErrorCode;

    #[test]
    fn every_code_of_the_core_has_its_own_on_the_page() {
        for code in ErrorCode::ALL {
            let word = serde_json::json!(code.as_str());
            assert!(
                serde_json::from_value::<IpcErrorCode>(word).is_ok(),
                "{code}"
            );
        }
    }

    #[test]
    fn hostile_characters_of_a_message_are_marked() {
        let fault = fault(Fault::not_found("a\u{202e}b"));
        assert_eq!(fault.code, IpcErrorCode::NotFound);
        assert!(fault.message.contains("⟨U+202E⟩") && !fault.message.contains('\u{202e}'));
    }
}
