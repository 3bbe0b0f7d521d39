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

/// What the user typed, if this line is that; neither a tool's result nor what the program itself wrote in their name.
fn said(line: &Value) -> Option<String> {
    let content = match line["type"].as_str()? {
        "user" if line["isMeta"] != true && line["isSidechain"] != true => {
            &line["message"]["content"]
        }
        "event_msg" if line["payload"]["type"] == "user_message" => &line["payload"]["message"],
        _ => return None,
    };
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text");
            let texts: Vec<_> = texts.filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('<')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

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
                    user("\"<command-name>/x</command-name>\""),
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
}
