//! Which parts of the page import which others, and that agent text cannot become markup.

use regex::Regex;

use super::Finding;
use super::tree::Source;

const UI: &str = "ui/src/";
// Put together, so that this file does not hold the word it looks for.
const RAW_MARKUP: [&str; 4] = [
    concat!("dangerously", "SetInnerHTML"),
    concat!(".inner", "HTML"),
    concat!(".outer", "HTML"),
    concat!("insertAdjacent", "HTML"),
];

pub(super) fn check(sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let import = Regex::new(r#"(?:\bfrom|\bimport)\s*\(?\s*["']([^"'\n]+)["']"#)?;
    let mut findings = Vec::new();
    for source in sources {
        let Some(inside) = source.path.strip_prefix(UI) else {
            continue;
        };
        if !(inside.ends_with(".ts") || inside.ends_with(".tsx")) {
            continue;
        }
        for found in import.captures_iter(&source.text) {
            if let Some(why) = refusal(inside, &found[1]) {
                findings.push(Finding::new(
                    &source.path,
                    format!("imports `{}`: {why}", &found[1]),
                ));
            }
        }
        for word in RAW_MARKUP {
            if source.text.contains(word) && !is_test(inside) {
                findings.push(Finding::new(
                    &source.path,
                    format!("`{word}`: text from agents never becomes markup"),
                ));
            }
        }
    }
    Ok(findings)
}

fn refusal(inside: &str, specifier: &str) -> Option<String> {
    if specifier.starts_with("@tauri-apps/") && !inside.starts_with("ipc/") {
        return Some("only ui/src/ipc speaks to Tauri".to_owned());
    }
    let own = feature(inside)?;
    let target = resolve(inside, specifier)?;
    let other = feature(&target)?;
    (own != other).then(|| {
        format!(
            "feature `{own}` may not use feature `{other}`; move the shared part to components/"
        )
    })
}

/// `inbox` for `features/inbox/List.tsx`.
fn feature(inside: &str) -> Option<&str> {
    inside.strip_prefix("features/")?.split('/').next()
}

/// The imported file from `ui/src`; none for a package.
fn resolve(inside: &str, specifier: &str) -> Option<String> {
    if let Some(rest) = ["@/", "~/", "src/", "/src/"]
        .iter()
        .find_map(|alias| specifier.strip_prefix(alias))
    {
        return Some(rest.to_owned());
    }
    if !specifier.starts_with('.') {
        return None;
    }
    let mut parts: Vec<&str> = inside.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_test(inside: &str) -> bool {
    inside.contains(".test.") || inside.starts_with("test/") || inside.contains("/test/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[Source::new(path, text)]).unwrap().len()
    }

    #[test]
    fn only_ipc_speaks_to_tauri() {
        let text = "import { invoke } from \"@tauri-apps/api/core\";";
        assert_eq!(count("ui/src/ipc/client.ts", text), 0);
        assert_eq!(count("ui/src/features/inbox/List.tsx", text), 1);
        assert_eq!(
            count(
                "ui/src/main.tsx",
                "await import('@tauri-apps/plugin-notification')"
            ),
            1
        );
    }

    #[test]
    fn features_do_not_import_each_other() {
        for specifier in [
            "../history/rows",
            "../../features/history/rows",
            "@/features/history/rows",
        ] {
            assert_eq!(
                count(
                    "ui/src/features/inbox/List.tsx",
                    &format!("import {{ x }} from '{specifier}'")
                ),
                1,
                "{specifier}"
            );
        }
        for specifier in [
            "./rows",
            "../inbox/rows",
            "../../components/Button",
            "@/components/Button",
            "react",
        ] {
            assert_eq!(
                count(
                    "ui/src/features/inbox/List.tsx",
                    &format!("import {{ x }} from '{specifier}'")
                ),
                0,
                "{specifier}"
            );
        }
        assert_eq!(
            count(
                "ui/src/App.tsx",
                "import { Inbox } from './features/inbox/Inbox'"
            ),
            0
        );
    }

    #[test]
    fn agent_text_cannot_become_markup() {
        for word in RAW_MARKUP {
            assert_eq!(
                count("ui/src/components/Text.tsx", &format!("x{word}")),
                1,
                "{word}"
            );
        }
    }
}
