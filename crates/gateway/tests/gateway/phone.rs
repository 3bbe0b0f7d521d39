//! A passkey: what it signs, written from the protocol and not with the product.

use countersign_sdk::wire::Sha256Digest;
use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::console::{Console, Draft, Seen, copy, public};

const HOST: &str = "desk.example";

pub(crate) struct Phone {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256Digest::of_bytes(bytes)
}

impl Phone {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let scheme = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(scheme, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(scheme, made.as_ref(), &random).unwrap();
        Self { pair, random }
    }

    fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    pub(crate) fn key(&self) -> String {
        let digest = sha256(self.public());
        format!("W{}", BASE32_NOPAD.encode(digest.as_bytes()))
    }

    /// The assertion over what section 5 signs.
    fn sign(&self, console: &Console, context: &str, subject: &str, payload: &[u8]) -> String {
        let digest = sha256(payload).to_string();
        let digest = digest.strip_prefix("sha256:").unwrap();
        let realm = console.realm.hyphenated();
        let signed = format!("countersign-v1\n{context}\n{realm}\n{subject}\n{digest}");
        let challenge = BASE64URL_NOPAD.encode(sha256(signed.as_bytes()).as_bytes());
        let origin = format!("https://{HOST}");
        let client = json!({ "type": "webauthn.get", "challenge": challenge, "origin": origin });
        let client = client.to_string().into_bytes();
        let mut message = sha256(HOST.as_bytes()).as_bytes().to_vec();
        message.extend([0x05, 0, 0, 0, 1]);
        let authenticator = BASE64URL_NOPAD.encode(&message);
        message.extend(sha256(&client).as_bytes());
        let sig = self.pair.sign(&self.random, &message).unwrap();
        let (client, sig) = (
            BASE64URL_NOPAD.encode(&client),
            BASE64URL_NOPAD.encode(sig.as_ref()),
        );
        format!("{authenticator}.{client}.{sig}")
    }

    /// The console's own person adds it, up to this risk.
    pub(crate) async fn add(&self, console: &mut Console, max_risk: &str) {
        let consent = format!("{}\ndevice", public(&console.human));
        let proof = self.sign(console, "key", "countersign.v1.realm", consent.as_bytes());
        let mut record = console.founder();
        record["keys"].as_array_mut().unwrap().push(json!({
            "key": self.key(), "role": "device", "proof": proof, "device": "Ada's phone",
            "limits": { "max_risk": max_risk }, "public": BASE64URL_NOPAD.encode(self.public()),
            "credential": "AA", "rp_id": HOST, "origins": [format!("https://{HOST}")],
            "until": "2999-01-01T00:00:00.000Z",
        }));
        let human = copy(&console.human);
        console
            .write(&human, json!({ "operators": [record] }))
            .await;
    }

    pub(crate) fn approval(&self, console: &Console, seen: &Seen) -> Draft {
        let by: Value = json!({ "name": "Ada", "key": self.key() });
        let more = json!({ "args_digest": seen.args_digest, "decided_by": by });
        let mut draft = console.decision(seen, "approve", more);
        let sig = self.sign(console, "decision", &draft.subject, &draft.payload);
        (draft.key, draft.sig) = (Some(self.key()), Some(sig));
        draft
    }
}
