//! What a call or a command takes away instead of giving it, or only shows.

use serde_json::Value;

use crate::call::Call;
use crate::command::Line;
use crate::leaf::{Leaf, among};

const CLOSING: &str =
    "revoke revoked deny denied block blocked reject drop remove delete close lock";

fn word(leaf: &Leaf<'_>) -> String {
    leaf.text().unwrap_or_default().trim().to_lowercase()
}

fn says_so(leaf: &Leaf<'_>) -> bool {
    const NAMES: &str = "action operation op effect verb access rule_action policy verdict";
    leaf.named(NAMES) && among(CLOSING, &word(leaf))
}

/// Whether the call as a whole takes rights or ways away.
pub(crate) fn closes(call: &Call<'_>) -> bool {
    const HELD: &str = "grant grants share shares sharing permission permissions access rule rules key keys member members acl \
        binding bindings role roles ingress";
    let takes = call.tool_is("delete remove detach") && call.tool_is(HELD);
    let top = |leaf: &&Leaf<'_>| leaf.at.matches('/').count() == 1;
    // `RevokeSecurityGroupIngress`.
    let operation = |leaf: &Leaf<'_>| {
        let words = crate::leaf::words_of(leaf.text().unwrap_or_default());
        let first = words.first().map(String::as_str).unwrap_or_default();
        leaf.named("operation action method")
            && words.len() > 1
            && (among("revoke deny block close lock", first)
                || (among("delete remove detach", first)
                    && words.iter().any(|word| among(HELD, word))))
    };
    takes
        || call.leaves.iter().filter(top).any(operation)
        || call.tool_is("revoke deny block close lock reject unshare")
        || call.leaves.iter().filter(top).any(says_so)
}

/// Whether the call as a whole says deny, block or reject: what it names gets less.
pub(crate) fn denies(call: &Call<'_>) -> bool {
    let top = |leaf: &&Leaf<'_>| leaf.at.matches('/').count() == 1;
    let says = |leaf: &Leaf<'_>| {
        says_so(leaf) && among("deny denied block blocked reject lock", &word(leaf))
    };
    call.leaves.iter().filter(top).any(says)
}

/// Whether a value is in an object that denies or takes away.
pub(crate) fn is_closed(leaf: &Leaf<'_>, call: &Call<'_>) -> bool {
    let around = |other: &&Leaf<'_>| {
        let object = other.at.rfind('/').map_or("", |end| &other.at[..=end]);
        leaf.at.starts_with(object)
    };
    closes(call) || call.leaves.iter().filter(around).any(says_so)
}

/// Whether a command takes a rule, binding or member away, or makes one that denies.
pub(crate) fn is_closing(line: &Line<'_>) -> bool {
    let short = line.is("gsutil gpasswd") && line.has("d", "delete");
    short
        || line.words.iter().any(|word| {
            let text = word.text.to_lowercase();
            let value = text.rsplit(['=', ':']).next().unwrap_or_default();
            let begins = ["revoke-", "remove-", "delete-"]
                .iter()
                .any(|of| text.starts_with(of));
            among(CLOSING, value) || (begins && !text.contains("block"))
        })
}

/// Whether the call says that it changes nothing. Not of a command: its program decides.
pub(crate) fn only_shows(call: &Call<'_>) -> bool {
    let command = |leaf: &Leaf<'_>| crate::role::is_command(leaf, call);
    let top = |leaf: &&Leaf<'_>| leaf.at.matches('/').count() == 1;
    let shows = |leaf: &Leaf<'_>| match leaf.value.as_ref() {
        Value::Bool(on) => *on && leaf.named("dry_run dryrun preview"),
        _ => {
            leaf.named("mode") && among("simulate simulation dry_run dry-run preview", &word(leaf))
        }
    };
    call.leaves.iter().filter(top).any(shows) && !call.leaves.iter().any(command)
}

/// Whether a command only shows what it would do, by an option that its program has.
pub(crate) fn is_dry(line: &Line<'_>) -> bool {
    const KNOWS: &str = "aws kubectl oc helm git rsync rclone docker docker-compose podman npm pnpm yarn cargo restic borg \
        ansible-playbook flux eksctl apt apt-get pip poetry velero s3cmd pulumi make gcloud";
    let mut dry = false;
    for word in line.words.iter().take_while(|word| word.text != "--") {
        let text = word.text.to_lowercase();
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        match name {
            "--dry-run" | "--dryrun" | "--preview-only" | "--check" if line.is(KNOWS) => {
                dry = !among("none false", value);
            }
            "--no-dry-run" | "--no-dryrun" => dry = false,
            "-whatif" if line.name.contains('-') => dry = true,
            "-n" if line.is("rsync make") => dry = true,
            _ if line.name == "rsync"
                && text.starts_with('-')
                && !text.starts_with("--")
                && text.contains('n') =>
            {
                dry = true
            }
            _ => {}
        }
    }
    let sub = line.texts().first().copied().unwrap_or_default();
    let short = line.name == "git" && among("clean push rm mv", sub) && line.has("n", "");
    let plan = line.is("terraform tofu terragrunt helm cdk") && among("plan diff template", sub);
    dry || short || plan
}
