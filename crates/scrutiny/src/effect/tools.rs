//! Tools of their own for git, Kubernetes and Terraform, and any other tool by its name.

use super::parts::{first, listed, on, under};
use crate::call::Call;
use crate::leaf::among;
use crate::role::{Role, role};
use crate::shown::shown;

/// One family of tools: words of their names, what each verb does, and what is said of the arguments.
struct Family {
    tools: &'static str,
    /// Words of the tool or of its verb, the sentence's beginning, and the names of its object.
    verbs: &'static [(&'static str, &'static str, &'static str)],
    /// What is said before the value of a name.
    more: &'static [(&'static str, &'static str)],
    /// What is said of a switch that is on.
    on: &'static [(&'static str, &'static str)],
}

const FAMILIES: [Family; 3] = [
    Family {
        tools: "git",
        verbs: &[
            ("push", "Pushes", "branch ref refspec"),
            ("commit", "Commits", ""),
            ("pull", "Pulls", "branch ref"),
            ("fetch", "Fetches", "branch ref"),
            ("merge", "Merges", "branch source ref"),
            ("rebase", "Rebases onto", "branch onto upstream base"),
            ("reset", "Resets to", "commit ref target"),
            ("revert", "Reverts", "commit ref"),
            ("checkout switch", "Checks out", "branch ref branch_name"),
            ("clone", "Clones", "url repository repo"),
            ("tag", "Tags", "tag tag_name name"),
            ("add stage", "Stages files", ""),
            ("clean", "Removes untracked files", ""),
        ],
        more: &[(" to", "remote"), (" in", "repo_path repository repo path")],
        on: &[
            (", by force", "force force_push"),
            (", throws changes away", "hard"),
        ],
    },
    Family {
        tools: "kubectl k8s kubernetes kube",
        verbs: &[
            (
                "delete",
                "Deletes",
                "name resource_name pod deployment resource",
            ),
            (
                "scale",
                "Scales",
                "name resource_name deployment statefulset resource",
            ),
            (
                "restart rollout",
                "Restarts",
                "name resource_name deployment pod resource",
            ),
            ("apply", "Applies", "file filename path manifest_path"),
            (
                "patch edit",
                "Changes",
                "name resource_name deployment resource",
            ),
            ("create", "Creates", "name resource_name"),
            ("drain", "Drains", "node name"),
            ("cordon", "Cordons", "node name"),
            ("exec", "Runs a command in", "pod name"),
            ("logs", "Reads the log of", "pod name deployment"),
            (
                "get describe list",
                "Reads",
                "name resource_name resource resource_type kind",
            ),
        ],
        more: &[
            (" to replicas", "replicas"),
            (" in namespace", "namespace ns"),
            (" of", "context cluster kube_context"),
        ],
        on: &[(", all of them", "all"), (", by force", "force")],
    },
    Family {
        tools: "terraform tofu opentofu",
        verbs: &[
            ("destroy", "Destroys Terraform resources", ""),
            ("apply", "Applies Terraform", ""),
            ("plan", "Plans Terraform", ""),
            ("import", "Imports into Terraform", "address resource"),
            ("taint", "Taints", "address resource"),
        ],
        more: &[
            (" in workspace", "workspace"),
            (
                " from",
                "directory dir working_dir working_directory path chdir",
            ),
            (", only", "target targets"),
        ],
        on: &[
            (", destroys", "destroy"),
            (", without asking", "auto_approve"),
        ],
    },
];

/// "Pushes main to origin, by force", "Scales api to replicas 0 in namespace web".
pub(super) fn known(call: &Call<'_>) -> Option<String> {
    let family = FAMILIES.iter().find(|family| call.tool_is(family.tools))?;
    let action = first(call, "action operation verb subcommand");
    let is = |words: &str| {
        call.tool_is(words) || action.as_deref().is_some_and(|action| among(words, action))
    };
    let mut verbs = family.verbs.iter().filter(|(words, _, _)| is(words));
    let (Some((_, verb, objects)), None) = (verbs.next(), verbs.next()) else {
        return None;
    };
    let mut sentence = (*verb).to_owned();
    if !objects.is_empty() {
        let kind = match family.tools {
            "git" => None,
            _ => first(call, "kind resource_type type"),
        };
        let object = first(call, objects)?;
        if let Some(kind) = kind.filter(|kind| *kind != object) {
            sentence = format!("{sentence} {kind}");
        }
        sentence = format!("{sentence} {object}");
    }
    for (before, names) in family.more {
        if let Some(value) =
            first(call, names).filter(|_| !names.split(' ').any(|name| among(objects, name)))
        {
            sentence = format!("{sentence}{before} {value}");
        }
    }
    for (said, names) in family.on {
        if on(call, names) {
            sentence.push_str(said);
        }
    }
    Some(sentence)
}

/// "deploy: environment staging, branch main": the name and what identifies; none where nothing does.
pub(super) fn other(call: &Call<'_>, past: &crate::past::Past) -> Option<String> {
    const IDS: &str = "id ids key name number sku ref slug user username login tag version bucket flag project repo";
    let names = |leaf: &&crate::leaf::Leaf<'_>| match role(leaf, call) {
        _ if call.is_hidden(leaf) => false,
        Some(Role::Amount(_)) => false,
        Some(_) => true,
        None => {
            let plain = leaf.value.is_string() || leaf.value.is_number();
            let id = leaf.words.last().is_some_and(|word| among(IDS, word));
            plain && id && !crate::role::is_prose(leaf) && !under(leaf, "headers")
        }
    };
    let said = call.leaves.iter().filter(names).filter_map(|leaf| {
        let value = match leaf.text() {
            Some(text) if text.trim().is_empty() => return None,
            Some(text) => shown(text.trim()),
            None => leaf.value.to_string(),
        };
        Some(format!("{} {value}", shown(&leaf.name.replace('_', " "))))
    });
    // How much, with its unit.
    let amount = |cell: &&crate::cell::Cell| {
        let id = cell.words.last().is_some_and(|word| {
            among(IDS, word) || among("port ttl offset page year limit timeout seconds", word)
        });
        cell.number().is_some() && !id && cell.unit != "entries" && !cell.place.contains(['*', '»'])
    };
    let amounts = crate::cells::of(call).iter().filter(amount).take(3);
    let amounts: Vec<String> = amounts
        .map(|cell| format!("{} {}", shown(&cell.name.replace('_', " ")), cell.shown()))
        .collect();
    let mut said: Vec<String> = said.collect();
    // What else names something, the rarest first.
    let kept = |cell: &&crate::cell::Cell| {
        cell.what == crate::cell::What::Name
            && !cell.place.contains(['*', '»'])
            && !(call.hides)(&cell.name)
            && !cell.has_word("currency unit uom reason why memo")
    };
    let more = crate::cells::of(call).iter().filter(kept);
    let mut more: Vec<(bool, usize, String)> = more
        .map(|cell| {
            (
                cell.name != "operation",
                past.forms(&cell.place)
                    .get(cell.form.as_str())
                    .copied()
                    .unwrap_or(0),
                format!(
                    "{} {}",
                    shown(&cell.name.replace('_', " ")),
                    shown(&cell.text)
                ),
            )
        })
        .collect();
    more.sort_by_key(|of| (of.0, of.1));
    let fills = !amounts.is_empty() || more.iter().any(|of| !of.0);
    for (_, _, text) in more {
        if said.len() < 3 && fills && !said.contains(&text) {
            said.push(text);
        }
    }
    let named = listed(said.into_iter());
    let said: Vec<String> = std::iter::once(named)
        .chain(amounts)
        .filter(|of| !of.is_empty())
        .collect();
    let said = said.join(", ");
    (!said.is_empty()).then(|| format!("{}: {said}", shown(call.tool)))
}
