//! A server that is configured with exactly what `bus permissions` prints.

use std::path::Path;

use async_nats::{Client, ConnectOptions};
use countersign_testkit::{
    Authority, Certificate, NatsAccount, NatsOperator, PlainServer, TempData, creds, made,
};
use serde_json::{Value, json};

use crate::attacks::{Attack, EVERYTHING};
use crate::desk::{Console, Desk, ended};

fn enrolment(desk: &Desk, agent: &str) -> (String, Value) {
    let made = desk.json(&["enroll", agent, "--json"]);
    let path = made["agent_json"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    (path, serde_json::from_str(&text).unwrap())
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

async fn log_in(url: &str, options: ConnectOptions) -> Client {
    let limit = std::time::Duration::from_secs(2);
    let options = options.request_timeout(Some(limit));
    options.connect(url).await.unwrap()
}

fn seed(desk: &Desk) -> String {
    let file = desk.path().join("keys/login.nk");
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

/// The agent asks, a person decides, the agent gets its decision and says that it has it.
fn whole_round(desk: &Desk, agent_json: &str, id_of: &str) {
    let asking = desk.start(
        &[
            "ask",
            "--tool",
            "t",
            "--args",
            r#"{"a":1}"#,
            "--agent-json",
            agent_json,
        ],
        std::process::Stdio::null(),
    );
    let waiting = crate::desk::eventually(|| {
        let lines = desk.lines(&["inbox", "--agent", id_of, "--json"]);
        lines.into_iter().next().ok_or("nothing waits")
    });
    let id = text(&waiting, "request_id");
    desk.run(&["approve", id]).success();
    assert_eq!(
        ended(asking.wait_with_output().unwrap())
            .success()
            .out
            .trim(),
        r#"{"a":1}"#
    );
    desk.show_when(id, |shown| shown["delivery"] == "received");
}

/// A decision of somebody else, worth reading.
async fn decide_for_the_victim(console: &Client) {
    let subject = "countersign.v1.decision.acme.victim.theirs";
    console.request(subject, "{}".into()).await.unwrap();
}

#[tokio::test]
async fn the_printed_block_lets_agents_work_and_no_attack_through() {
    let desk = Desk::new();
    let printed = |desk: &Desk| desk.run(&["bus", "permissions"]).success().out;
    let server = PlainServer::start_with(&printed(&desk)).await;
    let login = desk.path().join("keys/login.nk");
    let desk = desk
        .with("COUNTERSIGN_NATS_URL", server.url())
        .with("COUNTERSIGN_NATS_NKEY", login.to_str().unwrap());
    desk.run(&["bus", "init"]).success();
    let _console = Console::start(&desk);
    let (path, own) = enrolment(&desk, "acme/bot");
    enrolment(&desk, "acme/victim");
    let named = printed(&desk);
    let id = std::fs::read_to_string(desk.path().join("keys/console-id")).unwrap();
    let console = format!(", {}\n      {{ nkey: U", id.trim());
    for whose in ["# console of ", &console, "# acme/bot\n", "# acme/victim\n"] {
        assert!(named.contains(whose), "{whose}: {named}");
    }
    server.reconfigure(&named).await;
    whole_round(&desk, &path, "acme/bot");
    assert_eq!(
        desk.json(&["status", "--json"])["bus"]["insecure"],
        json!([])
    );

    let options = ConnectOptions::with_nkey(text(&own, "nkey_seed").into())
        .custom_inbox_prefix(text(&own, "inbox_prefix"));
    let agent = log_in(server.url(), options).await;
    let console = log_in(server.url(), ConnectOptions::with_nkey(seed(&desk))).await;
    decide_for_the_victim(&console).await;
    let attack = Attack {
        agent: &agent,
        console: &console,
    };
    assert_eq!(attack.all().await, [""; 0]);
}

/// Proof that the table above can fail.
#[tokio::test]
async fn on_an_open_server_every_attack_works() {
    let server = PlainServer::start().await;
    let bus = server.console(true).await.unwrap();
    made(&bus, 1).await.unwrap();
    let client = log_in(server.url(), ConnectOptions::new()).await;
    decide_for_the_victim(&client).await;
    let attack = Attack {
        agent: &client,
        console: &client,
    };
    assert_eq!(attack.all().await, EVERYTHING);
}

/// Signs what `--jwt` printed: the part of an administrator with an operator's keys.
struct Administrator {
    operator: NatsOperator,
    core: NatsAccount,
    agents: NatsAccount,
}

impl Administrator {
    fn new(claims: &Value) -> Self {
        let mut made = Self {
            operator: NatsOperator::new(),
            core: NatsAccount::new("CORE"),
            agents: NatsAccount::new("AGENTS"),
        };
        let mut imports = claims["accounts"]["AGENTS"].clone();
        for import in imports["imports"].as_array_mut().unwrap() {
            let (subject, kind) = (
                text(import, "subject").to_owned(),
                text(import, "type").to_owned(),
            );
            import["account"] = json!(made.core.public());
            import["token"] = json!(made.core.activation(&made.agents.public(), &subject, &kind));
        }
        made.operator
            .sign(&made.core, claims["accounts"]["CORE"].clone());
        made.operator.sign(&made.agents, imports);
        made
    }

    /// A .creds file for the login of this name.
    fn creds(&self, claims: &Value, name: &str, seed: Option<&str>, folder: &Path) -> String {
        let users = claims["users"].as_array().unwrap();
        let user = users.iter().find(|user| user["name"] == name).unwrap();
        let account = if user["account"] == "CORE" {
            &self.core
        } else {
            &self.agents
        };
        let jwt = account.user(text(user, "sub"), user["nats"].clone(), None);
        let file = folder.join(format!("{}.creds", name.replace('/', "-")));
        std::fs::write(&file, creds(&jwt, seed)).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn the_printed_claims_do_the_same_with_jwts_and_mutual_tls() {
    let desk = Desk::new();
    let printed = |desk: &Desk| desk.json(&["bus", "permissions", "--jwt"]);
    let claims = printed(&desk);
    let administrator = Administrator::new(&claims);
    let authority = Authority::new();
    let tls = authority.server("127.0.0.1").server_block(Some(&authority));
    let conf = format!("{tls}{}", administrator.operator.conf());
    let server = PlainServer::start_with(&conf).await;
    let url = format!("tls://127.0.0.1:{}", server.port());
    let keys = TempData::new();
    let console_creds = administrator.creds(&claims, "console", Some(&seed(&desk)), keys.path());
    let Certificate { cert, key } = authority.client("console");
    let desk = desk
        .with("COUNTERSIGN_NATS_URL", &url)
        .with("COUNTERSIGN_NATS_CREDS", &console_creds)
        .with("COUNTERSIGN_TLS_CA", authority.ca().to_str().unwrap())
        .with("COUNTERSIGN_TLS_CERT", cert.to_str().unwrap())
        .with("COUNTERSIGN_TLS_KEY", key.to_str().unwrap());
    desk.run(&["bus", "init"]).success();
    let _console = Console::start(&desk);
    let (path, mut own) = enrolment(&desk, "acme/bot");
    assert_eq!(text(&own, "tls_ca"), authority.ca().to_str().unwrap());
    enrolment(&desk, "acme/victim");
    let file = administrator.creds(&printed(&desk), "acme/bot", None, keys.path());
    let mine = authority.client("bot");
    own["nats_creds"] = json!(file);
    own["tls_cert"] = json!(mine.cert);
    own["tls_key"] = json!(mine.key);
    std::fs::write(&path, own.to_string()).unwrap();
    whole_round(&desk, &path, "acme/bot");
    assert_eq!(
        desk.json(&["status", "--json"])["bus"]["insecure"],
        json!([])
    );

    let over_tls = |options: ConnectOptions| {
        let options = options.add_root_certificates(authority.ca());
        options.add_client_certificate(mine.cert.clone(), mine.key.clone())
    };
    let with_seed = administrator.creds(
        &printed(&desk),
        "acme/bot",
        Some(text(&own, "nkey_seed")),
        keys.path(),
    );
    let options = ConnectOptions::with_credentials_file(with_seed)
        .await
        .unwrap();
    let options = options.custom_inbox_prefix(text(&own, "inbox_prefix"));
    let agent = log_in(&url, over_tls(options)).await;
    let options = ConnectOptions::with_credentials_file(console_creds)
        .await
        .unwrap();
    let console = log_in(&url, over_tls(options)).await;
    decide_for_the_victim(&console).await;
    let attack = Attack {
        agent: &agent,
        console: &console,
    };
    assert_eq!(attack.all().await, [""; 0]);
}
