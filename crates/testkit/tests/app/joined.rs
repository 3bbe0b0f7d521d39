//! The alarm about a new operator, until somebody has read it.

use countersign_core::App;
use countersign_testkit::TempData;

use crate::agent::{Desk, caught_up, colleague, options, until};
use crate::realm_log::has_alarm;

const JOINED: &str = "operator_joined";

async fn knows(app: &App, of: &App) -> bool {
    has_alarm(app, JOINED, of.identity().human_key().as_str()).await
}

/// How many such alarms are active, seen or not.
async fn count(app: &App) -> usize {
    let alarms = app.alarms().await.unwrap();
    alarms.iter().filter(|alarm| alarm.code == JOINED).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_console_tells_who_joined_after_it_until_its_operator_has_read_it() {
    let desk = Desk::open().await;
    let [of_grace, of_lena] = [TempData::new(), TempData::new()];
    let grace = colleague(&desk, &of_grace, "Grace").await;
    until("Ada's console reports Grace", || knows(&desk.app, &grace)).await;
    let lena = colleague(&desk, &of_lena, "Lena").await;
    for app in [&desk.app, &grace] {
        until("the others report Lena", || knows(app, &lena)).await;
    }
    // The founder, who was there before, and oneself raise no alarm.
    assert_eq!(
        (
            count(&desk.app).await,
            count(&grace).await,
            count(&lena).await
        ),
        (2, 1, 0)
    );

    // Each line says who entered it.
    let lines = desk.app.operators(false).await.unwrap();
    let ada = desk.app.identity().human_key().to_string();
    for app in [&desk.app, &grace, &lena] {
        let key = app.identity().human_key().to_string();
        let line = lines.iter().find(|line| line.key == key).unwrap();
        assert_eq!(line.by.as_ref(), Some(&ada));
    }

    let known = lena.identity().human_key().to_string();
    for app in [lena, grace, desk.app] {
        app.shutdown().await;
    }
    let app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&app).await;
    assert!(has_alarm(&app, JOINED, &known).await, "after a restart");
    for alarm in app.alarms().await.unwrap() {
        app.acknowledge_alarm(alarm.id).await.unwrap();
    }
    app.shutdown().await;
    let app = App::start(options(&desk.data)).await.unwrap();
    caught_up(&app).await;
    assert!(!has_alarm(&app, JOINED, &known).await, "it was read");
    assert_eq!(count(&app).await, 2, "and stays in the list");
    app.shutdown().await;
}
