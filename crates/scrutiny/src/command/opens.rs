//! Gives rights to everybody, by a command.

use super::{Act, Line};
use crate::direction::is_closing;
use crate::finding::Code;
use crate::leaf::among;
use crate::paths::is_system;

pub(crate) fn act(line: &Line<'_>) -> Option<Act> {
    let what = of_line(line)?;
    Some(Act::stop(Code::OpensRights, line.shape(), what))
}

fn of_line(line: &Line<'_>) -> Option<String> {
    let texts = line.texts();
    let first = texts.first().copied().unwrap_or_default();
    let any = |word: &str| line.words.iter().any(|other| other.text == word);
    let closing = is_closing(line);
    let everywhere = line.words.iter().any(|word| {
        word.text
            .split(['=', ','])
            .any(|part| part == "0.0.0.0/0" || part == "::/0")
    });
    match line.name.as_str() {
        "chmod"
            if line
                .operands()
                .next()
                .is_some_and(|mode| is_open_mode(&mode.text))
                || line.words.iter().any(|word| is_open_mode(&word.text)) =>
        {
            Some("lets everybody write (chmod)".to_owned())
        }
        "chown" | "chgrp" if line.has("R", "recursive") => {
            let target = line.operands().skip(1).find(|word| {
                is_system(&word.text) && (!word.dynamic || word.text.starts_with('/'))
            })?;
            Some(format!(
                "changes the owner of {} and everything in it",
                crate::shown::shown(&target.text)
            ))
        }
        "iptables" | "ip6tables" | "nft" if line.has("F", "flush") || first == "flush" => {
            Some("removes every rule of the firewall".to_owned())
        }
        "iptables" | "ip6tables" if line.has("P", "policy") && any("ACCEPT") && any("INPUT") => {
            Some("lets everything through the firewall".to_owned())
        }
        "ufw" if among("disable reset", first) => Some("switches the firewall off".to_owned()),
        "systemctl"
            if among("stop disable mask", first)
                && texts.iter().any(|text| {
                    [
                        "firewalld",
                        "ufw",
                        "iptables",
                        "nftables",
                        "apparmor",
                        "auditd",
                    ]
                    .contains(&text.trim_end_matches(".service"))
                }) =>
        {
            Some("switches a system protection off".to_owned())
        }
        "setenforce" if among("0 Permissive permissive", first) => {
            Some("switches SELinux off".to_owned())
        }
        "aws"
            if line
                .words
                .iter()
                .any(|word| word.text.starts_with("public-read")) =>
        {
            Some("makes a bucket or object public".to_owned())
        }
        "aws" if any("delete-public-access-block") => {
            Some("lets a bucket become public".to_owned())
        }
        "aws" | "gcloud" | "az" | "openstack" | "doctl"
            if everywhere
                && !closing
                && !any("describe-security-groups")
                && !any("create-route")
                && !line.words.iter().any(|word| word.text.contains("egress")) =>
        {
            Some("lets in every address (0.0.0.0/0)".to_owned())
        }
        "gsutil" | "gcloud" | "kubectl" | "oc" | "gpasswd" if closing => None,
        "gsutil" | "gcloud"
            if line.words.iter().any(|word| {
                word.text.contains("allUsers") || word.text.contains("allAuthenticatedUsers")
            }) || (line.name == "gsutil"
                && line.words.iter().any(|word| word.text == "public-read")) =>
        {
            Some("gives access to everybody".to_owned())
        }
        "az" if line
            .text_value("--public-access")
            .is_some_and(|value| value == "blob" || value == "container") =>
        {
            Some("makes a container public".to_owned())
        }
        "kubectl" | "oc"
            if any("clusterrolebinding")
                && line
                    .words
                    .iter()
                    .any(|word| word.text.contains("cluster-admin")) =>
        {
            Some("gives every right in the cluster".to_owned())
        }
        "usermod" | "gpasswd" | "adduser"
            if texts
                .iter()
                .any(|text| among("sudo wheel root docker", text))
                || line
                    .words
                    .iter()
                    .any(|word| ["sudo", "wheel"].contains(&word.text.as_str())) =>
        {
            Some("gives a login administrator rights".to_owned())
        }
        "gh" if line.text_value("--visibility") == Some("public") => {
            Some("makes a repository public".to_owned())
        }
        "psql" | "mysql" | "mariadb" => {
            let sql = line.text_value("-c --command -e --execute")?;
            crate::sql::opens(sql)
        }
        _ => {
            let sudoers = ["NOPASSWD"]
                .iter()
                .any(|word| line.words.iter().any(|other| other.text.contains(word)));
            (sudoers && line.is("echo printf tee sed"))
                .then(|| "lets a login become administrator without a password".to_owned())
        }
    }
}

/// Everybody may write: 777, 666, a+w, o+w, +rwx for all.
fn is_open_mode(mode: &str) -> bool {
    let digits =
        mode.len() >= 3 && mode.len() <= 4 && mode.chars().all(|at| ('0'..='7').contains(&at));
    if digits {
        let sticky = mode.len() == 4 && mode.starts_with('1');
        return !sticky && mode.ends_with(['7', '6', '2', '3']);
    }
    mode.split(',').any(|part| {
        let sign = part.find(['+', '=']);
        sign.is_some_and(|at| (part[..at].contains(['a', 'o'])) && part[at + 1..].contains('w'))
    })
}
