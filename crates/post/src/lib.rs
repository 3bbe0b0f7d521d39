//! One POST or GET to an address that a person wrote: no proxy, no redirect, no forbidden address, an answer up to a bound.

mod address;
mod sign;
mod tls;

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use url::{Host, Url};

use address::Forbidden;
pub use address::{is_forbidden, resolve};
pub use sign::{is_secret, secret, signature};
pub use tls::trust;

/// Servers close a connection that nobody uses; one that is older is not used again. The shortest usual limit is 5 s.
const IDLE: Duration = Duration::from_secs(4);
/// Of an answer of which the status alone counts.
const FOR_A_BODY: Duration = Duration::from_secs(1);

/// Why no answer came. Says nothing of what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// Not an `http` or `https` address with a host, or a header that cannot be sent.
    #[error("the address or a header is not valid")]
    Invalid,
    /// The address, or one of those that the name resolves to, may not be connected to.
    #[error("the address is forbidden")]
    AddressForbidden,
    /// No connection, or one that broke.
    #[error("no connection")]
    Connect,
    /// The certificate does not fit.
    #[error("the certificate is not accepted")]
    Tls,
    /// Nothing, or not all of it, in time.
    #[error("no answer in time")]
    Timeout,
    /// More than was asked for at most.
    #[error("the answer is too large")]
    TooLarge,
}

/// What is sent.
#[derive(Clone, Default)]
pub struct Call<'a> {
    /// `http` or `https`.
    pub url: &'a str,
    /// Names and values; a value is never logged.
    pub headers: Vec<(&'a str, String)>,
    /// A body makes it a POST of JSON; without one it is a GET.
    pub body: Option<Vec<u8>>,
    /// For the whole call.
    pub timeout: Duration,
    /// Bytes of the answer's body.
    pub largest: usize,
}

/// What came back, whatever its status; a redirect too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends calls.
#[derive(Debug, Clone)]
pub struct Post {
    client: Client,
}

impl Post {
    /// Reads the system's authorities once.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn new() -> io::Result<Self> {
        Self::trusting(None)
    }

    /// Trusts the authorities in this PEM file alone, without one those of the system.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn trusting(authorities: Option<&Path>) -> io::Result<Self> {
        let mut tls = trust(authorities)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .pool_idle_timeout(IDLE)
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(Checked));
        let client = client.build().map_err(io::Error::other)?;
        Ok(Self { client })
    }

    /// Sends one call and reads its answer.
    ///
    /// # Errors
    /// [`PostError`]; a status that says that it failed is a [`Reply`].
    pub async fn send(&self, call: Call<'_>) -> Result<Reply, PostError> {
        let (timeout, largest) = (call.timeout, call.largest);
        let answer = async { read(self.answer(call).await?, largest).await };
        let answer = tokio::time::timeout(timeout, answer).await;
        answer.unwrap_or(Err(PostError::Timeout))
    }

    /// Sends one call of which the status alone counts, with the answer's `Retry-After`. Of its body so much is read
    /// that the connection can be used again, up to [`Call::largest`].
    ///
    /// # Errors
    /// [`PostError`]; a status that says that it failed is an answer.
    pub async fn notify(&self, call: Call<'_>) -> Result<(u16, Option<String>), PostError> {
        let (timeout, largest) = (call.timeout, call.largest);
        let begun = tokio::time::Instant::now();
        let response = tokio::time::timeout(timeout, self.answer(call)).await;
        let response = response.unwrap_or(Err(PostError::Timeout))?;
        let after = response.headers().get("retry-after");
        let after = after.and_then(|value| Some(value.to_str().ok()?.to_owned()));
        let status = response.status().as_u16();
        // What it says, or that it does not end, changes nothing.
        let left = timeout.saturating_sub(begun.elapsed()).min(FOR_A_BODY);
        let _ = tokio::time::timeout(left, read(response, largest)).await;
        Ok((status, after))
    }

    async fn answer(&self, call: Call<'_>) -> Result<Response, PostError> {
        let url = Url::parse(call.url).map_err(|_| PostError::Invalid)?;
        // A name is looked at when it is resolved; the parser has read every way to write an address.
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) if matches!(url.scheme(), "http" | "https") => None,
            _ => return Err(PostError::Invalid),
        };
        if literal.is_some_and(is_forbidden) {
            return Err(PostError::AddressForbidden);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in call.headers {
            let name = HeaderName::try_from(name).map_err(|_| PostError::Invalid)?;
            let mut value = HeaderValue::try_from(value).map_err(|_| PostError::Invalid)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let asked = match call.body {
            Some(body) => {
                let json = HeaderValue::from_static("application/json");
                headers.insert("content-type", json);
                self.client.post(url).body(body)
            }
            None => self.client.get(url),
        };
        let response = asked.headers(headers).send().await;
        response.map_err(|error| fault(&error))
    }
}

async fn read(mut response: Response, largest: usize) -> Result<Reply, PostError> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
        if body.len() + chunk.len() > largest {
            return Err(PostError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Reply { status, body })
}

fn fault(error: &reqwest::Error) -> PostError {
    match cause(error) {
        Some(cause) => cause,
        None if error.is_timeout() => PostError::Timeout,
        None => PostError::Connect,
    }
}

/// What an error is about, where it is a certificate or a forbidden address.
#[must_use]
pub fn cause(error: &(dyn std::error::Error + 'static)) -> Option<PostError> {
    let mut source = Some(error);
    while let Some(found) = source {
        if found.is::<Forbidden>() {
            return Some(PostError::AddressForbidden);
        }
        if found.is::<rustls::Error>() {
            return Some(PostError::Tls);
        }
        // The source of an I/O error is that of the one inside of it.
        let inside = found.downcast_ref::<io::Error>();
        source = match inside.and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => found.source(),
        };
    }
    None
}

/// Addresses from [`resolve`]: the connection goes to one of these.
struct Checked;

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
