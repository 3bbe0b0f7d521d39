//! Writes to what runs later on its own, by a command.

use super::{Act, Line};
use crate::finding::Code;
use crate::leaf::among;
use crate::paths::runs_later;

pub(crate) fn act(line: &Line<'_>) -> Option<Act> {
    let (same, what) = of_line(line)?;
    Some(Act::stop(Code::Persists, same, what))
}

fn of_line(line: &Line<'_>) -> Option<(String, String)> {
    let writes = |path: &str, later: &str| {
        (
            path.to_owned(),
            format!("writes {}, {later}", crate::shown::shown(path)),
        )
    };
    for path in line.written() {
        let placed = in_folder(path, line);
        if let Some(later) = runs_later(&placed) {
            return Some(writes(path, later));
        }
    }
    let texts = line.texts();
    let first = texts.first().copied().unwrap_or_default();
    let target = match line.name.as_str() {
        "tee" | "touch" => line
            .operands()
            .find(|word| runs_later(&word.text).is_some()),
        "cp" | "mv" | "install" | "ln" | "rsync" => line.operands().last().filter(|word| {
            runs_later(&word.text).is_some()
                || runs_later(&format!("{}/x", word.text.trim_end_matches('/'))).is_some()
        }),
        "sed" | "perl" if line.has("i", "in-place") => line
            .operands()
            .find(|word| runs_later(&word.text).is_some()),
        _ => None,
    };
    if let Some(word) = target {
        let later = runs_later(&word.text).unwrap_or("a file that runs later automatically");
        return Some(writes(&word.text, later));
    }
    let said = match line.name.as_str() {
        "crontab" => {
            (!line.has("l", "list") && !line.has("r", "")).then_some("changes the cron table")
        }
        "at" | "batch" => (!line.has("l", "")).then_some("lets something run later"),
        "systemctl" => {
            among("enable link reenable", first).then_some("lets a service start automatically")
        }
        "launchctl" => {
            among("load bootstrap enable", first).then_some("lets a service start automatically")
        }
        "schtasks" => line
            .words
            .iter()
            .any(|word| word.text.eq_ignore_ascii_case("/create"))
            .then_some("lets something run later"),
        "update-rc.d" | "chkconfig" => Some("lets a service start automatically"),
        "ssh-copy-id" => Some("lets a key log in"),
        "git" => {
            let hooks = line.words.iter().any(|word| {
                word.text == "core.hooksPath"
                    || word.text == "core.hookspath"
                    || word.text == "core.fsmonitor"
            });
            (hooks && first == "config").then_some("changes what git runs automatically")
        }
        _ => None,
    };
    said.map(|what| (line.shape(), format!("{what}: {}", line.shown())))
}

/// A relative target in the folder that the script went to.
fn in_folder(path: &str, line: &Line<'_>) -> String {
    match &line.folder {
        Some(folder) if !path.starts_with(['/', '~']) => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}
