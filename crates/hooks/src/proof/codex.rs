//! Codex runs no hook that its user has not trusted, and says nothing. Its trust is a digest of the hook in `hooks.state`.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_wire::args_digest;
use serde_json::{Map, Value, json};

use super::configured::Placed;

/// Marks the hooks that Codex would not run.
pub(super) fn distrust(hooks: &mut [Placed], files: &[(&PathBuf, Value)]) {
    let trusts_all = |(_, value): &(_, Value)| value["bypass_hook_trust"] == true;
    if files.iter().any(trusts_all) {
        return;
    }
    for (hook, (whole, group, inside)) in hooks {
        let states = files
            .iter()
            .filter_map(|(_, of)| of["hooks"]["state"].as_object());
        let state = states
            .flat_map(Map::iter)
            .find(|(key, _)| is_key(key, &hook.file, *group, *inside))
            .map(|(_, state)| state);
        let trusted = state.and_then(|state| state["trusted_hash"].as_str());
        hook.untrusted = match trusted {
            _ if state.is_some_and(|state| state["enabled"] == false) => {
                Some("Codex leaves this hook out: it is switched off there".to_owned())
            }
            None => Some("Codex does not trust this hook".to_owned()),
            Some(trusted) if digest(whole).as_deref() == Some(trusted) => None,
            Some(_) => Some("Codex does not trust this hook as it is now".to_owned()),
        };
    }
}

fn is_key(key: &str, file: &Path, group: usize, inside: usize) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let path = key.strip_suffix(&format!(":pre_tool_use:{group}:{inside}"));
    path.map(Path::new)
        .is_some_and(|path| path == file || real(file).is_some_and(|file| real(path) == Some(file)))
}

/// As Codex makes it: of the hook's canonical JSON.
fn digest(whole: &Value) -> Option<String> {
    let hook = &whole["hook"];
    let mut normal = json!({
        "async": hook["async"] == true,
        "command": hook["command"],
        "timeout": hook["timeout"].as_u64().unwrap_or(600).max(1),
        "type": "command",
    });
    if let Some(message) = hook.get("statusMessage") {
        normal["statusMessage"] = message.clone();
    }
    let mut identity = json!({ "event_name": "pre_tool_use", "hooks": [normal] });
    if let Some(matcher) = whole.get("matcher") {
        identity["matcher"] = matcher.clone();
    }
    Some(args_digest(&identity).ok()?.to_string())
}
