//! How a request spells the name of a tool: the same in every SDK, so that one rule fits all of them.

use std::borrow::Cow;

use crate::Sha256Digest;

const LONGEST: usize = 64;
/// Letters of the name before its digest.
const KEPT: usize = 55;
/// Hexadecimal digits of it.
const DIGEST: usize = 8;

/// The name itself where it is 1 to 64 of `A-Z a-z 0-9 _ . -`, else what of it is, and 8 hexadecimal digits of its
/// SHA-256.
pub fn tool_slug(name: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    if (1..=LONGEST).contains(&name.len()) && name.chars().all(plain) {
        return name.into();
    }
    let pieces = name.split(|letter| !plain(letter));
    let pieces: Vec<_> = pieces.filter(|piece| !piece.is_empty()).collect();
    let joined = pieces.join("-");
    let kept = joined.trim_matches('-');
    let kept = if kept.is_empty() { "tool" } else { kept };
    let digest = Sha256Digest::of_bytes(name.as_bytes()).hex();
    format!("{}-{}", &kept[..kept.len().min(KEPT)], &digest[..DIGEST]).into()
}

/// `SERVER` of `mcp__SERVER__TOOL`, as coding agents name a tool of an MCP server.
#[must_use]
pub fn mcp_server(tool: &str) -> Option<&str> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the Python SDK spells them.
    #[test]
    fn a_name_has_one_form_in_every_sdk() {
        let (longest, longer) = ("x".repeat(64), "x".repeat(65));
        let cut = format!("{}-9537c5fd", "x".repeat(55));
        let words = "a b".repeat(40);
        for (name, slug) in [
            ("pay", "pay"),
            ("mcp__bank.pay-1", "mcp__bank.pay-1"),
            (longest.as_str(), longest.as_str()),
            ("..", ".."),
            ("pay invoice", "pay-invoice-674e58b8"),
            (" a- b ", "a--b-e4446d39"),
            ("über/ß", "ber-3edf5a77"),
            ("", "tool-e3b0c442"),
            (longer.as_str(), cut.as_str()),
            ("日本", "tool-cf2abf0c"),
            ("a\nb", "a-b-7e18f737"),
            (
                words.as_str(),
                "a-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-f48370d3",
            ),
        ] {
            assert_eq!(tool_slug(name), slug, "{name:?}");
        }
    }
}
