//! Words that bash evaluates as arithmetic or as a name: such a word runs what is in a subscript.

use crate::script::{Command, Reason, Word};

/// Whether an expression is of numbers, names and operators only.
pub(crate) fn is_plain(expression: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_ \t\n+-*/%<>=!&|^~?:,()#".contains(c);
    expression.chars().all(plain)
}

/// The subscript of an array.
pub(crate) fn subscript(text: &str) -> Result<(), Reason> {
    match is_plain(text) {
        true => Ok(()),
        false => Err(Reason::Evaluated),
    }
}

/// Programs of which every operand is a name: of `read` and its like an option's value as well.
const NAMES: [&str; 12] = [
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "unset",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "let",
    "wait",
];
/// Options whose value is a name.
const NAMED_BY: [(&str, &str); 4] = [
    ("test", "-v"),
    ("[", "-v"),
    ("printf", "-v"),
    ("wait", "-p"),
];

/// Whether a command evaluates one of its words that is not known to be a number or a name.
pub(crate) fn evaluates(command: &Command) -> Option<Reason> {
    let name = command.name()?;
    let name = name.as_str();
    let words = &command.words[1..];
    let declares = ["declare", "typeset", "local"].contains(&name);
    let nameref = |word: &Word| {
        let text = word.text.as_str();
        text.starts_with('-') && !text.starts_with("--") && text.contains('n')
    };
    if declares
        && words
            .iter()
            .any(|word| nameref(word) || (word.dynamic && word.could_be_option()))
    {
        return Some(Reason::NameReference);
    }
    let unsafe_name = |word: &Word| {
        let text = word.text.as_str();
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let unknown = word.dynamic && name.len() == text.len();
        unknown || name.contains('[')
    };
    let by_name = match name {
        // Also the value of an integer is evaluated; `let` is nothing else.
        "let" => words
            .iter()
            .any(|word| word.dynamic || !is_plain(&word.text)),
        // Data that is read into a plain name is not evaluated; a number of seconds is.
        _ if NAMES.contains(&name) => words.iter().any(unsafe_name),
        _ => false,
    };
    // What is given to an integer later is evaluated as well.
    let integer = declares
        && words
            .iter()
            .any(|word| word.text.starts_with('-') && word.text.contains('i'));
    let named = NAMED_BY.iter().any(|(program, option)| {
        let value = |pair: &[Word]| pair[0].could_be(option) && unsafe_name(&pair[1]);
        let glued =
            |word: &Word| word.text.len() > 2 && word.text.starts_with(option) && unsafe_name(word);
        *program == name && (words.windows(2).any(value) || words.iter().any(glued))
    });
    (by_name || integer || named).then_some(Reason::Evaluated)
}

/// Whether zsh evaluates what bash does not: operands of a comparison of `test`.
pub(crate) fn doubts(command: &Command) -> bool {
    let known = |word: &Word| !word.dynamic && is_plain(&word.text);
    let tests = matches!(command.name().as_deref(), Some("test" | "["));
    tests
        && command.words.windows(3).any(|three| {
            EVALUATE.iter().any(|option| three[1].could_be(option))
                && !(known(&three[0]) && known(&three[2]))
        })
}

/// Whether a command evaluates the value of a variable.
pub(crate) fn computes(command: &Command) -> bool {
    let compares = |word: &Word| EVALUATE.contains(&word.text.as_str());
    let name = command.name().unwrap_or_default();
    name == "let"
        || (matches!(name.as_str(), "test" | "[" | "[[") && command.words.iter().any(compares))
}

/// Whether an expression gives a name a value.
pub(crate) fn assigns(expression: &str) -> bool {
    let compared = ["==", "!=", "<=", ">="]
        .iter()
        .fold(expression.to_owned(), |text, sign| text.replace(sign, " "));
    compared.contains('=') || compared.contains("++") || compared.contains("--")
}

/// Operators of a test whose operands are evaluated.
pub(crate) const EVALUATE: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
