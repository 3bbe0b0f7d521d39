use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use countersign_store::audit::row_hash;
use serde_json::{Value, json};

use crate::desk::{TestDesk, until};

fn settings(path: &str) -> String {
    format!(
        "[[feed]]\nname = \"lines\"\nkind = \"file\"\nevents = [\"audit.*\"]\npath = \"{path}\"\nrest_s = [0.05]\n"
    )
}

fn read(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chain_is_proved_by_the_lines_alone() {
    let desk = TestDesk::new().await;
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("e.jsonl");
    let running = desk.start(&settings(path.to_str().unwrap())).await;
    desk.log(
        "alarm",
        "acme/bot/r1",
        json!({ "code": "void_decision", "ä": "\u{1f600}\n" }),
    )
    .await;
    desk.log("policy", "rules.acme", json!({ "revision": 3 }))
        .await;
    until(async || read(&path).len() == 3).await;
    running.stop().await;
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.is_ascii() && text.ends_with('\n'));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let mut prev = "0".repeat(64);
    for (seq, line) in (1..).zip(read(&path)) {
        let data = &line["data"];
        let of = |name: &str| data[name].as_str().unwrap();
        assert_eq!(
            (of("prev"), data["seq"].as_i64()),
            (prev.as_str(), Some(seq))
        );
        let fields = (seq, of("at"), of("actor"), of("action"), of("subject"));
        let bytes = data_encoding::HEXLOWER.decode(prev.as_bytes()).unwrap();
        prev = data_encoding::HEXLOWER.encode(&row_hash(&bytes, fields, &data["detail"]).unwrap());
        assert_eq!(of("hash"), prev);
    }
    assert_eq!(read(&path)[2]["data"]["workspace"], "acme");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_line_is_ended_and_a_file_may_be_renamed() {
    let desk = TestDesk::new().await;
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("e.jsonl");
    fs::write(&path, "{\"half").unwrap();
    let running = desk.start(&settings(path.to_str().unwrap())).await;
    until(async || read(&path).len() == 1).await;
    assert!(fs::read_to_string(&path).unwrap().starts_with("{\"half\n{"));
    fs::rename(&path, outside.path().join("old")).unwrap();
    desk.log("alarm", "x", json!({})).await;
    until(async || read(&path).len() == 1).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_rows_wait_for_a_file_that_cannot_be_written() {
    let desk = TestDesk::new().await;
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("e.jsonl");
    fs::create_dir(&path).unwrap();
    let running = desk.start(&settings(path.to_str().unwrap())).await;
    for piece in 0..100 {
        let rows = (0..1_000).map(|n| ("alarm", format!("acme/a{piece}-{n}"), json!({})));
        desk.log_all(rows.collect()).await;
    }
    until(async || desk.failing().await == Some(true)).await;
    fs::remove_dir(&path).unwrap();
    // As long as it goes on.
    for written in (0..=100_001).step_by(1_000).chain([100_001]) {
        until(async || {
            desk.pass(100);
            desk.row("lines").await.cursor >= written
        })
        .await;
    }
    running.stop().await;
    let seqs: Vec<i64> = read(&path)
        .iter()
        .map(|line| line["data"]["seq"].as_i64().unwrap())
        .collect();
    assert!(seqs.iter().copied().eq(1..=100_001), "each once, in order");
    assert_eq!(desk.failing().await, Some(false));
}
