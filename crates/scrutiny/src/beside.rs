//! What the console says of a call beside its findings, and the findings of a line.

use countersign_domain::facts::RequestSummary;

use super::{Difference, Finding};

/// What the console says of a call beside its findings.
#[derive(Debug, Default)]
pub struct Scrutiny {
    /// What will happen, where the console can be sure.
    pub effect: Option<String>,
    /// The nearest call that a person approved.
    pub compared: Option<Compared>,
    /// The newest call like it that a person denied.
    pub denied: Option<Denied>,
}

/// A call that a person denied: the same, or one that shares more of whom and what it is about than the nearest
/// approved one.
#[derive(Debug)]
pub struct Denied {
    /// The earlier call.
    pub request_id: String,
    /// When it was denied, ms.
    pub at: i64,
    /// Who denied it.
    pub by: Option<String>,
    /// What the person wrote.
    pub why: Option<String>,
}

/// A call with the nearest one that a person approved.
#[derive(Debug)]
pub struct Compared {
    /// The earlier call.
    pub request_id: String,
    /// When it was approved, ms.
    pub at: i64,
    /// Who approved it.
    pub by: Option<String>,
    /// In the order of the arguments.
    pub differs: Vec<Difference>,
}

/// What was found in a request, the strongest first; none while it was not looked at, and where another console decided.
#[must_use]
pub fn findings_of(line: &RequestSummary) -> Option<Vec<Finding>> {
    serde_json::from_str(line.findings.as_deref()?).ok()
}
