//! Which addresses are never connected to, whoever named them: metadata services, multicast, link-local, unspecified.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The metadata services that are outside of the link-local network.
const METADATA: [Ipv4Addr; 2] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Whether an address is forbidden, also one of version 4 inside of one of version 6.
#[must_use]
pub fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_forbidden_4(address),
        IpAddr::V6(address) => {
            let [first, ..] = address.segments();
            address.is_unspecified()
                || first & 0xffc0 == 0xfe80
                || first & 0xff00 == 0xff00
                || address == METADATA_6
                || inside(address).is_some_and(is_forbidden_4)
        }
    }
}

fn is_forbidden_4(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    first == 0 || first >= 224 || address.is_link_local() || METADATA.contains(&address)
}

/// The address of version 4 in `::/96`, `::ffff:0:0/96`, `64:ff9b::/96`, `64:ff9b:1::/48` and `2002::/16`.
fn inside(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low] if !address.is_loopback() => (high, low),
        [0, 0, 0, 0, 0, 0xffff, high, low] => (high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (high, low),
        [0x64, 0xff9b, 1, _, _, _, high, low] => (high, low),
        [0x2002, high, low, ..] => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

/// A name has an address that is forbidden.
#[derive(Debug, thiserror::Error)]
#[error("the address is forbidden")]
pub(super) struct Forbidden;

/// The system's addresses of a name or address, unless one of them is forbidden: whoever connects uses these and looks
/// no name up twice. What calls itself local is local.
///
/// # Errors
/// When there is none, or one is forbidden.
pub async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    let local = host == "localhost" || host.ends_with(".localhost");
    let refused = |at: &SocketAddr| is_forbidden(at.ip()) || local && !at.ip().is_loopback();
    if found.iter().any(refused) {
        return Err(io::Error::other(Forbidden));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn no_spelling_of_a_forbidden_address_passes() {
        for forbidden in [
            "169.254.169.254",
            "169.254.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "::169.254.169.254",
            "::224.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:2:3:4:6464:64c8",
            "2002:a9fe:a9fe::1",
            "2002:e000:1::",
        ] {
            assert!(is_forbidden(forbidden.parse().unwrap()), "{forbidden}");
        }
        for allowed in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "100.100.100.201",
            "168.63.129.17",
            "223.255.255.255",
            "::1",
            "fd00::1",
            "fec0::1",
            "2001:db8::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::808:808",
            "64:ff9b:1::808:808",
            "2002:808:808::1",
        ] {
            assert!(!is_forbidden(allowed.parse().unwrap()), "{allowed}");
        }
    }
}
