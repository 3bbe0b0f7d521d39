//! Recovers the console's own server after a power cut: its store ends a moment before the console's, which is on the
//! disk with each commit.
//!
//! A person looks first at any other difference, at a loss of more than a power cut takes, and after an orderly end.

use countersign_wire::Stream;

use super::{check, is_as_remembered};
use crate::Fault;
use crate::bus::Bus;
use crate::domain::AlarmCode;
use crate::domain::Timestamp;
use crate::ops::alarms;
use crate::ops::rollback::WentBack;
use crate::runtime::App;
use crate::store::bus_stream::Position;
use crate::store::{bus_stream, republish};

/// The server has its disk write every second, and a slow one takes longer; who lacks more was put back by somebody.
const LOST_WITHIN_MS: i64 = 10 * 60 * 1_000;
/// Messages of one stream: the console is not ready before they are published again.
const LOST_MOST: u64 = 5_000;

impl App {
    /// Does what `bus recover` does where the streams of the own server only end earlier than this console has read
    /// them. Called before anything is decided, after an unclean end. A failure is reported and changes nothing: the
    /// console is read-only then.
    pub(crate) async fn recover_the_last_moments(&self) {
        let done = async {
            let Some(bus) = self.bus() else {
                return Ok(None);
            };
            if !self.lost_only_the_end(&bus).await? {
                return Ok(None);
            }
            self.recover(false, |_| {}).await.map(Some)
        };
        let done: Result<_, Fault> = done.await;
        match done {
            Ok(None) => {}
            Ok(Some(done)) => {
                tracing::warn!(
                    streams = done.changed.join(" "),
                    decisions = done.decisions.republished,
                    "the console's own server had lost its last moments; they were published again"
                );
                let code = AlarmCode::LastMomentsLost;
                let subject = done.changed.join(" ");
                if let Err(error) = self.submit(alarms::raise(code, subject)).await {
                    tracing::warn!(%error, "the alarm is not kept");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "what the console's own server had lost could not be published again");
            }
        }
    }

    async fn lost_only_the_end(&self, bus: &Bus) -> Result<bool, Fault> {
        let Some(realm) = self.realm() else {
            return Ok(false);
        };
        let survey = bus.survey().await?;
        let positions = bus_stream::all(self.reader()).await?;
        let as_remembered = |stream| is_as_remembered(stream, &positions);
        if check(&survey, realm).is_err()
            || !survey.missing.is_empty()
            || !survey.streams.iter().all(as_remembered)
        {
            return Ok(false);
        }
        let known = self.stream_marks(&positions).await?;
        let back = known.rollback(bus, &survey.streams).await?;
        // Agents that were faster than this console have filled theirs again.
        let of_agents = [
            Stream::Requests,
            Stream::Receipts,
            Stream::Agents,
            Stream::Events,
        ];
        let may = |name: &str| of_agents.iter().any(|of| of.name() == name);
        let end = back
            .iter()
            .all(|of| of.shorter_by.is_some() || may(of.stream));
        if back.is_empty() || !end {
            return Ok(false);
        }
        for of in &back {
            let first = self.first_lost(of, &positions).await?;
            if !is_of_the_last_moments(of.shorter_by, first, last_stamp(&positions)) {
                tracing::warn!(
                    stream = of.stream,
                    lost = of.shorter_by,
                    "the console's own server lost more than a power cut takes; a person looks first"
                );
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// When the first message that this console read and that is gone from the end of a stream had been stored; none where
    /// no stamp of it is kept.
    async fn first_lost(
        &self,
        of: &WentBack,
        positions: &[Position],
    ) -> Result<Option<Timestamp>, Fault> {
        let position = positions.iter().find(|at| at.stream == of.stream);
        let stream = Stream::ALL.into_iter().find(|at| at.name() == of.stream);
        let (Some(position), Some(stream), Some(lost)) = (position, stream, of.shorter_by) else {
            return Ok(None);
        };
        let lost = i64::try_from(lost).unwrap_or(i64::MAX);
        let left = (position.next_seq - 1).saturating_sub(lost);
        let behind = (position.epoch.as_str(), left);
        Ok(republish::first_behind(self.reader(), stream, behind).await?)
    }
}

/// When the last message of all was stored that this console has read.
fn last_stamp(positions: &[Position]) -> Timestamp {
    let stamps = positions.iter().map(|at| at.last_ts);
    Timestamp(stamps.max().unwrap_or(0))
}

fn is_of_the_last_moments(lost: Option<u64>, first: Option<Timestamp>, last: Timestamp) -> bool {
    let long_ago = first.is_some_and(|first| last.0.saturating_sub(first.0) > LOST_WITHIN_MS);
    !long_ago && lost.is_none_or(|lost| lost <= LOST_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_power_cut_takes_is_of_the_last_moments() {
        let last = Timestamp(100_000_000);
        let ago = |ms: i64| Some(last.plus_ms(-ms));
        assert!(is_of_the_last_moments(Some(3), ago(LOST_WITHIN_MS), last));
        assert!(is_of_the_last_moments(Some(LOST_MOST), None, last));
        assert!(is_of_the_last_moments(None, None, last));
        assert!(!is_of_the_last_moments(
            Some(3),
            ago(LOST_WITHIN_MS + 1),
            last
        ));
        assert!(!is_of_the_last_moments(Some(LOST_MOST + 1), ago(0), last));
    }
}
