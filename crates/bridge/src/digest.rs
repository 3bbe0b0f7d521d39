//! Ids that are made of what CommonGround names.

use sha2::{Digest, Sha256};

/// 64 hexadecimal digits.
pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The request of a call: the same call is the same request at every start.
pub(crate) fn request_id(project: &str, tool_call: &str) -> String {
    let digest = hex_sha256(format!("commonground\n{project}\n{tool_call}").as_bytes());
    format!("cg-{}", &digest[..32])
}

/// The trace of a turn whose events name none.
pub(crate) fn trace_of_turn(project: &str, turn: &str) -> String {
    let digest = hex_sha256(format!("commonground\n{project}\n{turn}").as_bytes());
    digest[..32].to_owned()
}

/// A span's id: `turn`, `step` or `call`.
pub(crate) fn span_id(kind: &str, project: &str, id: &str) -> String {
    let digest = hex_sha256(format!("{kind}\n{project}\n{id}").as_bytes());
    digest[..16].to_owned()
}
