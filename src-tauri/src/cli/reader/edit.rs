//! Changes the section `[reader]` in the text of a `config.toml`; every other byte stays, comments too.

use toml_edit::{Array, DocumentMut, Item, Table, TomlError, value};

/// What says who reads: a new reader takes none of it over.
const WHO: &str = "program command endpoint protocol key_file send_arguments_to model tokens_field";

/// Names a known program for these workspaces. Limits that are there stay.
///
/// # Errors
/// The reader's of TOML.
pub(super) fn use_program(
    text: &str,
    program: &str,
    workspaces: &[String],
    model: Option<&str>,
) -> Result<String, TomlError> {
    let mut file: DocumentMut = text.parse()?;
    let section = file.entry("reader").or_insert(Item::Table(Table::new()));
    let mut kept = std::mem::take(section).into_table().unwrap_or_default();
    WHO.split(' ').for_each(|word| drop(kept.remove(word)));
    kept["workspaces"] = value(workspaces.iter().collect::<Array>());
    kept["program"] = value(program);
    if let Some(model) = model {
        kept["model"] = value(model);
    }
    *section = Item::Table(kept);
    Ok(file.to_string())
}

/// Takes the section out.
///
/// # Errors
/// The reader's of TOML.
pub(super) fn remove(text: &str) -> Result<String, TomlError> {
    let mut file: DocumentMut = text.parse()?;
    file.remove("reader");
    Ok(file.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn comments_and_limits_stay_and_nothing_of_another_reader_does() {
        let text = "# mine\nworkspace = \"acme\" # here\n\n[reader]\n# slow\ntimeout_s = 30\ncommand = [\"/bin/x\"]\n\n[retention]\nspans_days = 90\n";
        let names = ["a".to_owned(), "b".to_owned()];
        let used = use_program(text, "ollama", &names, Some("m")).unwrap();
        for kept in [
            "# mine",
            "# here",
            "# slow",
            "timeout_s = 30",
            "[retention]",
            "workspaces = [\"a\", \"b\"]",
            "program = \"ollama\"",
            "model = \"m\"",
        ] {
            assert!(used.contains(kept), "{kept}: {used}");
        }
        assert!(!used.contains("command"), "{used}");
        let without = "# mine\nworkspace = \"acme\" # here\n\n[retention]\nspans_days = 90\n";
        assert_eq!(remove(&used).unwrap(), without);
        let fresh = use_program("", "claude-code", &names[..1], None).unwrap();
        assert_eq!(
            fresh,
            "[reader]\nworkspaces = [\"a\"]\nprogram = \"claude-code\"\n"
        );
        assert_eq!(remove(&fresh).unwrap(), "");
        assert!(remove("x = ").is_err());
    }
}
