//! Credential files that a tool other than a shell sends to somebody.

use crate::call::Call;
use crate::finding::{Code, Hazard};
use crate::paths::is_credential;
use crate::role::{Role, is_command, role};
use crate::shown::shown;

const SENDS: &str =
    "send upload post share publish attach mail email forward transfer http request";

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    if !call.tool_is(SENDS) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for leaf in call.leaves.iter().filter(|leaf| !is_command(leaf, call)) {
        let Some(text) = leaf.text() else {
            continue;
        };
        let path = matches!(role(leaf, call), Some(Role::Path(_)))
            || leaf.has_word("file attachment attachments path");
        if path && is_credential(text) {
            let message = format!("It sends {}, a credential file.", shown(text));
            found.push(Hazard::stop(Code::SendsOut, &leaf.at, text, message));
        }
    }
    found
}
