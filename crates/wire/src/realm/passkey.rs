//! Signatures of devices: WebAuthn assertions over what the protocol signs.
//!
//! Every rule has to hold for the signature and for the device's own consent to its operator.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use data_encoding::BASE32_NOPAD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{entry::REALM_SUBJECT, record::SigningKey};
use crate::{
    Context, Sha256Digest,
    json::{json_value, scan},
    signature::{ASSERTION_MAX, signing_input},
};

const POINT: usize = 65;
/// A person was there, and was verified.
const FLAGS: u8 = 0x01 | 0x04;

/// The fields of a device that its signatures are judged by.
struct Device<'a> {
    public: Vec<u8>,
    rp_id: &'a str,
    origins: Vec<&'a str>,
    proof: &'a str,
}

/// Whether a device signed a message, by the fields of its key in the record of `operator`.
pub fn passkey_holds(
    fields: &Map<String, Value>,
    operator: &str,
    (context, realm, subject): (Context, &Uuid, &str),
    payload: &[u8],
    sig: &str,
) -> bool {
    let Some(device) = Device::read(fields) else {
        return false;
    };
    let consent = format!("{operator}\ndevice");
    let consent = signing_input(Context::Key, realm, REALM_SUBJECT, consent.as_bytes());
    let signed = signing_input(context, realm, subject, payload);
    device.asserts(&consent, device.proof).is_some() && device.asserts(&signed, sig).is_some()
}

/// When a device ends; `None` where that is not written as a time of the protocol.
pub(super) fn until(key: &SigningKey) -> Option<&str> {
    moment(&key.fields)
}

fn moment(fields: &Map<String, Value>) -> Option<&str> {
    let text = fields.get("until")?.as_str()?;
    let form = b"0000-00-00T00:00:00.000Z";
    let fits = |(byte, form): (u8, &u8)| {
        if *form == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == *form
        }
    };
    (text.len() == form.len() && text.bytes().zip(form).all(fits)).then_some(text)
}

impl<'a> Device<'a> {
    fn read(fields: &'a Map<String, Value>) -> Option<Self> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let origins = fields.get("origins")?.as_array()?;
        let device = Self {
            public: URL_SAFE_NO_PAD.decode(text("public")?).ok()?,
            rp_id: text("rp_id")?,
            origins: origins.iter().map(Value::as_str).collect::<Option<_>>()?,
            proof: text("proof")?,
        };
        let digest = Sha256Digest::of_bytes(&device.public);
        let key = format!("W{}", BASE32_NOPAD.encode(digest.as_bytes()));
        let whole = device.public.len() == POINT
            && text("key")? == key
            && matches!(device.origins.len(), 1 | 2)
            && moment(fields).is_some();
        whole.then_some(device)
    }

    fn asserts(&self, signed: &[u8], sig: &str) -> Option<()> {
        if sig.len() > ASSERTION_MAX {
            return None;
        }
        let parts = sig.split('.').map(|part| URL_SAFE_NO_PAD.decode(part));
        let parts: Vec<Vec<u8>> = parts.collect::<Result<_, _>>().ok()?;
        let [authenticator, client, signature] = parts.try_into().ok()?;
        scan(&client, usize::MAX, &[]).ok()?;
        let data = json_value(&client)?;
        let data = data.as_object()?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256Digest::of_bytes(signed).as_bytes());
        let asked = data.get("type")? == "webauthn.get"
            && *data.get("challenge")? == challenge
            && self.origins.contains(&data.get("origin")?.as_str()?)
            && data.get("crossOrigin").is_none_or(|cross| *cross == false)
            && !data.contains_key("topOrigin");
        let here = Sha256Digest::of_bytes(self.rp_id.as_bytes());
        let there = authenticator.len() >= 37
            && authenticator.starts_with(here.as_bytes())
            && authenticator[32] & FLAGS == FLAGS;
        if !asked || !there {
            return None;
        }
        let mut message = authenticator;
        message.extend(Sha256Digest::of_bytes(&client).as_bytes());
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.public)
            .verify(&message, &signature)
            .ok()
    }
}
