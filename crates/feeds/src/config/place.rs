//! Where a feed may send: addresses and files.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use countersign_post::is_forbidden;
use url::{Host, Url};

use super::{FOLDER, Wrong, wrong};

pub(super) fn webhook_url(key: &'static str, text: &str) -> Result<Url, Wrong> {
    let url = Url::parse(text).or_else(|_| wrong(key, "must be an http or https address"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return wrong(key, "must be an http or https address");
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return wrong(
            key,
            "must not hold a user, a password or a fragment; use headers_file",
        );
    }
    if !is_local(key, &url)? && url.scheme() == "http" {
        return wrong(key, "must be https beyond this machine");
    }
    Ok(url)
}

/// Whether the host is this machine.
fn is_local(key: &'static str, url: &Url) -> Result<bool, Wrong> {
    let address = match url.host() {
        Some(Host::Domain(name)) => return Ok(name == "localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        None => return wrong(key, "names no host"),
    };
    match is_forbidden(address) {
        true => wrong(
            key,
            "is an address that nothing may be sent to (address_forbidden)",
        ),
        false => Ok(address.is_loopback()),
    }
}

pub(super) fn syslog_address(
    to: Option<&str>,
    allow_plain_text: bool,
) -> Result<(String, u16, bool), Wrong> {
    let form = "must be tls://HOST:PORT or tcp://HOST:PORT";
    let (scheme, rest) = to
        .and_then(|to| to.split_once("://"))
        .ok_or(("to", form.to_owned()))?;
    if !matches!(scheme, "tls" | "tcp") {
        return wrong("to", form);
    }
    // Only the hosts of the web's schemes are read in every spelling of an address.
    let url = Url::parse(&format!("ftp://{rest}")).or_else(|_| wrong("to", form))?;
    let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let (Some(host), Some(port), true, "/", None) = (
        url.host_str(),
        url.port(),
        is_bare,
        url.path(),
        url.fragment(),
    ) else {
        return wrong("to", form);
    };
    if !is_local("to", &url)? && scheme == "tcp" && !allow_plain_text {
        return wrong(
            "to",
            "must be tls:// beyond this machine, or set allow_plain_text = true",
        );
    }
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok((host, port, scheme == "tls"))
}

pub(super) fn file_path(path: Option<&Path>, folder: &Path) -> Result<PathBuf, Wrong> {
    let path = folder.join(path.ok_or(("path", "is missing".to_owned()))?);
    let own = folder.join(FOLDER);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return wrong("path", "must name a file");
    };
    // The console makes this one.
    if parent == own && !own.exists() {
        return Ok(path);
    }
    let parent = parent
        .canonicalize()
        .or_else(|_| wrong("path", "is in a folder that does not exist"))?;
    let (folder, own) = (
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        own.canonicalize().unwrap_or(own),
    );
    let is_secret = parent == own
        && Path::new(name)
            .extension()
            .is_some_and(|of| of == "secret" || of == "old");
    if parent.starts_with(&folder) && !parent.starts_with(&own) || is_secret {
        return wrong(
            "path",
            "must be outside of the data folder, or below its folder feeds",
        );
    }
    Ok(parent.join(name))
}
