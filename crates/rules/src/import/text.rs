//! Patterns of other systems as conditions.
//!
//! Refuses to say "exact" of a condition that holds for more than the pattern did.

/// A condition over a text and whether it holds for exactly what the pattern matches; otherwise it holds for
/// more.
pub(super) struct Held {
    pub(super) condition: String,
    pub(super) exact: bool,
}

/// A text as a condition writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut written = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => written.extend(['\\', c]),
            ' '..='~' => written.push(c),
            _ if c.is_alphanumeric() && !countersign_wire::is_hostile(c) => written.push(c),
            '\u{10000}'.. => written.push_str(&format!("\\U{:08x}", u32::from(c))),
            _ => written.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    written.push('\'');
    written
}

/// `subject` matches a pattern in which `*` is any run of characters, of any kind. The condition is an error
/// for what is not text. `?` and `[` represent one of several characters.
pub(super) fn matches(subject: &str, pattern: &str) -> Held {
    let plain: String = pattern
        .chars()
        .take_while(|c| !matches!(c, '?' | '['))
        .collect();
    let several = plain.len() < pattern.len();
    let mut parts: Vec<&str> = plain.split('*').collect();
    if several {
        // Whatever follows.
        parts.push("");
    }
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    if parts.len() == 1 {
        return Held {
            condition: format!("{subject} == {}", quoted(first)),
            exact: true,
        };
    }
    let mut conditions = vec![format!("{subject}.startsWith({})", quoted(first))];
    if !last.is_empty() {
        conditions.push(format!("{subject}.endsWith({})", quoted(last)));
    }
    if !first.is_empty() && !last.is_empty() {
        let least = first.chars().count() + last.chars().count();
        conditions.push(format!("size({subject}) >= {least}"));
    }
    let inner: Vec<&&str> = parts[1..parts.len() - 1]
        .iter()
        .filter(|part| !part.is_empty())
        .collect();
    for part in &inner {
        conditions.push(format!("{subject}.contains({})", quoted(part)));
    }
    let alone = inner.len() == 1 && first.is_empty() && last.is_empty();
    Held {
        condition: conditions.join(" && "),
        exact: !several && (inner.is_empty() || alone),
    }
}
