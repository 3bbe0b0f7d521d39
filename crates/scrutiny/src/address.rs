//! Addresses made to mislead, and those that give away a machine's credentials.

use unicode_security::MixedScript;
use url::{Host, Url};

use crate::call::Call;
use crate::finding::{Code, Hazard};
use crate::leaf::Leaf;
use crate::leaf::among;
use crate::net;
use crate::shown::shown;

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let credential = call.leaves.iter().any(is_credential);
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let Some(text) = leaf.text() else {
            continue;
        };
        // Once for all of its URLs, and one of a host: there may be as many as it is long.
        let mut urls = net::urls_in(text);
        let credential = credential
            || (urls.iter().any(|url| !url.starts_with("https:")) && carries_credential(text));
        urls.dedup_by(|one, other| {
            one.split(['/', '?', '#'])
                .take(3)
                .eq(other.split(['/', '?', '#']).take(3))
        });
        let of_urls = urls.into_iter().find_map(|written| {
            let why = risky(written, credential)?;
            Some((written.to_owned(), why))
        });
        let alone = || {
            net::mails(text)
                .into_iter()
                .map(|mail| mail.host)
                .find(|host| is_mixed(host))
                .map(|host| (host, "mixes alphabets"))
        };
        if let Some((what, why)) = of_urls.or_else(alone) {
            let message = format!("{} {why}.", shown(&what));
            found.push(Hazard::stop(Code::RiskyAddress, &leaf.at, what, message));
        }
    }
    found
}

/// Why a URL is risky.
fn risky(written: &str, credential: bool) -> Option<&'static str> {
    let host_as_written = host_as_written(written);
    if is_mixed(host_as_written) {
        return Some("mixes alphabets in its host");
    }
    let url = Url::parse(written).ok()?;
    // `http://user:$PASS@…` of a template has a password like any other.
    if url.password().is_some_and(|word| !word.is_empty()) {
        return Some("has a password in it");
    }
    if url.username().contains('.') || url.username().to_lowercase().contains("%2e") {
        return Some("has a user part that looks like a host");
    }
    match url.host()? {
        Host::Ipv4(address) if address.octets() == [169, 254, 169, 254] => {
            Some("is the metadata address of the machine")
        }
        Host::Ipv4(address) => (!address.is_loopback() && !address.is_unspecified())
            .then_some("has an address literal for a host"),
        Host::Ipv6(address) => (!address.is_loopback() && !address.is_unspecified())
            .then_some("has an address literal for a host"),
        Host::Domain(name)
            if among(
                "metadata.google.internal metadata.azure.com instance-data",
                name,
            ) =>
        {
            Some("is the metadata address of the machine")
        }
        Host::Domain(name) if name.split('.').any(|label| label.starts_with("xn--")) => {
            Some("has punycode in its host")
        }
        Host::Domain(name) => {
            let local = net::is_loopback(name) || !name.contains('.') || name.ends_with(".local");
            (credential && url.scheme() == "http" && !local)
                .then_some("sends a credential without encryption")
        }
    }
}

/// The host before it is normalised.
fn host_as_written(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    host.split(':').next().unwrap_or_default()
}

/// Letters of several scripts in one label, or letters that only look like Latin.
pub(crate) fn is_mixed(host: &str) -> bool {
    !host.is_ascii()
        && host
            .split('.')
            .any(|label| !label.is_single_script() || looks_latin(label))
}

fn looks_latin(label: &str) -> bool {
    let foreign =
        label.chars().any(char::is_alphabetic) && !label.chars().any(|at| at.is_ascii_alphabetic());
    foreign && unicode_security::skeleton(label).all(|at| at.is_ascii())
}

/// An argument that is a credential.
fn is_credential(leaf: &Leaf<'_>) -> bool {
    const WORDS: &str =
        "password passwd token authorization secret bearer apikey credential credentials";
    let given = leaf.text().is_some_and(|text| !text.is_empty());
    given && (leaf.has_word(WORDS) || leaf.name == "api_key" || leaf.name.ends_with("_api_key"))
}

/// A command that sends one.
fn carries_credential(text: &str) -> bool {
    text.contains("Authorization:")
        || text.contains("authorization:")
        || text.contains("X-Api-Key:")
        || ["api_key=", "apikey=", "access_token=", "password="]
            .iter()
            .any(|name| text.contains(name))
        || text.starts_with("curl ") && (text.contains(" -u ") || text.contains(" --user "))
}

#[cfg(test)]
mod tests {
    use super::risky;

    #[test]
    fn urls_that_mislead() {
        for (url, credential, is) in [
            ("https://github.com@evil.example/x", false, true),
            ("https://ada:pw@files.example/x", false, true),
            ("http://169.254.169.254/latest/meta-data/", false, true),
            ("http://metadata.google.internal/", false, true),
            ("http://203.0.113.7/x.sh", false, true),
            ("http://0x7f000001/", false, false),
            ("http://2852039166/", false, true),
            ("https://xn--pypal-4ve.example/", false, true),
            ("https://pаypal.example/", false, true),
            ("http://api.example/v1", true, true),
            ("http://api.example/v1", false, false),
            ("http://localhost:8080/", true, false),
            ("http://127.0.0.1:9/", true, false),
            ("http://[::1]/", true, false),
            ("https://git@github.example/x.git", false, false),
            ("https://api.example/v1?to=a@b.example", false, false),
            ("https://münchen.example/", false, true),
            ("https://docs.example/a.b@c", false, false),
        ] {
            assert_eq!(risky(url, credential).is_some(), is, "{url}");
        }
    }
}
