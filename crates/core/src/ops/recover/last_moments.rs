//! The console's own server after the machine's power was cut: its store ends a moment before the console's, which is
//! on the disk with each commit.
//!
//! Refuses whatever else differs, and an end that was orderly: then a person looks first.

use countersign_wire::Stream;

use super::{check, is_as_remembered};
use crate::bus::Bus;
use crate::domain::AlarmCode;
use crate::error::OpError;
use crate::ops::job::Job;
use crate::runtime::App;
use crate::store::bus_stream;

impl App {
    /// Does what `bus recover` does where the streams of the own server only end earlier than this console has read
    /// them. Called before anything is decided, after an end without a farewell. A failure is told and changes nothing:
    /// the console is read-only then.
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
        let done: Result<_, OpError> = done.await;
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
                if let Err(error) = self.submit(Job::Alarm { code, subject }).await {
                    tracing::warn!(%error, "the alarm is not kept");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "what the console's own server had lost could not be published again");
            }
        }
    }

    async fn lost_only_the_end(&self, bus: &Bus) -> Result<bool, OpError> {
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
        let back = known.went_back(bus, &survey.streams).await?;
        // Agents that were faster than this console have filled theirs again.
        let of_agents = [
            Stream::Requests,
            Stream::Receipts,
            Stream::Agents,
            Stream::Events,
        ];
        let may = |name: &str| of_agents.iter().any(|of| of.name() == name);
        let end = back.iter().all(|of| of.is_shorter || may(of.stream));
        Ok(!back.is_empty() && end)
    }
}
