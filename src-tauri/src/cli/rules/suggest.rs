//! `rules suggest`: what people approve again and again. A suggestion is text until somebody applies it.

use countersign_core::ops::suggest::Suggestion;
use serde_json::{Value, json};

use super::shown::toml_of;
use crate::cli::config::Settings;
use crate::cli::console::reading;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, plain};
use crate::cli::unread;

/// What a rule file begins with.
const HEAD: &str = "schema = 1";

/// Lists what the workspace's rules could take over, the most frequent first.
pub(super) async fn run(settings: &Settings, out: Output) -> Result<(), Failure> {
    let workspace = &settings.workspace;
    unread::caution_soon(settings, out).await?;
    reading(settings, false, async |app| {
        let found = app.suggest_rules(workspace, |_| true).await?;
        if out.json {
            for of in &found {
                out.json_line(&json_of(of))?;
            }
        } else if !found.is_empty() {
            out.line(&file_of(&found)?)?;
        }
        if found.is_empty() && !out.json {
            out.line(
                "nothing was approved by people at least 5 times in 30 days without a denial",
            )?;
        }
        Ok(())
    })
    .await
}

fn json_of(of: &Suggestion) -> Value {
    json!({
        "rule": of.rule.to_json(), "approvals": of.approvals, "operators": of.operators.len(),
        "first": of.first.rfc3339(), "last": of.last.rfc3339(), "requests": of.requests,
    })
}

/// All of them as one rule file.
fn file_of(found: &[Suggestion]) -> Result<String, Failure> {
    let mut file = format!("{HEAD}\n");
    for of in found {
        let requests: Vec<String> = of.requests.iter().map(|id| plain(id)).collect();
        let rule = toml_of(std::slice::from_ref(&of.rule))?;
        file.push_str(&format!(
            "\n# {} approvals by {} operators, {} to {}, such as {}\n{}\n",
            of.approvals,
            of.operators.len(),
            of.first.rfc3339(),
            of.last.rfc3339(),
            requests.join(", "),
            rule.trim_start_matches(HEAD).trim(),
        ));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use countersign_core::domain::Timestamp;
    use countersign_core::policy::body::read_rule;
    use countersign_core::policy::read_file;

    use super::*;

    #[test]
    fn all_suggestions_together_are_one_rule_file() {
        let of = |id: &str| Suggestion {
            rule: read_rule(&format!(
                "id = \"{id}\"\neffect = \"ask\"\nargs.\"/a\" = {{ eq = 1 }}\n"
            ))
            .unwrap(),
            approvals: 5,
            operators: Default::default(),
            first: Timestamp(0),
            last: Timestamp(1),
            requests: vec!["r1".into()],
        };
        let file = file_of(&[of("a"), of("b")]).unwrap();
        let rules = read_file(&file).unwrap();
        let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"], "{file}");
    }
}
