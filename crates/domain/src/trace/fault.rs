//! What kind of failure a span reports.

/// Kinds that a person treats in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// 428: the tool lacks a credential.
    Credential,
    /// 402: the balance does not cover it.
    Balance,
    /// 502: the tool failed.
    Tool,
    /// 504: the tool did not answer in time.
    ToolTimeout,
    /// The arguments did not fit the tool.
    Validation,
    /// Anything else.
    Other,
}

impl FaultKind {
    /// From the code and the type that the agent's framework gives.
    #[must_use]
    pub fn of(code: Option<&str>, error_type: Option<&str>) -> Self {
        match code.map(str::trim) {
            Some("428") => Self::Credential,
            Some("402") => Self::Balance,
            Some("502") => Self::Tool,
            Some("504") => Self::ToolTimeout,
            _ if error_type.is_some_and(|name| name.contains("ValidationError")) => {
                Self::Validation
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_kind_and_the_code_goes_before_the_type() {
        let table = [
            (Some("428"), None, FaultKind::Credential),
            (Some("402"), None, FaultKind::Balance),
            (Some(" 502 "), Some("ValidationError"), FaultKind::Tool),
            (Some("504"), None, FaultKind::ToolTimeout),
            (Some("500"), None, FaultKind::Other),
            (None, Some("ToolValidationError"), FaultKind::Validation),
            (None, Some("ValueError"), FaultKind::Other),
            (None, None, FaultKind::Other),
        ];
        for (code, error_type, kind) in table {
            assert_eq!(
                FaultKind::of(code, error_type),
                kind,
                "{code:?} {error_type:?}"
            );
        }
    }
}
