//! What a removal removes where a variable is empty.

use crate::leaf::among;
use crate::paths::is_system;

/// The variables of a text, each with whether it is surely set, where `rm` removes below them.
///
/// None where each of them is: the text sets it to a literal or to what `mktemp`, `pwd`, `git rev-parse` give, or an
/// unset one ends the script.
pub(crate) fn unset(text: &str) -> Option<(String, String)> {
    let strict = [
        "set -u",
        "set -eu",
        "set -ue",
        "set -euo",
        "-o nounset",
        "set -xeu",
        "set -eux",
    ]
    .iter()
    .any(|option| text.contains(option));
    let mut last = None;
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        let (name, guarded) = match rest.strip_prefix('{') {
            Some(inner) => {
                let name = name_of(inner);
                (
                    name,
                    inner[name.len()..].starts_with(":?") || inner[name.len()..].starts_with('?'),
                )
            }
            None => (name_of(rest), false),
        };
        if name.is_empty() || guarded || among("PWD TMPDIR RANDOM", name) {
            continue;
        }
        let set = is_set(text, name);
        if set == Some(false) || (set.is_none() && !strict) {
            last = Some((name, at));
        }
    }
    let (name, at) = last?;
    // The word in which it is, up to it.
    let start = text[..at]
        .rfind([' ', '"', '\n', ';'])
        .map_or(0, |at| at + 1);
    let before = text[start..at].trim_end_matches('/');
    let what = if before.is_empty() {
        "/".to_owned()
    } else {
        before.to_owned()
    };
    Some((name.to_owned(), what))
}

fn name_of(text: &str) -> &str {
    let end = text.find(|at: char| !at.is_ascii_alphanumeric() && at != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Whether the text sets a variable to something that is not empty and no system folder; none where it does not set it.
fn is_set(text: &str, name: &str) -> Option<bool> {
    if text.contains(&format!("for {name} in ")) {
        return Some(true);
    }
    let sets = format!("{name}=");
    let mut at = text
        .match_indices(&sets)
        .map(|(at, of)| (at, at + of.len()));
    let (_, from) =
        at.find(|(at, _)| *at == 0 || text[..*at].ends_with([' ', ';', '\n', '&', '(']))?;
    let value = text[from..].trim_start_matches(['"', '\'']);
    let end = value
        .find([' ', '"', '\'', ';', '\n', '&'])
        .unwrap_or(value.len());
    let word = &value[..end];
    let given = ["$(mktemp", "$(pwd", "$(git rev-parse", "`mktemp", "`pwd"]
        .iter()
        .any(|of| value.starts_with(of));
    Some(given || (!word.is_empty() && !word.starts_with('$') && !is_system(word)))
}

#[cfg(test)]
mod tests {
    use super::unset;

    #[test]
    fn variables_are_set_or_end_the_script() {
        for (text, name) in [
            ("rm -rf \"$STAGE_ROOT/$APP_DIR\"", Some("APP_DIR")),
            ("rm -rf \"${STAGE_ROOT:?}/${APP_DIR:?}\"", None),
            ("STAGE=$(mktemp -d) && rm -rf \"$STAGE\"", None),
            ("set -u; OUT=build/site; rm -rf \"$OUT/assets\"", None),
            ("rm -rf node_modules/.cache \"$PWD/dist\"", None),
            ("X=; rm -rf \"$X/\"", Some("X")),
            ("X=/; rm -rf \"$X\"*", Some("X")),
            ("for t in a b; do rm -rf \"/srv/$t/cache\"; done", None),
        ] {
            let found = unset(text);
            assert_eq!(found.as_ref().map(|of| of.0.as_str()), name, "{text}");
        }
    }
}
