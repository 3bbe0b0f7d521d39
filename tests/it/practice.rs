//! Practice cards from the command line: their switch, and the report of what people saw.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::desk::{Console, Desk};

/// d′ of 12 of 15 changes and 1 of 5 others, with its interval.
const KNOWN: [f64; 3] = [1.450911511, 0.162552609, 2.739270414];

async fn store(desk: &Desk) -> SqliteConnection {
    let file = format!("sqlite://{}", desk.path().join("countersign.db").display());
    SqliteConnection::connect(&file).await.unwrap()
}

/// Cards of one person: kind, outcome, how many.
async fn answered(store: &mut SqliteConnection, person: &str, cards: &[(Option<&str>, &str, u32)]) {
    for (kind, outcome, many) in cards {
        for _ in 0..*many {
            let sql =
                "INSERT INTO practice(operator, name, kind, outcome, at) VALUES (?, ?, ?, ?, 1)";
            let row = sqlx::query(sql).bind(person.to_uppercase()).bind(person);
            row.bind(*kind)
                .bind(*outcome)
                .execute(&mut *store)
                .await
                .unwrap();
        }
    }
}

fn report(desk: &Desk) -> Value {
    desk.json(&["practice", "report", "--json"])
}

#[tokio::test]
async fn practice_is_off_until_it_is_turned_on_and_the_log_says_who_did() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    assert_eq!(
        report(&desk),
        json!({ "on": false, "one_in": 40, "operators": [] })
    );
    for (arguments, on, one_in) in [
        (&["practice", "on"][..], true, 40),
        (&["practice", "on", "--one-in", "12"], true, 12),
        (&["practice", "on", "--one-in", "12"], true, 12),
        (&["practice", "off"], false, 12),
    ] {
        let set = desk.json(&[arguments, &["--json"]].concat());
        assert_eq!(set, json!({ "on": on, "one_in": one_in }), "{arguments:?}");
        let reported = report(&desk);
        assert_eq!(
            (&reported["on"], &reported["one_in"]),
            (&json!(on), &json!(one_in))
        );
    }
    for wrong in ["0", "1", "many", "10001"] {
        let (exit, code, _) = desk
            .run(&["practice", "on", "--one-in", wrong, "--json"])
            .error();
        assert_eq!((exit, code.as_str()), (2, "usage"), "{wrong}");
    }
    console.stop(Signal::SIGTERM);
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT actor, detail FROM audit WHERE action = 'practice' ORDER BY seq")
            .fetch_all(&mut store(&desk).await)
            .await
            .unwrap();
    let details: Vec<Value> = rows
        .iter()
        .map(|row| serde_json::from_str(&row.1).unwrap())
        .collect();
    let set = |on: bool, one_in: u32| json!({ "on": on, "one_in": one_in });
    assert_eq!(details, [set(true, 40), set(true, 12), set(false, 12)]);
    assert!(rows.iter().all(|row| row.0.starts_with('U')), "{rows:?}");
    desk.run(&["audit", "verify"]).success();
}

#[tokio::test]
async fn the_report_counts_by_person_and_kind_and_tells_no_figure_of_too_few_cards() {
    let desk = Desk::new();
    Console::start(&desk).stop(Signal::SIGTERM);
    let mut store = store(&desk).await;
    let lena = [
        (Some("other_account"), "caught", 9),
        (Some("other_account"), "missed", 1),
        (Some("look_alike_host"), "caught", 3),
        (Some("look_alike_host"), "missed", 2),
        (None, "false_alarm", 1),
        (None, "passed", 4),
    ];
    answered(&mut store, "lena", &lena).await;
    answered(&mut store, "ada", &[(Some("production"), "missed", 19)]).await;
    let reported = report(&desk);
    let people = reported["operators"].as_array().unwrap();
    let kind = |kind: &str, shown: u32, caught: u32, missed: u32| json!({ "kind": kind, "shown": shown, "caught": caught, "missed": missed });
    assert_eq!(
        people[0],
        json!({
            "name": "ada", "key": "ADA", "shown": 19, "caught": 0, "missed": 19, "false_alarms": 0,
            "kinds": [kind("production", 19, 0, 19)], "d_prime": null, "low": null, "high": null,
        })
    );
    let lena = &people[1];
    assert_eq!(
        lena["kinds"],
        json!([
            kind("look_alike_host", 5, 3, 2),
            kind("other_account", 10, 9, 1)
        ])
    );
    let counts =
        ["shown", "caught", "missed", "false_alarms"].map(|name| lena[name].as_u64().unwrap());
    assert_eq!(counts, [20, 12, 3, 1]);
    // As in the table of the crate: 12 of 15, 1 of 5.
    for (name, known) in [("d_prime", KNOWN[0]), ("low", KNOWN[1]), ("high", KNOWN[2])] {
        let found = lena[name].as_f64().unwrap();
        assert!((found - known).abs() < 1e-6, "{name} {found}");
    }
    let text = desk.run(&["practice", "report"]).success().out;
    assert!(
        text.contains("lena: 12 of 15 changes caught, 1 false alarms on 5 unchanged cards"),
        "{text}"
    );
    assert!(text.contains("d′: too few"), "{text}");
    assert!(text.contains("other account: 9 of 10 caught"), "{text}");
}
