//! The agent under which a service's spans are kept.

use countersign_wire::AgentName;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// What OpenTelemetry calls a service that does not say its name.
const UNKNOWN: &str = "unknown_service";
/// A name has at most 63 characters; nine of them are `-` and the digest.
const SLUG: usize = 54;

/// The name for a service of that `service.name`: a slug, `-` and 8 hex of the SHA-256 of the name (protocol,
/// "Names"). No agent is enrolled under such a name, so no program can write into the spans of one.
#[must_use]
pub fn agent_of_service(service: Option<&str>) -> Option<AgentName> {
    let service = service
        .filter(|name| !name.trim().is_empty())
        .unwrap_or(UNKNOWN);
    let mut name = slug(service);
    name.push('-');
    name.push_str(&HEXLOWER.encode(&Sha256::digest(service.as_bytes())[..4]));
    name.parse().ok()
}

/// Lower-case letters, digits, `_` and single `-`, starting with a letter or a digit.
fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(SLUG);
    for letter in text.chars() {
        if slug.len() == SLUG {
            break;
        }
        match letter.to_ascii_lowercase() {
            plain @ ('a'..='z' | '0'..='9') => slug.push(plain),
            '_' if !slug.is_empty() => slug.push('_'),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let end = slug.trim_end_matches('-').len();
    slug.truncate(end);
    if slug.is_empty() {
        slug.push_str("service");
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_name_becomes_a_name_of_the_protocol_that_is_its_own() {
        for (service, slug) in [
            (Some("billing-bot"), "billing-bot-"),
            (Some("Billing Bot!"), "billing-bot-"),
            (Some("__Überweisung/EU"), "berweisung-eu-"),
            (Some("客服"), "service-"),
            (Some("  "), "unknown_service-"),
            (None, "unknown_service-"),
        ] {
            let name = agent_of_service(service).unwrap();
            let (start, digest) = name.as_ref().split_at(slug.len());
            assert_eq!(start, slug, "{service:?}");
            assert_eq!(digest.len(), 8, "{name}");
        }
        let plain = agent_of_service(Some("billing-bot"));
        assert_ne!(plain, agent_of_service(Some("Billing-Bot")));
        assert_eq!(plain, agent_of_service(Some("billing-bot")));
    }
}
