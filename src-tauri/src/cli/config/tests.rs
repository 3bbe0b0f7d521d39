#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

struct Machine {
    folder: tempfile::TempDir,
    env: Vec<(&'static str, String)>,
}

impl Machine {
    fn new(file: &str, env: &[(&'static str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), file).unwrap();
        let env = env
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        Self { folder, env }
    }

    fn settings(&self, flags: Global) -> Result<Settings, Failure> {
        let flags = Global {
            data_dir: Some(self.folder.path().into()),
            ..flags
        };
        let env = |name: &str| {
            let found = self.env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        };
        resolve(&flags, &env, None)
    }
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let file = "operator = 'file'\nnats_url = 'nats://file'\nworkspace = 'file'\nallow_single_account = true\n";
    let env = [
        (OPERATOR, "env"),
        (NATS_URL, "nats://env"),
        (ALLOW_SINGLE_ACCOUNT, "0"),
    ];
    let machine = Machine::new(file, &env);
    let flags = Global {
        operator: Some("flag".into()),
        ..Global::default()
    };
    let settings = machine.settings(flags).unwrap();
    assert_eq!(settings.operator.as_deref(), Some("flag"));
    assert_eq!(settings.nats_url.as_deref(), Some("nats://env"));
    assert_eq!(settings.workspace.to_string(), "file");
    assert!(!settings.allow_single_account);
}

#[test]
fn production_is_what_the_file_lists_and_a_wrong_name_is_refused() {
    let read = |file: &str| Machine::new(file, &[]).settings(Global::default());
    assert_eq!(read("").unwrap().production, Production::ByName);
    let listed = Production::Listed(vec!["billing".parse().unwrap()]);
    assert_eq!(read("production = ['billing']").unwrap().production, listed);
    assert_eq!(
        read("production = []").unwrap().production,
        Production::Listed(Vec::new())
    );
    assert!(read("production = ['acme-*']").is_err());
}

#[test]
fn credentials_come_from_the_first_source_that_names_any() {
    let machine = Machine::new("nats_creds = 'bus.creds'", &[(NATS_NKEY, "/keys/env.nk")]);
    assert_eq!(
        machine.settings(Global::default()).unwrap().login,
        Login::Nkey("/keys/env.nk".into())
    );
    let flags = Global {
        nats_creds: Some("/flag.creds".into()),
        ..Global::default()
    };
    assert_eq!(
        machine.settings(flags).unwrap().login,
        Login::Creds("/flag.creds".into())
    );
    let machine = Machine::new("nats_creds = 'bus.creds'", &[]);
    let beside_the_file = machine.folder.path().join("bus.creds");
    assert_eq!(
        machine.settings(Global::default()).unwrap().login,
        Login::Creds(beside_the_file)
    );
}

#[test]
fn a_certificate_and_its_key_come_from_one_source_and_an_authority_from_any() {
    let machine = Machine::new(
        "tls_ca = 'ca.pem'\ntls_cert = 'file.pem'\ntls_key = 'file.key'",
        &[(TLS_CERT, "/env.pem"), (TLS_KEY, "/env.key")],
    );
    let expected = TlsFiles {
        ca: Some(machine.folder.path().join("ca.pem")),
        cert: Some("/env.pem".into()),
        key: Some("/env.key".into()),
    };
    assert_eq!(machine.settings(Global::default()).unwrap().tls, expected);
}

#[test]
fn without_any_setting_the_console_runs_its_own_server() {
    let settings = Machine::new("", &[]).settings(Global::default()).unwrap();
    assert_eq!((settings.nats_url, settings.login), (None, Login::Url));
    assert_eq!(settings.workspace.to_string(), "default");
}

#[test]
fn a_wrong_setting_is_refused_and_not_ignored() {
    let long = "n".repeat(101);
    for (file, env, code) in [
        ("operator = ' '", None, "usage"),
        ("", Some((OPERATOR, "Ada\u{202e}\nLovelace")), "usage"),
        ("", Some((OPERATOR, long.as_str())), "usage"),
        ("operater = 'typo'", None, "environment"),
        ("operator = 7", None, "environment"),
        ("not toml", None, "environment"),
        ("nats_creds = 'a'\nnats_nkey = 'b'", None, "usage"),
        ("tls_cert = 'a'", None, "usage"),
        ("tls_cert = 'a'", Some((TLS_KEY, "b")), "usage"),
        ("", Some((WORKSPACE, "Not A Name")), "usage"),
        ("", Some((ALLOW_SINGLE_ACCOUNT, "perhaps")), "usage"),
    ] {
        let machine = Machine::new(file, env.as_slice());
        match machine.settings(Global::default()) {
            Err(Failure::Reported { code: found, .. }) => {
                assert_eq!(found.as_str(), code, "{file} {env:?}")
            }
            other => panic!("{file} {env:?} gave {other:?}"),
        }
    }
}

#[test]
fn otlp_listens_where_the_first_source_says_and_not_at_all_without_one() {
    let listening =
        |machine: &Machine, flags: Global| machine.settings(flags).unwrap().otlp.receiver;
    assert_eq!(listening(&Machine::new("", &[]), Global::default()), None);
    let file = "workspace = 'w'\n[otlp]\nhttp = '127.0.0.1:1'\ngrpc = '[::1]:2'\n[otlp.token_files]\n'a/b' = 'token'\n";
    let machine = Machine::new(file, &[(OTLP_HTTP, "127.0.0.1:3")]);
    let flags = Global {
        otlp_grpc: Some("off".into()),
        ..Global::default()
    };
    let found = listening(&machine, flags).unwrap();
    assert_eq!(found.http, "127.0.0.1:3".parse().ok());
    assert_eq!(found.grpc, None);
    assert_eq!(found.workspace.to_string(), "w");
    assert!(!found.allow_remote && !found.require_token);
    // Read only when the receiver starts: the file does not exist.
    assert_eq!(found.token_files[0].1, machine.folder.path().join("token"));
    for file in [
        "[otlp]\nhttp = 'localhost'",
        "[otlp]\nport = 1",
        "[otlp]\nhttp = '127.0.0.1:1'\nrequire_token = true",
        "[otlp]\nhttp = '127.0.0.1:1'\n[otlp.token_files]\nbot = 'token'",
    ] {
        assert!(
            Machine::new(file, &[]).settings(Global::default()).is_err(),
            "{file}"
        );
    }
}

#[test]
fn answers_are_told_on_this_machine_only_and_headers_are_not_shown() {
    let reported = |endpoint: &str, more: &str| {
        let file = format!("[otlp.export]\nendpoint = '{endpoint}'\n{more}");
        Machine::new(&file, &[]).settings(Global::default())
    };
    let headers = "[otlp.export.headers]\nx-api-key = 'the secret'\n";
    let settings = reported("http://127.0.0.1:4317", headers).unwrap();
    let export = settings.otlp.export.as_ref().unwrap();
    assert_eq!(export.headers[0].value, "the secret");
    assert!(!format!("{settings:?}").contains("the secret"));
    for (endpoint, more, taken) in [
        ("http://localhost:4317", "", true),
        ("http://[::1]:4317/", "", true),
        ("http://collector.example:4317", "", false),
        ("http://127.0.0.1.evil.example:4317", "", false),
        (
            "http://collector.example:4317",
            "allow_plain_text = true",
            true,
        ),
        ("https://127.0.0.1:4317", "", false),
        ("127.0.0.1:4317", "", false),
    ] {
        assert_eq!(reported(endpoint, more).is_ok(), taken, "{endpoint}");
    }
}
