//! What reaches people: mail, events, messages.

use std::collections::BTreeMap;

use super::parts::{first, under};
use crate::call::Call;
use crate::role::{Role, role};
use crate::shown::shown;

const OPEN: &str =
    "to cc recipient recipients attendee attendees guest guests invitee invitees participants";
const HIDDEN: &str = "bcc";

/// Addresses by host; none where somebody is written in another way.
fn hosts(call: &Call<'_>, names: &str) -> Option<BTreeMap<String, usize>> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for leaf in call.leaves.iter().filter(|leaf| under(leaf, names)) {
        match role(leaf, call) {
            Some(Role::Mails(mails)) => mails
                .iter()
                .for_each(|mail| *found.entry(mail.host.clone()).or_default() += 1),
            _ if leaf.text().is_none_or(str::is_empty) => {}
            _ if leaf.named("name display_name type kind role status") => {}
            _ => return None,
        }
    }
    Some(found)
}

/// "hallberg.example, freemail.example and 2 more".
fn listed(hosts: &BTreeMap<String, usize>) -> String {
    super::parts::listed(hosts.keys().map(|host| shown(host)))
}

/// "Sends 1 mail to 1 address at hallberg.example, with a hidden copy to freemail.example".
pub(super) fn mail(call: &Call<'_>) -> Option<String> {
    if !call.tool_is("mail email gmail outlook smtp") || !call.tool_is("send") {
        return None;
    }
    let (open, hidden) = (hosts(call, OPEN)?, hosts(call, HIDDEN)?);
    let addresses = match open.values().sum::<usize>() {
        0 => return None,
        1 => "1 address".to_owned(),
        count => format!("{count} addresses"),
    };
    let copy = match hidden.is_empty() {
        true => String::new(),
        false => format!(", with a hidden copy to {}", listed(&hidden)),
    };
    Some(format!(
        "Sends 1 mail to {addresses} at {}{copy}",
        listed(&open)
    ))
}

/// "Creates an event at 2026-12-09T10:00:00Z with 3 people at hallberg.example".
pub(super) fn event(call: &Call<'_>) -> Option<String> {
    if !call.tool_is("calendar event events meeting appointment invite") || call.only_reads() {
        return None;
    }
    let people = hosts(call, OPEN)?;
    let at = first(
        call,
        "start start_time starts_at start_at begin date_time start_date",
    );
    let id = first(call, "event_id id uid");
    let named = id.is_some();
    let what = match () {
        () if call.tool_is("delete cancel remove") => format!("Deletes event {}", id?),
        () if call.tool_is("update move change reschedule patch edit") => {
            format!("Changes event {}", id?)
        }
        () if call.tool_is("create insert add schedule book invite") => {
            "Creates an event".to_owned()
        }
        () => return None,
    };
    let at = at.map_or_else(String::new, |at| format!(" at {at}"));
    let with = match people.values().sum::<usize>() {
        0 => String::new(),
        1 => format!(" with 1 person at {}", listed(&people)),
        count => format!(" with {count} people at {}", listed(&people)),
    };
    (!at.is_empty() || !with.is_empty() || named).then(|| format!("{what}{at}{with}"))
}

/// "Posts a message to #deploys".
pub(super) fn chat(call: &Call<'_>) -> Option<String> {
    const CHATS: &str = "slack teams chat discord mattermost telegram whatsapp sms message signal";
    if !call.tool_is(CHATS) || !call.tool_is("post send reply") || call.only_reads() {
        return None;
    }
    let to = first(
        call,
        "channel channel_id channel_name conversation room thread chat chat_id to recipient user user_id phone phone_number",
    );
    Some(format!("Posts a message to {}", to?))
}
