//! HTTP requests and files.

use super::parts::{first, listed};
use crate::call::Call;
use crate::leaf::{Leaf, among, words_of};
use crate::net;
use crate::role::{Role, role};
use crate::shown::shown;

/// "Sends POST with a body to <https://api.hallberg.example/v1/orders>".
pub(super) fn http(call: &Call<'_>) -> Option<String> {
    let verb = |word: &str| {
        VERBS_OF_HTTP
            .into_iter()
            .find(|verb| *verb == word.to_lowercase())
    };
    let method = first(call, "method http_method verb").and_then(|text| verb(&text));
    let sends = call.tool_is("http https curl rest fetch")
        || (call.tool_is("webhook") && call.tool_is("call send trigger post fire"))
        || (call.tool_is("request api web url") && method.is_some());
    if !sends {
        return None;
    }
    let mut urls = call.leaves.iter().filter(|leaf| {
        leaf.has_word("url uri endpoint href")
            && leaf.text().is_some_and(|text| net::url(text).is_some())
    });
    let (Some(url), None) = (urls.next(), urls.next()) else {
        return None;
    };
    let url = shown(url.text()?.trim());
    let method = method.or_else(|| call.tool_words.iter().find_map(|word| verb(word)));
    let sent = "body data json form payload content";
    let body = call
        .leaves
        .iter()
        .any(|leaf| super::parts::under(leaf, sent) && !leaf.value.is_null());
    let with = if body { " with a body" } else { "" };
    Some(match method {
        Some(method) => format!("Sends {}{with} to {url}", method.to_uppercase()),
        None if body => format!("Sends a request{with} to {url}"),
        None => format!("Requests {url}"),
    })
}

const VERBS_OF_HTTP: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// What words of tools do to files.
const VERBS: [(&str, &str); 8] = [
    ("delete remove unlink rm erase", "Deletes"),
    ("move rename mv", "Moves"),
    ("copy cp", "Copies"),
    ("append", "Appends to"),
    ("edit multiedit replace patch update modify insert", "Edits"),
    ("write save overwrite", "Writes"),
    ("create mkdir touch", "Creates"),
    ("read view cat open", "Reads"),
];

/// A text editor: its `command` names an edit.
pub(super) fn is_editor(call: &Call<'_>) -> bool {
    call.tool_is("editor edit")
}

/// "Edits /srv/app/main.rs", "Moves a to b".
pub(super) fn files(call: &Call<'_>) -> Option<String> {
    const FILES: &str = "file files dir directory folder path paths document notebook text";
    // An editor is one tool for several things: its `command` is which.
    let words = match first(call, "command").filter(|_| is_editor(call)) {
        Some(command) => words_of(&command),
        None => call.tool_words.clone(),
    };
    let (of_verb, verb) = VERBS
        .iter()
        .find(|(of, _)| words.iter().any(|word| among(of, word)))?;
    let alone = words.iter().all(|word| among(of_verb, word));
    if !alone && !call.tool_is(FILES) && !is_editor(call) {
        return None;
    }
    let named = |leaf: &&Leaf<'_>| {
        let file = leaf.has_word("path paths file files filename filepath dir directory folder pattern source src from destination dest dst target to");
        file && !leaf.named("root cwd workdir working_directory include exclude")
    };
    let paths: Vec<String> = call
        .leaves
        .iter()
        .filter(named)
        .filter(|leaf| matches!(role(leaf, call), Some(Role::Path(_))))
        .filter_map(|leaf| Some(shown(leaf.text()?.trim())))
        .collect();
    let from = || first(call, "source src from from_path source_path old_path path");
    let to = || {
        first(
            call,
            "destination dest dst to to_path destination_path new_path target",
        )
    };
    match (*verb, paths.len()) {
        (_, 0) => None,
        ("Moves" | "Copies", _) => Some(format!("{verb} {} to {}", from()?, to()?)),
        // A source beside what is written: which of them, nobody knows.
        ("Deletes" | "Reads", _) | (_, 1) => Some(format!("{verb} {}", listed(paths.into_iter()))),
        _ => None,
    }
}
