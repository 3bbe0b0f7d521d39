#![allow(clippy::unwrap_used)]
use std::fs;

use super::*;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, mode, text) in [
        ("open.txt", 0o640, "https://h.example.org/a"),
        ("url.txt", 0o600, "https://h.example.org/s3cret\n"),
        (
            "soc.headers",
            0o600,
            "Authorization: Bearer x\n\nX-Team: a:b\n",
        ),
        ("host.headers", 0o600, "Host: x\n"),
        ("sign.headers", 0o600, "Webhook-Id: x\n"),
        ("length.headers", 0o600, "content-length: 1\n"),
        ("bad.headers", 0o600, "no colon\n"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(folder.path().join("nats")).unwrap();
    folder
}

fn of(sections: &str) -> Result<Vec<Feed>, ConfigFault> {
    read(&format!("workspace = \"w\"\n\n{sections}"), folder().path())
}

const HOOK: &str =
    "[[feed]]\nname = \"soc\"\nkind = \"webhook\"\nevents = [\"request.*\", \"alarm.*\"]\n";
const SYSLOG: &str = "[[feed]]\nname = \"siem\"\nkind = \"syslog\"\nevents = [\"audit.*\"]\n";
const FILE: &str = "[[feed]]\nname = \"lines\"\nkind = \"file\"\nevents = [\"*\"]\n";

#[test]
fn the_three_kinds_are_read_with_their_defaults() {
    let hook = format!(
        "{HOOK}url_file = \"url.txt\"\nheaders_file = \"soc.headers\"\nworkspaces = [\"acme\"]\n"
    );
    let syslog = format!("{SYSLOG}to = \"tls://siem.example.org:6514\"\n");
    let file = format!("{FILE}path = \"feeds/events.jsonl\"\nrest_s = [0.5]\n");
    let feeds = of(&format!("{hook}\n{syslog}\n{file}")).unwrap();
    let Target::Webhook(to) = &feeds[0].to else {
        panic!()
    };
    assert_eq!(
        (to.url.as_str(), to.timeout_s),
        ("https://h.example.org/s3cret", 15)
    );
    assert_eq!(to.headers[1], ("x-team".to_owned(), "a:b".to_owned()));
    assert_eq!(
        feeds[0].address(),
        json!({"scheme": "https", "host": "h.example.org", "port": 443})
    );
    assert_eq!(feeds[0].rest_s, [1., 5., 30., 120., 600.]);
    assert!(
        feeds[0].wants("request.waiting", Some("acme")) && !feeds[0].wants("request.waiting", None)
    );
    assert!(
        !feeds[0].wants("request.waiting", Some("other"))
            && !feeds[0].wants("audit.request", Some("acme"))
    );
    assert_eq!(
        feeds[1].address(),
        json!({"scheme": "tls", "host": "siem.example.org", "port": 6514})
    );
    assert_eq!(
        (feeds[2].kind(), feeds[2].rest_s.clone()),
        ("file", vec![0.5])
    );
    assert_eq!(of(""), Ok(Vec::new()));
}

#[test]
fn each_fault_names_its_line_section_and_key() {
    let hook = |rest: &str| format!("{HOOK}{rest}");
    let url = |url: &str| hook(&format!("url = \"{url}\""));
    for (sections, line, words) in [
        (
            hook("url = \"https://a.b\"\ncolour = 1"),
            8,
            "\"soc\": colour unknown field",
        ),
        (hook(""), 3, "\"soc\": url or url_file"),
        (
            hook("url = \"https://a.b\"\nurl_file = \"url.txt\""),
            7,
            "\"soc\": url or url_file",
        ),
        (
            hook("url_file = \"open.txt\""),
            7,
            "\"soc\": url_file can be read by others",
        ),
        (
            hook("url_file = \"none.txt\""),
            7,
            "\"soc\": url_file names no file",
        ),
        (url("http://example.org/"), 7, "\"soc\": url must be https"),
        (url("http://10.0.0.1/"), 7, "\"soc\": url must be https"),
        (
            url("https://u:p@example.org/"),
            7,
            "\"soc\": url must not hold",
        ),
        (
            url("https://example.org/#a"),
            7,
            "\"soc\": url must not hold",
        ),
        (url("ftp://127.0.0.1/"), 7, "\"soc\": url must be an http"),
        (
            url("https://169.254.169.254/"),
            7,
            "\"soc\": url is an address",
        ),
        (url("https://0xa9fea9fe/"), 7, "\"soc\": url is an address"),
        (
            url("https://[::ffff:a9fe:a9fe]/"),
            7,
            "\"soc\": url is an address",
        ),
        (
            hook("url = \"https://a.b\"\nheaders_file = \"host.headers\""),
            8,
            "\"soc\": headers_file must not set host",
        ),
        (
            hook("url = \"https://a.b\"\nheaders_file = \"sign.headers\""),
            8,
            "\"soc\": headers_file must not set webhook-id",
        ),
        (
            hook("url = \"https://a.b\"\nheaders_file = \"length.headers\""),
            8,
            "\"soc\": headers_file must not set content",
        ),
        (
            hook("url = \"https://a.b\"\nheaders_file = \"bad.headers\""),
            8,
            "\"soc\": headers_file must have lines",
        ),
        (
            hook("url = \"https://a.b\"\ntimeout_s = 31"),
            8,
            "\"soc\": timeout_s must be",
        ),
        (
            hook("url = \"https://a.b\"\nretry_s = []"),
            8,
            "\"soc\": retry_s must be",
        ),
        (
            hook("url = \"https://a.b\"\nretry_s = [0]"),
            8,
            "\"soc\": retry_s must be",
        ),
        (
            hook("url = \"https://a.b\"\nrest_s = [-1.0]"),
            8,
            "\"soc\": rest_s must be",
        ),
        (
            hook("url = \"https://a.b\"\nworkspaces = [\"A B\"]"),
            8,
            "\"soc\": workspaces",
        ),
        (
            hook("url = \"https://a.b\"\npath = \"x\""),
            8,
            "\"soc\": path is not for",
        ),
        (
            hook("url = \"https://a.b\"\ntls_ca = \"soc.headers\""),
            8,
            "\"soc\": tls_ca has no authorities",
        ),
        (
            url("https://a.b").replace("alarm.*", "alarms.*"),
            6,
            "\"soc\": events \"alarms.*\" matches no",
        ),
        (
            url("https://a.b").replace("webhook", "udp"),
            5,
            "\"soc\": kind must be",
        ),
        (
            url("https://a.b").replace("\"soc\"", "\"So c\""),
            4,
            "\"So c\": name must be",
        ),
        (
            format!("{}\n{}", url("https://a.b"), url("https://a.b")),
            9,
            "\"soc\": name another feed",
        ),
        (
            format!("{SYSLOG}to = \"tcp://10.0.0.1:514\""),
            7,
            "\"siem\": to must be tls",
        ),
        (
            format!("{SYSLOG}to = \"udp://127.0.0.1:514\""),
            7,
            "\"siem\": to must be tls",
        ),
        (
            format!("{SYSLOG}to = \"tls://host\""),
            7,
            "\"siem\": to must be tls",
        ),
        (
            format!("{SYSLOG}to = \"tls://2852039166:6514\""),
            7,
            "\"siem\": to is an address",
        ),
        (
            format!("{SYSLOG}to = \"tls://h:1\"\nformat = \"leef\""),
            8,
            "\"siem\": format must",
        ),
        (
            format!("{SYSLOG}to = \"tls://h:1\"\nretry_s = [1]"),
            8,
            "\"siem\": retry_s is not for",
        ),
        (
            format!("{FILE}path = \"events.jsonl\""),
            7,
            "\"lines\": path must be outside",
        ),
        (
            format!("{FILE}path = \"nats/events.jsonl\""),
            7,
            "\"lines\": path must be outside",
        ),
        (
            format!("{FILE}path = \"feeds/../nats/x\""),
            7,
            "\"lines\": path is in a folder",
        ),
        (
            format!("{FILE}path = \"/none/of/this\""),
            7,
            "\"lines\": path is in a folder",
        ),
        (FILE.to_owned(), 3, "\"lines\": path is missing"),
    ] {
        let fault = of(&sections).unwrap_err();
        assert!(
            fault.why.starts_with(&format!("[[feed]] {words}")),
            "{sections}: {fault}"
        );
        assert_eq!(fault.line, line, "{sections}: {fault}");
    }
}

#[test]
fn plain_text_goes_to_this_machine_or_where_it_is_allowed() {
    for good in [
        "to = \"tcp://127.0.0.1:514\"",
        "to = \"tcp://localhost:514\"",
        "to = \"tcp://[::1]:514\"",
        "to = \"tcp://10.0.0.1:80\"\nallow_plain_text = true",
    ] {
        assert!(of(&format!("{SYSLOG}{good}")).is_ok(), "{good}");
    }
    assert!(of(&format!("{HOOK}url = \"http://127.9.9.9:1/x\"")).is_ok());
}

#[test]
fn a_path_is_used_once_also_in_another_spelling() {
    let outside = tempfile::tempdir().unwrap();
    let path =
        |name: &str, path: &str| FILE.replace("lines", name) + &format!("path = \"{path}\"\n");
    let at = outside.path().display();
    let two = path("a", &format!("{at}/e.jsonl")) + &path("b", &format!("{at}/./e.jsonl"));
    assert!(
        of(&two).unwrap_err().why.contains("\"b\": path another"),
        "{two}"
    );
    let many: String = (0..17)
        .map(|n| path(&format!("f{n}"), &format!("{at}/{n}")))
        .collect();
    assert!(of(&many).unwrap_err().why.contains("16 feeds"));
}

#[test]
fn no_fault_repeats_an_address_that_may_be_a_secret() {
    for section in [
        format!("{HOOK}url = \"https://a.b\"\nretry_s = \"https://s3cret.example/t?k=1\""),
        format!("{HOOK}url = [\n\"https://s3cret.example/t?k=1\",\n7]"),
        format!("{HOOK}url = \"https://a.b\"\nretry_s = [\n\"https://s3cret.example/t?k=1\"]"),
        format!("{HOOK}url = https://s3cret.example/t?k=1"),
    ] {
        let fault = of(&section).unwrap_err();
        assert!(!fault.why.contains("s3cret"), "{fault}");
    }
}

#[test]
fn what_its_files_hold_is_a_setting_too() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    let section = format!("{HOOK}url_file = \"url\"\nheaders_file = \"headers\"");
    let digest = || read(&section, folder.path()).unwrap().remove(0).digest;
    put("url", "https://a.example/s3cret");
    put("headers", "Authorization: Basic YTpi");
    let first = digest();
    assert_eq!(digest(), first);
    put("url", "https://b.example/s3cret");
    let second = digest();
    assert_ne!(second, first);
    put("headers", "Authorization: Basic YTpj");
    assert_ne!(digest(), second);
}
