//! A hazard that people approved again and again is not news.

use crate::call::Call;
use crate::cell::What;
use crate::command::scripts::scripts;
use crate::facts::Kind;
use crate::finding::{Code, Finding, Hazard, Weight};
use crate::net;
use crate::past::Past;

/// Approved calls with the same hazard, and none denied, after which it is usual.
const USUAL: u32 = 3;

/// The finding of a hazard: a usual stop is a look, a usual look is none.
pub(crate) fn weigh(hazard: Hazard, past: &Past) -> Option<Finding> {
    let mut finding = hazard.finding;
    if finding.code.is_own() || finding.code == Code::HiddenText {
        return Some(finding);
    }
    let known = past.get(Kind::Hazard, finding.code.as_str(), &hazard.same);
    if known.is_some_and(|habit| habit.approved >= USUAL && habit.denied == 0) {
        if finding.weight == Weight::Look {
            return None;
        }
        finding.weight = Weight::Look;
    }
    Some(finding)
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
        past.knows_domain(own)
            || past
                .rows()
                .iter()
                .flat_map(|row| &row.cells)
                .any(|cell| cell.what == What::Prose && cell.text.contains(own))
    };
    !hosts.is_empty() && hosts.iter().all(known)
}
