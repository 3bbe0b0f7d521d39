//! Whether the running console reads what the bus holds.
//!
//! Refuses to call a console slow that gets on.

use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::status::Status;

use super::Check;
use super::Verdict::{Failed, Ok as Fine};

const LOOKS: u32 = 8;
const EVERY: Duration = Duration::from_millis(250);
/// What a card needs.
const STREAMS: [&str; 2] = ["CS_REQUESTS", "CS_DECISIONS"];

/// Nothing where no console runs, or the bus does not tell how far it is.
pub(super) async fn check(app: &App) -> Option<Check> {
    if !app.data().is_running() {
        return None;
    }
    let mut first = None;
    for look in 0..=LOOKS {
        let status = app.status().await.ok()?;
        if status.caught_up {
            let detail = "the console has read every request and decision on the bus";
            return Some(Check::new("projection", Fine, detail));
        }
        let now = read_up_to(&status);
        if *first.get_or_insert_with(|| now.clone()) != now {
            let detail = "the console reads on; it has not read all of the bus yet";
            return Some(Check::new("projection", Fine, detail));
        }
        if look == LOOKS {
            return stands(&status);
        }
        tokio::time::sleep(EVERY).await;
    }
    None
}

fn read_up_to(status: &Status) -> Vec<u64> {
    let places = STREAMS.iter().filter_map(|name| status.streams.get(*name));
    places.map(|place| place.projected_seq).collect()
}

fn stands(status: &Status) -> Option<Check> {
    let behind = STREAMS.iter().find_map(|name| {
        let place = status.streams.get(*name)?;
        let last = place.last_seq.filter(|last| *last > place.projected_seq)?;
        Some(format!("{name} {} of {last}", place.projected_seq))
    })?;
    let detail = format!(
        "the console does not read on: {behind}; it hangs, or cannot read the bus: look at its output, and start it again"
    );
    Some(Check::new("projection", Failed, detail))
}
