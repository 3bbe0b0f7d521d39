//! A bus that lets the console in but does not answer for its streams.

use countersign_core::{App, Options};
use countersign_testkit::{PlainServer, TempData};
use serde_json::Value;

use crate::agent::{LIMIT, caught_up, options, until};

const TRIES: u64 = 4;

fn accounts(permissions: &str) -> String {
    format!(
        "accounts {{\n\
         HOUSE: {{ jetstream: enabled, users: [{{ user: all, password: all{permissions} }}] }}\n\
         SYS: {{ users: [{{ user: sys, password: sys }}] }}\n\
         }}\n\
         system_account: SYS\n\
         no_auth_user: all"
    )
}

/// The numbers of the consoles' open connections, which the server gives in order.
async fn open(system: &async_nats::Client) -> Vec<u64> {
    let reported = system.request("$SYS.REQ.SERVER.PING.CONNZ", "".into());
    let reported: Value = serde_json::from_slice(&reported.await.unwrap().payload).unwrap();
    let all = reported["data"]["connections"].as_array().unwrap();
    let name = |one: &&Value| one["name"].as_str().unwrap_or_default().to_owned();
    let consoles = all.iter().filter(|one| name(one).contains("console"));
    consoles.map(|one| one["cid"].as_u64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_try_to_join_ends_the_connection_of_the_one_before() {
    let server = PlainServer::start_with(&accounts("")).await;
    let data = TempData::new();
    let outside = || Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        ..options(&data)
    };
    let app = App::start(outside()).await.unwrap();
    caught_up(&app).await;
    app.shutdown().await;
    let deaf = ", permissions: { publish: { allow: \">\", deny: \"$JS.API.>\" } }";
    server.reconfigure(&accounts(deaf)).await;
    let app = App::start(outside()).await.unwrap();
    let login = async_nats::ConnectOptions::with_user_and_password("sys".into(), "sys".into());
    let system = login.connect(server.url()).await.unwrap();
    let mut newest = open(&system).await.into_iter().max().unwrap();
    for _ in 0..TRIES {
        let another = async {
            loop {
                let last = open(&system).await.into_iter().max().unwrap_or_default();
                if last > newest {
                    return last;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        newest = tokio::time::timeout(2 * LIMIT, another).await.unwrap();
    }
    // The one of now, and for a moment the one before.
    until("the others are closed", || async {
        open(&system).await.len() <= 2
    })
    .await;
    app.shutdown().await;
}
