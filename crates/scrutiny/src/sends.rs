//! Credential files that a tool other than a shell sends to somebody.

use crate::call::Call;
use crate::cell::What;
use crate::command::scripts::scripts;
use crate::finding::{Code, Hazard};
use crate::net;
use crate::past::Past;
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

/// Whether every host that the commands of a call name is one of earlier calls.
pub(crate) fn is_to_known(call: &Call<'_>, past: &Past) -> bool {
    let mut hosts = Vec::new();
    for (_, _, script) in scripts(call) {
        for word in script.commands.iter().flat_map(|command| &command.words) {
            let text = word.text.as_str();
            let remote = text.split_once(':').map_or(text, |(host, _)| host);
            let remote = remote.rsplit('@').next().unwrap_or(remote);
            let url = net::url(text).and_then(|url| net::host_of(&url));
            let bare = (text.contains(':') && net::is_host(remote)).then(|| remote.to_owned());
            hosts.extend(url.or(bare));
        }
    }
    let known = |host: &String| {
        let own = net::registrable(host);
        let named = past.hosts().iter().any(|(known, ..)| known.name == own);
        named
            || past
                .rows()
                .iter()
                .flat_map(|row| &row.cells)
                .any(|cell| cell.what == What::Prose && cell.text.contains(own))
    };
    !hosts.is_empty() && hosts.iter().all(known)
}
