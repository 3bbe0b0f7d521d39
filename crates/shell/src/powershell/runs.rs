//! Cmdlets that run what they are given, and those that give names another meaning.

use crate::Shell;
use crate::script::{Command, Reason, Word};
use crate::unfold::Inner;

/// What a cmdlet runs beside the script blocks that it is given, which are read in place.
pub(crate) fn runs(name: &str, command: &Command) -> Vec<Inner> {
    let words = command.words.get(1..).unwrap_or_default();
    let block = |word: &Word| word.dynamic && word.text == "{}";
    let operands: Vec<&Word> = words
        .iter()
        .filter(|word| !word.text.starts_with('-') && !block(word))
        .collect();
    let text = || {
        let known: Option<Vec<&str>> = operands.iter().map(|word| word.literal()).collect();
        match known {
            Some(known) if !known.is_empty() => {
                vec![Inner::Text(known.join(" "), Shell::PowerShell)]
            }
            _ => vec![Inner::Unknown],
        }
    };
    match name {
        "invoke-expression" | "iex" | "start-process" | "saps" => text(),
        // A name is a method; a variable may be a block.
        "foreach-object" | "invoke-command" | "start-job" | "start-threadjob"
            if operands
                .iter()
                .any(|word| word.dynamic || name == "foreach-object") =>
        {
            vec![Inner::Unknown]
        }
        "invoke-history" => vec![Inner::Unknown],
        _ => Vec::new(),
    }
}

/// Names that `Set-Alias` makes mean something else.
pub(crate) fn redefines(
    name: &str,
    command: &Command,
    names: &mut Vec<String>,
) -> Result<(), Reason> {
    let words = command.words.iter().skip(1);
    match name {
        "set-alias" | "new-alias" => {
            for word in words {
                if word.dynamic {
                    return Err(Reason::NameReference);
                }
                names.push(word.text.clone());
            }
        }
        "set-item" | "new-item" | "copy-item" | "rename-item" => {
            let drive = |word: &Word| {
                let text = word.text.to_lowercase();
                text.starts_with("function:") || text.starts_with("alias:")
            };
            if command.words.iter().any(drive) {
                return Err(Reason::NameReference);
            }
        }
        _ => {}
    }
    Ok(())
}
