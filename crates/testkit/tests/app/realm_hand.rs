//! Who signs by hand: a key, or a phone whose passkey the log names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_wire::realm::REALM_SUBJECT;
use countersign_wire::{Context, PublicKey, Sha256Digest, sign};
use data_encoding::BASE32_NOPAD;
use nkeys::KeyPair;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use uuid::Uuid;

const SITE: &str = "desk.example";

pub(crate) fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A passkey of an operator.
pub(crate) struct Phone {
    pair: EcdsaKeyPair,
    pub(crate) key: String,
}

impl Phone {
    pub(crate) fn new() -> Self {
        let (curve, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(curve, made.as_ref(), &random).unwrap();
        let digest = Sha256Digest::of_bytes(pair.public_key().as_ref());
        let key = format!("W{}", BASE32_NOPAD.encode(digest.as_bytes()));
        Self { pair, key }
    }

    /// As a record of its holder names it.
    pub(crate) fn listed(&self, realm: &Uuid, holder: &str, until: &str) -> Value {
        let consent = format!("{holder}\ndevice");
        json!({
            "key": self.key, "role": "device", "device": "a phone", "public": b64(self.pair.public_key().as_ref()),
            "credential": b64(b"1"), "rp_id": SITE, "origins": [format!("https://{SITE}")],
            "limits": {"max_risk": "medium"}, "until": until,
            "proof": self.sign(Context::Key, realm, REALM_SUBJECT, consent.as_bytes()),
        })
    }

    fn sign(&self, context: Context, realm: &Uuid, subject: &str, payload: &[u8]) -> String {
        let context = match context {
            Context::Key => "key",
            Context::Vote => "vote",
            _ => "decision",
        };
        let digest = Sha256Digest::of_bytes(payload).to_string();
        let digest = digest.trim_start_matches("sha256:");
        let signed = format!("countersign-v1\n{context}\n{realm}\n{subject}\n{digest}");
        let challenge = b64(Sha256Digest::of_bytes(signed.as_bytes()).as_bytes());
        let client = json!({"type": "webauthn.get", "challenge": challenge, "origin": format!("https://{SITE}")});
        let client = client.to_string();
        let mut data = Sha256Digest::of_bytes(SITE.as_bytes()).as_bytes().to_vec();
        data.extend([5, 0, 0, 0, 0]);
        let message = [
            &data[..],
            Sha256Digest::of_bytes(client.as_bytes()).as_bytes(),
        ]
        .concat();
        let signature = self.pair.sign(&SystemRandom::new(), &message).unwrap();
        [&data[..], client.as_bytes(), signature.as_ref()]
            .map(b64)
            .join(".")
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Hand<'a> {
    Key(&'a KeyPair),
    Phone(&'a Phone),
}

impl Hand<'_> {
    pub(crate) fn public(&self) -> String {
        match self {
            Self::Key(pair) => PublicKey::of(pair).unwrap().to_string(),
            Self::Phone(phone) => phone.key.clone(),
        }
    }

    pub(crate) fn sign(
        &self,
        context: Context,
        realm: &Uuid,
        subject: &str,
        payload: &[u8],
    ) -> String {
        match self {
            Self::Key(pair) => sign(pair, context, realm, subject, payload)
                .unwrap()
                .to_string(),
            Self::Phone(phone) => phone.sign(context, realm, subject, payload),
        }
    }
}

/// The text of a key whose point is the neutral element: laxer libraries take any signature for its.
pub(crate) fn of_small_order() -> String {
    let mut raw = vec![20 << 3, 1];
    raw.resize(33, 0);
    let mut crc: u16 = 0;
    for byte in &raw {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carry = crc & 0x8000 != 0;
            crc <<= 1;
            if carry {
                crc ^= 0x1021;
            }
        }
    }
    raw.extend(crc.to_le_bytes());
    BASE32_NOPAD.encode(&raw)
}

/// A signature whose R is the neutral element and whose S is zero.
pub(crate) fn neutral() -> String {
    let mut raw = [0; 64];
    raw[0] = 1;
    b64(&raw)
}
