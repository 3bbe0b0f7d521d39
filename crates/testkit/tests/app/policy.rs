//! Rules that several tests put in force.

use countersign_core::App;
use countersign_core::ops::rules::{RulesChange, RulesChanged};
use countersign_core::policy::read_file;
use countersign_wire::WorkspaceName;

/// Lets every invoice be deleted.
pub(crate) const INVOICES: &str = r#"
schema = 1
[[rule]]
id = "invoices"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["delete_invoice"]
"#;

pub(crate) fn acme() -> WorkspaceName {
    "acme".parse().unwrap()
}

/// Puts a file's rules in the place of those that were.
pub(crate) async fn apply(app: &App, file: &str) -> RulesChanged {
    let rules = read_file(file).unwrap();
    let change = RulesChange::Replace { rules, seen: None };
    app.change_rules(&acme(), &change).await.unwrap()
}
