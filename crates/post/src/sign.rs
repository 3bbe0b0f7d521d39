//! Signs a Standard Webhook (1.0, `v1`: HMAC-SHA256).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// What a secret begins with, before its base64.
const SECRET: &str = "whsec_";

/// The value of `webhook-signature` for these secrets, one signature each, a blank between. What is no secret signs
/// nothing.
#[must_use]
pub fn signature(secrets: &[String], id: &str, timestamp: i64, body: &[u8]) -> String {
    let signed = secrets.iter().filter_map(|secret| {
        let key = STANDARD.decode(secret.strip_prefix(SECRET)?).ok()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        Some(format!("v1,{signature}"))
    });
    signed.collect::<Vec<_>>().join(" ")
}

/// Whether a text is a secret of at least 24 bytes, the least that the specification allows.
#[must_use]
pub fn is_secret(text: &str) -> bool {
    let key = text.strip_prefix(SECRET).map(|key| STANDARD.decode(key));
    matches!(key, Some(Ok(key)) if key.len() >= 24)
}

/// A secret of these random bytes.
#[must_use]
pub fn secret(random: &[u8; 32]) -> String {
    format!("{SECRET}{}", STANDARD.encode(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn the_signature_is_that_of_the_specification() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        let one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(
            signature(std::slice::from_ref(&secret), id, 1_614_265_330, body),
            one
        );
        let both = [secret, super::secret(&[7; 32])];
        let two = signature(&both, id, 1_614_265_330, body);
        assert!(two.starts_with(&format!("{one} v1,")), "{two}");
        assert_eq!(signature(&["x".to_owned()], id, 1, body), "");
    }
}
