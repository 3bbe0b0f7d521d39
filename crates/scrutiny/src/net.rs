//! Hosts, mail addresses and URLs in values.

use std::net::IpAddr;

use url::{Host, Url};

/// An address of mail: local part and host in lower case, Unicode as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    pub(crate) local: String,
    pub(crate) host: String,
}

/// The addresses, where the text is nothing but one or a list of them.
pub(crate) fn mails(text: &str) -> Vec<Mail> {
    if text.len() > 2_000 || !text.contains('@') || text.contains("://") {
        return Vec::new();
    }
    let parts = text
        .split([',', ';'])
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let read: Option<Vec<Mail>> = parts.map(mail).collect();
    read.unwrap_or_default()
}

fn mail(text: &str) -> Option<Mail> {
    let text = match (text.rfind('<'), text.strip_suffix('>')) {
        (Some(open), Some(inner)) => &inner[open + 1..],
        _ => text,
    };
    let text = text.strip_prefix("mailto:").unwrap_or(text);
    let (local, host) = text.split_once('@')?;
    let fine = |part: &str| {
        !part.is_empty() && !part.contains(|at: char| at.is_whitespace() || "@/<>()".contains(at))
    };
    (fine(local) && fine(host) && is_host(host)).then(|| Mail {
        local: local.to_lowercase(),
        host: host.to_lowercase(),
    })
}

/// Whether it is written like the name of a host, with a dot or `localhost`.
pub(crate) fn is_host(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && label
                .chars()
                .all(|at| at.is_alphanumeric() || at == '-' || at == '_')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= 253
        && text.contains('.')
        && text.split('.').all(label)
        && last.chars().any(char::is_alphabetic)
}

/// A host with an optional port, where the text is nothing else.
pub(crate) fn host_alone(text: &str) -> Option<String> {
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => text,
    };
    is_host(host).then(|| host.to_lowercase())
}

/// The URL, where the text is nothing else.
pub(crate) fn url(text: &str) -> Option<Url> {
    let text = text.trim();
    let scheme = text.find("://").filter(|at| *at > 0 && *at < 20)?;
    let plain = text[..scheme]
        .chars()
        .all(|at| at.is_ascii_alphanumeric() || at == '+' || at == '-' || at == '.');
    (plain && !text.contains(char::is_whitespace) && text.len() <= 8_000)
        .then(|| Url::parse(text).ok())?
}

/// Host of a URL as it is compared; none for files and literals of loopback.
pub(crate) fn host_of(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Domain(name) if !name.is_empty() => Some(name.trim_end_matches('.').to_lowercase()),
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Ipv6(address) => Some(address.to_string()),
        Host::Domain(_) => None,
    }
}

/// Loopback by name or number.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// The http and https URLs in a text, where each begins and what it is.
pub(crate) fn urls_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(next) = text[from..].find("://") {
        let middle = from + next;
        let head = &text[..middle];
        let start = head
            .char_indices()
            .rev()
            .take_while(|(_, at)| at.is_ascii_alphabetic())
            .last()
            .map_or(middle, |(at, _)| at);
        let literal = text[middle..].starts_with("://[");
        let ends = |at: char| {
            at.is_whitespace() || "\"'`<>|\\^{}),;".contains(at) || (at == ']' && !literal)
        };
        let end = text[middle + 3..]
            .find(ends)
            .map_or(text.len(), |at| middle + 3 + at);
        let scheme = text[start..middle].to_ascii_lowercase();
        if (scheme == "http" || scheme == "https") && end > middle + 3 {
            found.push(text[start..end].trim_end_matches(['.', '!', '?']));
        }
        from = end.max(middle + 3);
        if found.len() >= 50 {
            break;
        }
    }
    found
}

/// The part that somebody registered: `nordwind.example` of `mail.nordwind.example`.
pub(crate) fn registrable(host: &str) -> &str {
    if host.parse::<IpAddr>().is_ok() {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// The registrable part without its suffix.
pub(crate) fn label(host: &str) -> &str {
    let domain = registrable(host);
    let suffix = psl::suffix_str(domain).unwrap_or_default();
    let label = domain.strip_suffix(suffix).unwrap_or(domain);
    label
        .strip_suffix('.')
        .filter(|label| !label.is_empty())
        .unwrap_or(domain)
}
