//! How long payloads are kept.
//!
//! Whatever the streams may bring again is kept. Audit rows, digests and decisions are not covered: these are kept for
//! ever.

use super::Timestamp;

const MIB: u64 = 1024 * 1024;

/// What has a limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Payloads of requests that have ended.
    Requests,
    /// What agents reported about decisions.
    Receipts,
    /// Messages that were set aside.
    Quarantine,
    /// What agents did.
    Spans,
}

countersign_wire::words!(Kind {
    Requests => "requests", Receipts => "receipts", Quarantine => "quarantine", Spans => "spans",
});

impl Kind {
    /// Days for which the streams keep a message of this kind (protocol, section 1 "Streams"): younger
    /// ones stay, whatever the limits say.
    #[must_use]
    pub fn shortest_days(self) -> u32 {
        match self {
            Self::Requests => 60,
            // Receipts may be set aside too.
            Self::Receipts | Self::Quarantine => 400,
            Self::Spans => 14,
        }
    }
}

/// Limits of one kind; none keeps everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    /// Older ones go.
    pub days: Option<u32>,
    /// The oldest go until the rest has this many MiB.
    pub mib: Option<u32>,
}

impl Limit {
    /// Bytes of the size limit.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        self.mib.map(|mib| u64::from(mib) * MIB)
    }
}

/// Limits of every kind. Everything is kept by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Payloads of requests that have ended.
    pub requests: Limit,
    /// What agents reported.
    pub receipts: Limit,
    /// Messages that were set aside.
    pub quarantine: Limit,
    /// What agents did.
    pub spans: Limit,
}

impl Retention {
    /// The limits of one kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Limit {
        match kind {
            Kind::Requests => self.requests,
            Kind::Receipts => self.receipts,
            Kind::Quarantine => self.quarantine,
            Kind::Spans => self.spans,
        }
    }

    /// Whether everything is kept.
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

/// What was stored before this moment goes; none when nothing does.
///
/// `oversized_before` is the moment after which the newest ones alone fill the size limit.
#[must_use]
pub fn goes_before(
    kind: Kind,
    limit: Limit,
    now: Timestamp,
    oversized_before: Option<Timestamp>,
) -> Option<Timestamp> {
    let ago = |days: u32| now.plus_ms(-i64::from(days) * Timestamp::DAY_MS);
    let aged = limit.days.map(ago);
    let before = aged.into_iter().chain(oversized_before).max()?;
    Some(before.min(ago(kind.shortest_days())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_younger_than_the_streams_keep_it_ever_goes() {
        let now = Timestamp(1_000 * Timestamp::DAY_MS);
        let at = |days: i64| Timestamp(days * Timestamp::DAY_MS);
        for (kind, days, oversized, goes) in [
            (Kind::Requests, None, None, None),
            (Kind::Requests, Some(90), None, Some(910)),
            (Kind::Requests, Some(10), None, Some(940)),
            (Kind::Requests, None, Some(999), Some(940)),
            (Kind::Requests, None, Some(500), Some(500)),
            (Kind::Requests, Some(90), Some(500), Some(910)),
            (Kind::Requests, Some(90), Some(920), Some(920)),
            (Kind::Receipts, Some(90), Some(920), Some(600)),
            (Kind::Quarantine, Some(500), None, Some(500)),
            (Kind::Spans, Some(1), Some(999), Some(986)),
        ] {
            let limit = Limit { days, mib: Some(1) };
            let found = goes_before(kind, limit, now, oversized.map(at));
            assert_eq!(found, goes.map(at), "{kind:?} {days:?} {oversized:?}");
        }
    }
}
