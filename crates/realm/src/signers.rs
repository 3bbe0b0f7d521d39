//! Who may sign, as the registers ask for it.

use countersign_wire::realm::Term;
use countersign_wire::{Risk, WorkspaceName};

/// Who may sign, as the realm log says.
pub trait Signers {
    /// The term by which a value of the shared policy at this revision counts that a key signed. `u64::MAX` is what is
    /// signed now.
    fn term(&self, key: &str, revision: u64) -> Option<Term>;

    /// The last name of the operator whose key it is, or was.
    fn name(&self, key: &str) -> Option<String>;

    /// Whether it is an operator's key in force.
    fn is_operator(&self, key: &str) -> bool;
}

/// What a signer must be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Everything: no limits.
    Everything,
    /// Let calls of the workspace run up to this risk.
    UpTo(Risk),
}

impl Right {
    /// Whether a term gives it.
    #[must_use]
    pub fn is_of(self, term: &Term, workspace: Option<&WorkspaceName>) -> bool {
        match (self, workspace) {
            (Self::UpTo(risk), Some(workspace)) => term.allows(workspace.as_str(), risk),
            _ => term.is_free(),
        }
    }
}
