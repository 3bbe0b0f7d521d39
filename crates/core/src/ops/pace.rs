//! The pace of people's decisions today.

use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::pace::PeoplesPace;
use crate::runtime::App;
use crate::store::tool_record;

/// Decisions that are looked at at most: as many as are read in the time of a status.
pub const NEWEST: u32 = 1_000;

impl App {
    /// What people decided since a time, whoever of the realm and in whichever workspace: of the newest 1,000
    /// requests that people decided.
    pub async fn peoples_pace(&self, since: Timestamp) -> Result<PeoplesPace, Fault> {
        let times = tool_record::people_took(self.reader(), since, i64::from(NEWEST)).await?;
        Ok(PeoplesPace::of(&times))
    }
}
