//! `doctor` on servers that are set up wrongly, each in its own way.

use countersign_testkit::{AgentCredentials, PlainServer, TempData, UserKey, permissions_block};
use serde_json::{Value, json};

use crate::desk::{Console, Desk};

/// A console's and an agent's login, and the right configuration for both.
struct Keys {
    console: UserKey,
    agent: AgentCredentials,
    folder: TempData,
}

const AGENTS: &str = "  AGENTS {\n    users: [\n";
const END: &str = "    ]\n";

impl Keys {
    fn new() -> Self {
        let agent = AgentCredentials {
            url: String::new(),
            workspace: "acme".into(),
            agent: "bot".into(),
            key: UserKey::new(),
        };
        Self {
            console: UserKey::new(),
            agent,
            folder: TempData::new(),
        }
    }

    fn right(&self) -> String {
        let console = self.console.public.clone().into();
        permissions_block(&[console], &[self.agent.access()]).unwrap()
    }

    /// The text between the brackets of the agents' users.
    fn agents_user(&self) -> String {
        let block = self.right();
        let from = block.find(AGENTS).unwrap() + AGENTS.len();
        let to = from + block[from..].find(END).unwrap();
        block[from..to].to_owned()
    }

    /// The right block with another line for the agent.
    fn with_agent(&self, user: &str) -> String {
        self.right().replace(&self.agents_user(), user)
    }

    /// Console and agent in one account of a name.
    fn together(&self, agent: &str) -> String {
        let console = &self.console.public;
        format!(
            "accounts {{ CORE {{ jetstream: enabled, users: [ {{ nkey: {console} }}\n{agent} ] }} }}"
        )
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, private).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn enrolment(&self, url: &str) -> String {
        let body = json!({
            "nats_url": url, "workspace": "acme", "agent": "bot", "nkey_seed": self.agent.key.seed,
            "inbox_prefix": self.agent.inbox_prefix(), "realm": uuid::Uuid::new_v4(),
        });
        self.write("agent.json", &body.to_string())
    }
}

fn permissions(checks: &[Value], who: &str) -> (String, String) {
    let said = |check: &Value| check["detail"].as_str().unwrap().to_owned();
    let of = checks
        .iter()
        .find(|check| check["check"] == "permissions" && said(check).starts_with(who));
    let of = of.unwrap_or_else(|| panic!("{who} in {checks:?}"));
    (of["verdict"].as_str().unwrap().to_owned(), said(of))
}

const EVERYTHING: [&str; 8] = [
    "publish decisions",
    "have the server's answers stored",
    "read others' decisions",
    "hear what is for others",
    "speak for other agents",
    "read the policy",
    "write the policy",
    "administer the streams",
];

#[tokio::test]
async fn each_hole_is_found_by_trying_and_nothing_is_left_behind() {
    let keys = Keys::new();
    let nkey = &keys.agent.key.public;
    let user = |rest: &str| format!("{{ nkey: {nkey}{rest} }}\n");
    let hears = keys
        .agents_user()
        .replace("subscribe: { allow: [", "subscribe: { allow: [ \">\"");
    for (conf, can) in [
        (keys.right(), &[][..]),
        (keys.with_agent(&hears), &["hear what is for others"][..]),
        (
            keys.with_agent(&user(", permissions: { publish: \">\" }")),
            &[
                "read others' decisions",
                "hear what is for others",
                "speak for other agents",
            ][..],
        ),
        (
            keys.together(&keys.agents_user()),
            &["have the server's answers stored"][..],
        ),
        (keys.together(&user("")), &EVERYTHING[..]),
    ] {
        let server = PlainServer::start_with(&conf).await;
        let login = keys.write("console.nk", &keys.console.seed);
        let desk = Desk::new()
            .with("COUNTERSIGN_NATS_URL", server.url())
            .with("COUNTERSIGN_NATS_NKEY", login);
        desk.run(&["bus", "init"]).success();
        let _console = Console::start(&desk);
        let streams = || desk.json(&["status", "--json"])["streams"].clone();
        let before = streams();
        let agent_json = keys.enrolment(server.url());
        let ended = desk.run(&["doctor", "--json", "--agent-json", &agent_json]);
        let checks = ended.lines();
        let (verdict, detail) = permissions(&checks, "acme/bot");
        let found: Vec<&str> = EVERYTHING
            .into_iter()
            .filter(|word| detail.contains(word))
            .collect();
        assert_eq!(found, can, "{conf}\n{detail}");
        assert_eq!(verdict, if can.is_empty() { "ok" } else { "failed" });
        assert_eq!(ended.code, i32::from(!can.is_empty()), "{checks:?}");
        assert_eq!(permissions(&checks, "a login is required").0, "ok");
        let after = streams();
        for name in [
            "CS_REQUESTS",
            "CS_DECISIONS",
            "CS_RECEIPTS",
            "CS_EVENTS",
            "CS_AGENTS",
        ] {
            assert_eq!(after[name]["last_seq"], before[name]["last_seq"], "{name}");
        }
        assert_eq!(desk.json(&["status", "--json"])["alarms"], json!([]));
    }
}

#[tokio::test]
async fn an_open_server_is_found_without_any_login_and_an_untried_one_is_not_called_safe() {
    let server = PlainServer::start_with("max_payload: 65536").await;
    let desk = Desk::new()
        .with("COUNTERSIGN_NATS_URL", server.url())
        .with("COUNTERSIGN_ALLOW_SINGLE_ACCOUNT", "1");
    desk.run(&["bus", "init"]).success();
    let _console = Console::start(&desk);
    let checks = desk.run(&["doctor", "--json"]).lines();
    let (verdict, detail) = permissions(&checks, "whoever reaches the server");
    assert_eq!(verdict, "failed");
    for word in EVERYTHING {
        assert!(detail.contains(word), "{word}: {detail}");
    }
    assert!(
        detail.contains("Move agents into an account apart"),
        "{detail}"
    );
    assert_eq!(permissions(&checks, "no agent's login").0, "unknown");
    let verdict = |name: &str| {
        let check = checks.iter().find(|check| check["check"] == name).unwrap();
        check["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("security"), "failed");
    assert_eq!(verdict("max_payload"), "failed");
    for name in ["version", "disk", "keys", "clock", "streams"] {
        assert_eq!(verdict(name), "ok", "{name}");
    }
}

#[test]
fn a_data_folder_that_cannot_be_made_is_a_failed_check() {
    const NOBODY: u32 = 65_534;
    let shelf = TempData::new();
    let closed = shelf.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let mode = |path: &std::path::Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    mode(shelf.path(), 0o755);
    mode(&closed, 0o555);
    for (folder, verdict) in [
        (closed.join("a/b"), "failed"),
        (
            std::env::temp_dir().join("countersign-not-there/data"),
            "ok",
        ),
    ] {
        let desk = Desk::new().with("COUNTERSIGN_DATA_DIR", folder.display().to_string());
        let mut command = desk.command(&["doctor", "--json"]);
        // Root may write everywhere.
        if nix::unistd::geteuid().is_root() {
            std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
        }
        let ended = crate::desk::ended_in_time(command);
        let found = ended.lines();
        let found = found.iter().find(|check| check["check"] == "data_folder");
        assert_eq!(found.unwrap()["verdict"], verdict, "{ended:?}");
        assert_eq!(ended.code, i32::from(verdict == "failed"), "{ended:?}");
        assert!(!folder.exists());
    }
    mode(&closed, 0o755);
}

#[tokio::test]
async fn doctor_names_a_stream_that_answers_for_the_realm_log_in_its_place() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let log = || {
        let ended = desk.run(&["doctor", "--json"]);
        let found = ended
            .lines()
            .into_iter()
            .find(|line| line["check"] == "log");
        (ended.code, found.unwrap())
    };
    let (code, found) = log();
    assert_eq!((code, &found["verdict"]), (0, &json!("ok")), "{found}");
    let login = std::fs::read_to_string(desk.path().join("keys/login.nk")).unwrap();
    let login = nkeys::KeyPair::from_seed(login.trim()).unwrap();
    let client = async_nats::ConnectOptions::with_nkey(login.seed().unwrap())
        .custom_inbox_prefix(format!("_INBOX_{}", login.public_key()))
        .connect(console.url())
        .await
        .unwrap();
    let streams = async_nats::jetstream::new(client);
    let mirror = async_nats::jetstream::stream::Config {
        name: "OTHER".to_owned(),
        mirror: Some(async_nats::jetstream::stream::Source {
            name: "CS_DECISIONS".to_owned(),
            ..Default::default()
        }),
        mirror_direct: true,
        ..Default::default()
    };
    streams.create_stream(mirror).await.unwrap();
    let (code, found) = log();
    assert_eq!((code, &found["verdict"]), (1, &json!("failed")), "{found}");
    let detail = found["detail"].as_str().unwrap();
    assert!(
        detail.contains("log_hidden") && detail.contains("OTHER"),
        "{detail}"
    );
    streams.delete_stream("OTHER").await.unwrap();
}
