//! A console and its own server whose machine lost its power.

use countersign_core::ops::realm::{Change, acceptance};
use countersign_core::{App, Options};
use countersign_wire::{TlsFiles, Verdict};

use crate::agent::{Desk, inbox_ids, listed, options};
use crate::recover::{becomes_read_only, recovered};
use crate::rollback::{Older, decide};

/// The store of the console is on the disk with each commit, that of its server a moment later.
#[tokio::test(flavor = "multi_thread")]
async fn a_console_whose_machine_lost_its_power_has_its_own_bus_whole_again_and_one_that_was_stopped_asks()
 {
    for power_is_cut in [true, false] {
        let desk = Desk::open().await;
        let agent = desk.agent("bot").await;
        agent.ask(&agent.request("kept")).await;
        decide(&desk.app, &agent, "kept", Verdict::Deny).await;
        let (older, data) = Older::of(desk).await;
        let app = App::start(options(&data)).await.unwrap();
        let runtime = std::fs::read(data.path().join("runtime.json")).unwrap();
        for id in ["approved", "waits"] {
            agent.ask(&agent.request(id)).await;
            listed(&app, id).await;
        }
        decide(&app, &agent, "approved", Verdict::Approve).await;
        app.set_panic(true).await.unwrap();
        let accept = Change::Acceptance(true);
        assert!(app.change_operators(&accept).await.unwrap().changed);
        app.shutdown().await;
        older.put_back(&data);
        if power_is_cut {
            std::fs::write(data.path().join("runtime.json"), runtime).unwrap();
            let unfit = Options {
                tls: TlsFiles {
                    ca: Some(data.path().join("no such file")),
                    ..TlsFiles::default()
                },
                ..options(&data)
            };
            let failed = App::start(unfit).await;
            assert!(failed.is_err(), "and the next start still knows");
        }
        let app = App::start(options(&data)).await.unwrap();
        if !power_is_cut {
            becomes_read_only(&app).await;
            app.shutdown().await;
            continue;
        }
        assert!(*app.caught_up().borrow(), "before anybody could ask");
        assert_eq!(agent.decision("approved").await["verdict"], "approve");
        assert_eq!(inbox_ids(&app).await, ["waits"]);
        assert!(app.controls().await.unwrap().panic().is_some());
        assert!(acceptance(&app), "the end of the realm log");
        decide(&app, &agent, "waits", Verdict::Deny).await;
        let alarms = app.alarms().await.unwrap();
        let codes: Vec<&str> = alarms.iter().map(|alarm| alarm.code.as_str()).collect();
        assert_eq!(codes, ["last_moments_lost"]);
        assert!(alarms[0].subject.contains("CS_DECISIONS"), "{alarms:?}");
        assert_eq!(app.audit_verify(None).await.unwrap().first_bad, None);
        app.shutdown().await;
    }
}

/// A copy of the server's folder from long ago is a rollback and not a power cut, whatever ended the console.
#[tokio::test(flavor = "multi_thread")]
async fn a_bus_that_lacks_more_than_the_last_minutes_waits_for_a_person() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let (older, data) = Older::of(desk).await;
    let app = App::start(options(&data)).await.unwrap();
    let runtime = std::fs::read(data.path().join("runtime.json")).unwrap();
    for id in ["long-ago", "now"] {
        agent.ask(&agent.request(id)).await;
        decide(&app, &agent, id, Verdict::Deny).await;
    }
    app.shutdown().await;
    older.put_back(&data);
    std::fs::write(data.path().join("runtime.json"), runtime).unwrap();
    let file =
        sqlx::sqlite::SqliteConnectOptions::new().filename(data.path().join("countersign.db"));
    let mut raw = sqlx::ConnectOptions::connect(&file).await.unwrap();
    let ago = "UPDATE decisions SET stored_at = stored_at - 3600000 WHERE request_id = 'long-ago'";
    let changed = sqlx::query(ago).execute(&mut raw).await.unwrap();
    assert_eq!(changed.rows_affected(), 1);
    sqlx::Connection::close(raw).await.unwrap();
    let app = App::start(options(&data)).await.unwrap();
    becomes_read_only(&app).await;
    let bus = app.bus().unwrap();
    assert_eq!(
        bus.last_sequence("CS_DECISIONS").await.unwrap(),
        2,
        "entries of the realm log"
    );
    assert_eq!(recovered(&app).await.decisions.republished, 2);
    app.shutdown().await;
}
