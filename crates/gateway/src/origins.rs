//! Where callbacks may go: the origins that the gateway's owner named.

use std::net::IpAddr;

use countersign_post::is_forbidden;
use url::{Host, Url};

/// Scheme, host and port of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins(Vec<(String, String, u16)>);

fn origin(url: &Url) -> Option<(String, String, u16)> {
    let host = url.host()?;
    let address = match host {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    };
    let local = match &host {
        Host::Domain(name) => *name == "localhost",
        _ => address.is_some_and(|address| address.is_loopback()),
    };
    let secure = url.scheme() == "https" || url.scheme() == "http" && local;
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let permitted = secure && plain && !address.is_some_and(is_forbidden);
    let port = url.port_or_known_default()?;
    permitted.then(|| (url.scheme().to_owned(), host.to_string(), port))
}

impl Origins {
    /// Reads what follows `--callback`. Error: the text that is not an origin.
    pub(crate) fn read(texts: &[String]) -> Result<Self, String> {
        let read = |text: &String| {
            let url = Url::parse(text)
                .ok()
                .filter(|url| url.path() == "/" && url.query().is_none());
            url.as_ref().and_then(origin).ok_or_else(|| text.clone())
        };
        texts.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a callback may go to this URL.
    pub(crate) fn allow(&self, url: &str) -> bool {
        let url = Url::parse(url).ok();
        let of_url = url.as_ref().and_then(origin);
        of_url.is_some_and(|origin| self.0.contains(&origin))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_callback_has_the_scheme_host_and_port_of_an_origin_and_nothing_hidden() {
        let texts = [
            "https://n8n.example.org",
            "http://127.0.0.1:5678",
            "https://a.example:8443/",
        ];
        let origins = Origins::read(&texts.map(str::to_owned)).unwrap();
        for (url, allowed) in [
            ("https://n8n.example.org/webhook-waiting/7?x=1", true),
            ("https://n8n.example.org:443/x", true),
            ("https://N8N.example.org/x", true),
            ("http://127.0.0.1:5678/x", true),
            ("https://a.example:8443/x", true),
            ("http://n8n.example.org/x", false),
            ("https://n8n.example.org:444/x", false),
            ("https://n8n.example.org.evil.example/x", false),
            ("https://n8n.example.org@evil.example/x", false),
            ("https://user@n8n.example.org/x", false),
            ("https://n8n.example.org/x#part", false),
            ("http://localhost:5678/x", false),
            ("http://127.0.0.1/x", false),
            ("https://a.example/x", false),
            ("ftp://127.0.0.1:5678/x", false),
            ("n8n.example.org/x", false),
            ("", false),
        ] {
            assert_eq!(origins.allow(url), allowed, "{url}");
        }
        for text in [
            "http://n8n.example.org",
            "https://169.254.169.254",
            "https://a.example/path",
            "x",
            "https://a.example?x",
            "https://user@a.example",
            "https://[::ffff:a9fe:a9fe]",
        ] {
            assert!(Origins::read(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
