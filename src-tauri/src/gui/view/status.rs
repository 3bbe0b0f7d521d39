//! The status bar's figures.

use countersign_core::App;
use countersign_core::domain::alarm::sentence;
use countersign_core::ops::status::Status;
use countersign_core::store::audit::hex;
use countersign_reader::config::read_in;
use countersign_view::{AlarmView, AuditView, BusView, BypassView, ControlView, StatusView};
use countersign_wire::{AgentControl, escape};

use countersign_view::window::key_tail;

/// Where arguments of which workspaces go while a second reader is on.
fn read_elsewhere(app: &App) -> Option<String> {
    let config = read_in(app.data().path()).ok()??;
    Some(config.sentence())
}

/// As the status bar shows it; `locked` says whether the desktop session is.
pub(crate) fn status_view(app: &App, status: Status, locked: bool) -> StatusView {
    let behind = status.streams.values().map(|stream| {
        stream
            .last_seq
            .map_or(0, |last| last.saturating_sub(stream.projected_seq))
    });
    let lag = i64::try_from(behind.sum::<u64>()).unwrap_or(i64::MAX);
    let read_only = status.read_only.or(status.store_failed);
    StatusView {
        bus: BusView {
            connected: status.connected,
            url: status.url.unwrap_or_else(|| "not connected yet".to_owned()),
            server_version: status.server_version,
            insecure: status.insecure.into_iter().map(str::to_owned).collect(),
        },
        caught_up: status.caught_up,
        lag,
        waiting: status.waiting,
        rejected: status.rejected,
        outbox: status.outbox,
        agents: status.agents,
        panic: status.controls.panic().map(|set| escape(&set.by)),
        brakes: status
            .controls
            .agents()
            .map(|(agent, set)| ControlView {
                agent: agent.to_string(),
                stopped: set.state == AgentControl::Stopped,
                by: escape(&set.by),
            })
            .collect(),
        bypasses: status
            .controls
            .bypasses(app.now())
            .map(|(agent, set, bypass)| BypassView {
                agent: agent.to_string(),
                up_to: bypass.up_to,
                until_ms: bypass.until.0,
                by: escape(&set.by),
            })
            .collect(),
        rules_approving: u64::try_from(status.rules_approving).unwrap_or(u64::MAX),
        alarms: status
            .alarms
            .into_iter()
            .map(|alarm| AlarmView {
                id: alarm.id,
                sentence: sentence(&alarm.code, &alarm.subject),
                code: alarm.code,
                subject: escape(&alarm.subject),
                at_ms: alarm.at,
            })
            .collect(),
        reader: read_elsewhere(app),
        locked,
        read_only: read_only.map(|why| escape(&why).plain()),
        operator: escape(&app.identity().operator),
        operator_key_tail: key_tail(app.identity().human_key().as_str()),
        audit: AuditView {
            seq: status.audit.seq,
            hash: hex(&status.audit.hash),
            anchored_seq: (status.anchored_seq > 0).then_some(status.anchored_seq),
        },
    }
}
