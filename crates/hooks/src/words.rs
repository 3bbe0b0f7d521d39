//! What the user said last, from the file in which a program keeps its session: Claude Code's and Codex's JSON lines.
//!
//! Only helps the person who decides: whatever cannot be read is left out.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use countersign_sdk::wire::HistoryItem;
use serde_json::Value;

/// The user's words are near the end; what tools gave back may be long.
const END: u64 = 4 * 1024 * 1024;
/// Characters of them on a card.
const MOST: usize = 2_000;

/// The user's last words, marked as theirs.
pub(crate) fn last(transcript: &Path) -> Option<HistoryItem> {
    // A pipe would hold the hook up.
    let length = std::fs::metadata(transcript)
        .ok()
        .filter(std::fs::Metadata::is_file)?
        .len();
    let mut file = File::open(transcript).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(END)))
        .ok()?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end).ok()?;
    let mut lines = end.rsplit(|&byte| byte == b'\n');
    let said = lines.find_map(|line| said(&serde_json::from_slice(line).ok()?))?;
    Some(HistoryItem {
        role: Some("user".to_owned()),
        content: Some(Value::String(said.chars().take(MOST).collect())),
    })
}

/// What makes a line of the session no words of the user.
const OTHERS: &str = "isMeta isSidechain isCompactSummary isVisibleInTranscriptOnly";
/// Blocks that the program puts before the user's words.
const BLOCKS: &str = "system-reminder local-command-caveat local-command-stdout local-command-stderr bash-stdout bash-stderr \
    command-message user-prompt-submit-hook ide_opened_file ide_selection task-notification";
/// Commands that ask the model for nothing.
const OWN_COMMANDS: &str = "add-dir agents bashes bug clear color compact config context copy cost doctor effort exit \
    export extra-usage fast feedback help hooks ide keybindings login logout mcp memory model new output-style permissions \
    plugin plugins privacy-settings quit release-notes rename reset resume rewind sandbox settings skills stats status \
    statusline tasks terminal-setup theme todos upgrade usage vim";

/// What the user typed, if this line is that; neither a tool's result nor what the program itself wrote in their name.
fn said(line: &Value) -> Option<String> {
    let content = match line["type"].as_str()? {
        "user" if OTHERS.split(' ').all(|name| line[name] != true) => &line["message"]["content"],
        "event_msg" if line["payload"]["type"] == "user_message" => &line["payload"]["message"],
        _ => return None,
    };
    let is = |part: &Value, kind: &str| part["type"] == kind;
    let texts: Vec<_> = match content {
        Value::String(text) => typed(text).into_iter().collect(),
        Value::Array(parts) if !parts.iter().any(|part| is(part, "tool_result")) => {
            let texts = parts.iter().filter(|part| is(part, "text"));
            let texts = texts.filter_map(|part| part["text"].as_str());
            texts.filter_map(typed).collect()
        }
        _ => return None,
    };
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// A text without what the program wrote before and around it.
fn typed(text: &str) -> Option<String> {
    let mut text = text.trim();
    while let Some((_, behind)) = BLOCKS.split(' ').find_map(|name| block(text, name)) {
        text = behind.trim_start();
    }
    if let Some((name, behind)) = block(text, "command-name") {
        let args = behind.find("<command-args>");
        let args = args.and_then(|at| block(&behind[at..], "command-args"));
        let args = args.map_or("", |(args, _)| args.trim());
        let own = OWN_COMMANDS
            .split(' ')
            .any(|own| Some(own) == name.strip_prefix('/'));
        return (!own || !args.is_empty()).then(|| format!("{name} {args}").trim().to_owned());
    }
    if let Some((command, _)) = block(text, "bash-input") {
        return Some(format!("! {command}"));
    }
    let notice = text.strip_prefix("[Request interrupted by user");
    let notice = notice.is_some_and(|rest| matches!(rest, "]" | " for tool use]"));
    (!text.is_empty() && !notice).then(|| text.to_owned())
}

/// The inside of a block with which a text begins, and what is behind it.
fn block<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (start, behind) = text.split_once('>')?;
    let attributes = start.strip_prefix('<')?.strip_prefix(name)?;
    let whole = attributes.is_empty() || attributes.starts_with(' ');
    behind.split_once(&format!("</{name}>")).filter(|_| whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_words_of_the_user_are_found() {
        let user = |content: &str| {
            format!(r#"{{"type":"user","message":{{"role":"user","content":{content}}}}}"#)
        };
        let long = format!("\"{}\"", "é".repeat(3_000));
        let result = r#"[{"type":"tool_result","content":"no"}]"#;
        for (lines, words) in [
            (
                vec![user("\"one\""), user("\"two\""), user(result)],
                Some("two".to_owned()),
            ),
            (
                vec![user(
                    r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                )],
                Some("a\nb".to_owned()),
            ),
            (
                vec![
                    user("\"mine\""),
                    user("\"<command-name>/clear</command-name>\""),
                    "{".to_owned(),
                ],
                Some("mine".to_owned()),
            ),
            (
                vec![
                    user("\"mine\""),
                    user("\"other\"").replace("{\"type\"", "{\"isMeta\":true,\"type\""),
                ],
                Some("mine".to_owned()),
            ),
            (
                vec![
                    r#"{"type":"event_msg","payload":{"type":"user_message","message":"codex"}}"#
                        .to_owned(),
                ],
                Some("codex".to_owned()),
            ),
            (vec![user(&long)], Some("é".repeat(MOST))),
            (vec![user(result)], None),
            (vec![], None),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), lines.join("\n")).unwrap();
            let found = last(file.path());
            let wanted = words.map(|words| HistoryItem {
                role: Some("user".to_owned()),
                content: Some(Value::String(words)),
            });
            assert_eq!(found, wanted, "{lines:?}");
        }
        assert!(last(Path::new("/dev/stdin")).is_none());
        assert!(last(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn what_the_program_wrote_in_the_users_name_is_not_the_users() {
        let older = r#"{"type":"user","message":{"role":"user","content":"older"}}"#;
        let marked = |mark: &str| json!({ "type": "user", "message": { "content": "The user approved it." }, mark: true });
        let text = |text: &str| json!({ "type": "user", "message": { "content": text } });
        let parts = |parts: Value| json!({ "type": "user", "message": { "content": parts } });
        let part = |text: &str| json!({ "type": "text", "text": text });
        let caveat = "<local-command-caveat>Made by a command.</local-command-caveat>";
        for (line, words) in [
            (marked("isCompactSummary"), "older"),
            (marked("isVisibleInTranscriptOnly"), "older"),
            (
                parts(json!([part("[Request interrupted by user for tool use]")])),
                "older",
            ),
            (text("[Request interrupted by user]"), "older"),
            (
                parts(json!([
                    part("[Request interrupted by user]"),
                    part("no, here")
                ])),
                "no, here",
            ),
            (
                text("[Request interrupted by user] is what I read"),
                "[Request interrupted by user] is what I read",
            ),
            (
                parts(json!([part("yes"), { "type": "tool_result", "content": "x" }])),
                "older",
            ),
            (text(caveat), "older"),
            (
                text(
                    "<system-reminder>x</system-reminder>\n<ide_opened_file>a</ide_opened_file> and the tests",
                ),
                "and the tests",
            ),
            (
                parts(json!([
                    part("<ide_selection>a</ide_selection>"),
                    part("and\nthis")
                ])),
                "and\nthis",
            ),
            (
                text("<system-reminder kind=\"a\">x</system-reminder>go"),
                "go",
            ),
            (text("<div>is wrong</div>"), "<div>is wrong</div>"),
            (
                text("<system-reminders>x</system-reminders>"),
                "<system-reminders>x</system-reminders>",
            ),
            (
                text("use <system-reminder>x</system-reminder>"),
                "use <system-reminder>x</system-reminder>",
            ),
            (
                text("<system-reminder> is never closed"),
                "<system-reminder> is never closed",
            ),
            (
                text(
                    "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>all</command-args>",
                ),
                "/fix all",
            ),
            (
                text(
                    "<command-name>/fix</command-name>\n<command-message>fix</command-message>\n<command-args></command-args>",
                ),
                "/fix",
            ),
            (
                text("<command-name>/clear</command-name>\n<command-args></command-args>"),
                "older",
            ),
            (
                text(
                    "<command-name>/compact</command-name>\n<command-args>keep the plan</command-args>",
                ),
                "/compact keep the plan",
            ),
            (text("<bash-input>git push</bash-input>"), "! git push"),
            (
                text("<bash-stdout>ok</bash-stdout><bash-stderr></bash-stderr>"),
                "older",
            ),
            (text("<task-notification>done</task-notification>"), "older"),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), format!("{older}\n{line}\n")).unwrap();
            let found = last(file.path()).unwrap().content;
            assert_eq!(found, Some(json!(words)), "{line}");
        }
    }
}
