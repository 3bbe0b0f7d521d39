//! Bus addresses: one URL or several separated by commas.
//!
//! What may be printed never holds a secret.

use super::BusError;
use async_nats::ServerAddr;

/// An address taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) servers: Vec<ServerAddr>,
    /// The same without secrets, for people and logs.
    pub(super) shown: String,
    /// Whether some connection would leave this machine without TLS.
    pub(super) plain_text: bool,
    /// Whether one of them is `tls://`. Then all connections are, those to servers that the cluster names too.
    pub(super) asks_for_tls: bool,
}

/// User and password, or a token, from a URL.
#[derive(PartialEq, Eq)]
pub(super) enum UrlSecret {
    UserPassword(String, String),
    Token(String),
}

pub(super) fn parse(text: &str) -> Result<(Address, Option<UrlSecret>), BusError> {
    let mut secret = None;
    let mut servers = Vec::new();
    let mut shown = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (bare, found) = without_secret(part)?;
        let server: ServerAddr = bare
            .parse()
            .map_err(|_| bad("a server's address is not a URL like nats://host:4222"))?;
        if !["nats", "tls"].contains(&server.scheme()) {
            return Err(bad("a server's address begins with nats:// or tls://"));
        }
        if server.host().is_empty() {
            return Err(bad("a server's address has no host"));
        }
        secret = secret.or(found);
        servers.push(server);
        shown.push(bare);
    }
    let plain_text = servers
        .iter()
        .any(|server| !server.tls_required() && !is_loopback(server.host()));
    let asks_for_tls = servers.iter().any(ServerAddr::tls_required);
    let address = Address {
        servers,
        shown: shown.join(","),
        plain_text,
        asks_for_tls,
    };
    Ok((address, secret))
}

fn bad(why: &str) -> BusError {
    BusError::BadOptions { why: why.into() }
}

fn without_secret(url: &str) -> Result<(String, Option<UrlSecret>), BusError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("nats", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if tail.contains('@') {
        // It would read as a host without a login, and be shown.
        return Err(bad(
            "a `/`, `?` or `#` in the user or password of a URL must be percent-encoded (%2F, %3F, %23)",
        ));
    }
    let Some((user_info, host)) = authority.rsplit_once('@') else {
        return Ok((format!("{scheme}://{rest}"), None));
    };
    let secret = match user_info.split_once(':') {
        Some((user, password)) => UrlSecret::UserPassword(decoded(user)?, decoded(password)?),
        None => UrlSecret::Token(decoded(user_info)?),
    };
    Ok((format!("{scheme}://{host}{tail}"), Some(secret)))
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, BusError> {
    let refuse = || bad("the user or password in the URL is not percent-encoded UTF-8");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let hex = after
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .ok_or_else(refuse)?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| refuse())?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| refuse())
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn secrets_leave_the_url_and_plain_text_is_noticed() {
        for (url, shown, plain_text) in [
            ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222", false),
            ("localhost", "nats://localhost", false),
            ("nats://[::1]:4222", "nats://[::1]:4222", false),
            (
                "nats://u:p@bus.example:4222",
                "nats://bus.example:4222",
                true,
            ),
            ("tls://u:p%40ss@bus.example", "tls://bus.example", false),
            ("nats://tok@127.0.0.1", "nats://127.0.0.1", false),
            (
                "nats://127.0.0.1:1, nats://10.0.0.1:2",
                "nats://127.0.0.1:1,nats://10.0.0.1:2",
                true,
            ),
        ] {
            let (address, _) = parse(url).unwrap();
            assert_eq!(
                (address.shown.as_str(), address.plain_text),
                (shown, plain_text),
                "{url}"
            );
        }
    }

    #[test]
    fn user_password_and_token_are_decoded() {
        let secret = |url| parse(url).unwrap().1;
        assert!(
            secret("nats://a%3Ab:p%40ss@h")
                == Some(UrlSecret::UserPassword("a:b".into(), "p@ss".into()))
        );
        assert!(secret("nats://tok%2F@h") == Some(UrlSecret::Token("tok/".into())));
        assert!(secret("nats://h").is_none());
    }

    #[test]
    fn an_error_never_repeats_the_secret() {
        for url in [
            "nats://u:hunter2%@h",
            "nats://u:hunter2@",
            "nats://u:hunter2@ho st",
            "ws://u:hunter2@h",
            "wss://u:hunter2@h",
            "",
        ] {
            let Err(error) = parse(url) else {
                panic!("{url} was accepted")
            };
            assert_eq!(error.code(), "bus_bad_options");
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }
}
