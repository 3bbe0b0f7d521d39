//! Who this console is to the server: `$SYS.REQ.USER.INFO`.
//!
//! The default account needs an explicit option (protocol, section 1 "Accounts").

use super::BusError;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(super) const USER_INFO: &str = "$SYS.REQ.USER.INFO";
const DEFAULT_ACCOUNT: &str = "$G";

/// The answer, as far as it is used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserInfo {
    pub(super) account: String,
    /// The server's time while it answered.
    pub(super) time: OffsetDateTime,
}

#[derive(serde::Deserialize)]
struct Reply {
    server: ReplyServer,
    data: Option<ReplyData>,
}

#[derive(serde::Deserialize)]
struct ReplyServer {
    time: String,
}

#[derive(serde::Deserialize)]
struct ReplyData {
    account: String,
}

impl UserInfo {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, BusError> {
        let unreadable = |why: String| BusError::BadReply {
            what: USER_INFO.into(),
            why,
        };
        let reply: Reply =
            serde_json::from_slice(payload).map_err(|error| unreadable(error.to_string()))?;
        let time = OffsetDateTime::parse(&reply.server.time, &Rfc3339)
            .map_err(|error| unreadable(error.to_string()))?;
        let data = reply
            .data
            .ok_or_else(|| unreadable("no account in it".into()))?;
        Ok(Self {
            account: data.account,
            time,
        })
    }

    /// Whether consoles and agents would share an account; an error unless `allowed`.
    pub(super) fn single_account(&self, allowed: bool) -> Result<bool, BusError> {
        match (self.account == DEFAULT_ACCOUNT, allowed) {
            (true, false) => Err(BusError::SingleAccount),
            (single, _) => Ok(single),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn reply(account: &str) -> Vec<u8> {
        format!(
            r#"{{"server":{{"name":"N","time":"2026-11-21T23:05:46.762950346Z"}},"data":{{"user":"","account":"{account}","account_name":"x"}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn the_default_account_is_refused_unless_allowed() {
        let shared = UserInfo::parse(&reply("$G")).unwrap();
        assert_eq!(
            shared.single_account(false).unwrap_err().code(),
            "bus_single_account"
        );
        assert!(shared.single_account(true).unwrap());
        let own = UserInfo::parse(&reply("CORE")).unwrap();
        assert!(!own.single_account(false).unwrap());
        assert_eq!(
            own.time,
            time::macros::datetime!(2026-11-21 23:05:46.762950346 UTC)
        );
    }

    #[test]
    fn an_answer_without_account_or_time_is_an_error() {
        for payload in [
            "",
            "{}",
            r#"{"server":{"time":"x"},"data":{"account":"A"}}"#,
            r#"{"server":{"time":"2026-11-21T23:05:46Z"},"error":{"code":1}}"#,
        ] {
            assert_eq!(
                UserInfo::parse(payload.as_bytes()).unwrap_err().code(),
                "bus_bad_reply"
            );
        }
    }
}
