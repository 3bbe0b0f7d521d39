//! A credential that goes out in a text for people or to a host.

use countersign_redaction::secret_spans;
use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD};

use crate::call::Call;
use crate::cell::What;
use crate::cells;
use crate::command::line::lines;
use crate::command::scripts::scripts;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::among;
use crate::net;
use crate::past::Past;
use crate::role::{is_command, is_prose};

/// Tools whose texts people read.
const TO_PEOPLE: &str = "mail email send message chat slack teams post reply comment issue ticket notify letter page wiki document newsletter";

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found = Vec::new();
    let finding = |at: &str, message: String| Finding {
        code: Code::SendsOut,
        weight: Weight::Stop,
        at: at.to_owned(),
        message,
    };
    for leaf in &call.leaves {
        let Some(text) = leaf.text() else {
            continue;
        };
        if is_command(leaf, call) {
            continue;
        }
        if call.tool_is(TO_PEOPLE) && is_prose(leaf) {
            let host = cells::of(call)
                .iter()
                .find(|cell| cell.what == What::Mail)
                .and_then(|cell| cell.form.rsplit('@').next().map(str::to_owned));
            let to = host
                .as_ref()
                .map_or_else(String::new, |host| format!(" to {host}"));
            // A link of ours to its own user has its token.
            let mut text = text.to_owned();
            for url in net::urls_in(&text.clone()) {
                let own = net::url(url)
                    .and_then(|url| net::host_of(&url))
                    .is_some_and(|of| {
                        !is_strange(&of, past)
                            || host
                                .as_ref()
                                .is_some_and(|to| net::registrable(to) == net::registrable(&of))
                    });
                if own {
                    text = text.replace(url, "");
                }
            }
            found.extend(carries(&text).map(|how| {
                finding(
                    &leaf.at,
                    format!("The text carries a credential (hidden{how}){to}."),
                )
            }));
        } else if let Some(host) = net::url(text).and_then(|url| net::host_of(&url)) {
            let sends = carries(text.split_once('?').map_or("", |(_, query)| query));
            found.extend(sends.filter(|_| is_strange(&host, past)).map(|how| {
                finding(
                    &leaf.at,
                    format!("The URL carries a credential (hidden{how}) to {host}."),
                )
            }));
        }
    }
    for (_, at, script) in scripts(call) {
        for line in lines(script) {
            let published = line.is("gh glab jira slack mail mutt")
                && line
                    .words
                    .iter()
                    .any(|word| among("comment create gist edit close review send", &word.text));
            let published = published
                .then(|| line.words.iter().find_map(|word| carries(&word.text)))
                .flatten();
            found.extend(published.map(|how| {
                finding(
                    at,
                    format!(
                        "The command publishes a credential (hidden{how}) with {}.",
                        line.name
                    ),
                )
            }));
            for word in line.words {
                let host = net::url(&word.text)
                    .and_then(|url| net::host_of(&url))
                    .filter(|host| is_strange(host, past));
                let sends =
                    host.and_then(|host| Some((carries(word.text.split_once('?')?.1)?, host)));
                found.extend(sends.map(|(how, host)| {
                    finding(
                        at,
                        format!("The URL carries a credential (hidden{how}) to {host}."),
                    )
                }));
            }
        }
    }
    found
}

/// A host of no earlier call.
fn is_strange(host: &str, past: &Past) -> bool {
    let own = net::registrable(host);
    !net::is_loopback(host) && !past.knows_domain(own)
}

/// How a text carries a credential; placeholders and examples are none.
fn carries(text: &str) -> Option<&'static str> {
    let words = text.split(|at: char| at.is_whitespace() || "\"'`<>()=:,;&".contains(at));
    let decoded = words
        .filter(|word| (24..2_000).contains(&word.len()))
        .any(|word| {
            let plain = word.trim_end_matches('=');
            let bytes = BASE64_NOPAD
                .decode(plain.as_bytes())
                .or_else(|_| BASE64URL_NOPAD.decode(plain.as_bytes()))
                .or_else(|_| BASE64.decode(word.as_bytes()));
            let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
            text.is_some_and(|text| {
                text.chars()
                    .all(|at| !at.is_control() || at.is_whitespace())
                    && has_secret(&text)
            })
        });
    match decoded {
        true => Some(", written as base64"),
        false => has_secret(text).then_some(""),
    }
}

fn has_secret(text: &str) -> bool {
    secret_spans(text).into_iter().any(|span| {
        let value = &text[span];
        let lower = value.to_lowercase();
        let placeholder = [
            "example",
            "xxxx",
            "changeme",
            "<",
            "${",
            "{{",
            "****",
            "your",
            "redacted",
            "pk_",
            "_test_",
            "placeholder",
            "dummy",
            "...",
        ];
        value.len() >= 8
            && value.contains(|at: char| at.is_ascii_digit())
            && !placeholder.iter().any(|of| lower.contains(of))
            && !value.starts_with('$')
    })
}
