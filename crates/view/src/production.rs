//! The workspaces marked as production, so that a person sees at once where a call would run.
//!
//! The mark changes only what is shown.

use countersign_wire::WorkspaceName;

/// The workspaces that are marked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Production {
    /// Those that call themselves `prod` or `production`.
    #[default]
    ByName,
    /// Those that `config.toml` names, and no other.
    Listed(Vec<WorkspaceName>),
}

impl Production {
    /// Whether a workspace is marked.
    pub fn marks(&self, workspace: &str) -> bool {
        match self {
            Self::ByName => names_itself(workspace),
            Self::Listed(names) => names.iter().any(|name| name.as_ref() == workspace),
        }
    }
}

/// `acme-prod` does, `non-prod`, `pre_production` and `products` do not.
fn names_itself(workspace: &str) -> bool {
    let parts: Vec<&str> = workspace.split(['-', '_']).collect();
    parts.iter().enumerate().any(|(place, part)| {
        let before = place.checked_sub(1).and_then(|before| parts.get(before));
        let turned = before.is_some_and(|word| ["no", "non", "not", "pre"].contains(word));
        ["prod", "production"].contains(part) && !turned
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_workspace_is_marked_by_its_name_until_the_file_names_others() {
        for (name, marked) in [
            ("prod", true),
            ("acme-prod", true),
            ("production_eu", true),
            ("acme-prod-eu", true),
            ("products", false),
            ("non-prod", false),
            ("acme_pre_production", false),
            ("staging", false),
        ] {
            assert_eq!(Production::ByName.marks(name), marked, "{name}");
        }
        let listed = Production::Listed(vec!["billing".parse().unwrap()]);
        assert!(listed.marks("billing") && !listed.marks("acme-prod"));
        assert!(!Production::Listed(Vec::new()).marks("prod"));
    }
}
