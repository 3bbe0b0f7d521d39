//! Exports that the window writes.

use std::path::Path;

use countersign_core::domain::history::HistoryFilter;
use countersign_core::domain::search::TextQuery;
use serde_json::{Value, json};

use super::Page;
use super::history::{found, lived};
use crate::export::Format;
use crate::gui::exports::Running;

fn ids_of(written: &str) -> Vec<String> {
    let id = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["request_id"].as_str().unwrap().to_owned()
    };
    written.lines().map(id).collect()
}

/// Writes an export to its end; what the page receives then.
async fn exported(page: &Page, filter: HistoryFilter, format: Format, file: &Path) -> Value {
    let app = &page.desk.app;
    let number = page
        .desk
        .exports
        .start(app, filter, format, file.to_owned());
    let args = json!({ "number": number });
    page.until("the export", async |_| {
        let view = page.call("export", args.clone()).await;
        (view["ended"] == true).then_some(view)
    })
    .await
}

fn some(word: &str) -> Option<String> {
    Some(word.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_has_the_rows_that_the_filter_shows_and_is_audited_before() {
    let page = lived().await;
    let own = page.desk.app.identity().human_key().to_string();
    let none = HistoryFilter::default;
    let table = [
        (json!({}), none()),
        (
            json!({"tool": "pay"}),
            HistoryFilter {
                tool: some("pay"),
                ..none()
            },
        ),
        (
            json!({"risk": "low"}),
            HistoryFilter {
                risk: some("low"),
                ..none()
            },
        ),
        (
            json!({"operator": own}),
            HistoryFilter {
                signers: Some(vec![own.clone()]),
                ..none()
            },
        ),
        (
            json!({"text": "quarter"}),
            HistoryFilter {
                text: TextQuery::parse("quarter"),
                ..none()
            },
        ),
        (
            json!({"workspace": "nowhere"}),
            HistoryFilter {
                workspace: some("nowhere"),
                ..none()
            },
        ),
    ];
    let before = page.desk.app.audit_head().await.unwrap().seq;
    for (number, (view, filter)) in table.into_iter().enumerate() {
        let shown = found(&page, &view).await;
        let file = page.data.path().join(format!("out {number}.jsonl"));
        let reported = exported(&page, filter.clone(), Format::Jsonl, &file).await;
        assert_eq!(reported["trouble"], json!(null), "{view}");
        assert_eq!(reported["done"], shown.len(), "{view}");
        assert_eq!(
            ids_of(&std::fs::read_to_string(&file).unwrap()),
            shown,
            "{view}"
        );
        let file = page.data.path().join(format!("out {number}.csv"));
        exported(&page, filter, Format::Csv, &file).await;
        let lines = std::fs::read_to_string(&file).unwrap();
        assert!(lines.starts_with("request_id,"), "{lines}");
        assert_eq!(lines.lines().count(), shown.len() + 1, "{view}");
    }
    let rows = page.desk.app.audit_after(before, 1_000).await.unwrap();
    let audited: Vec<&str> = rows
        .iter()
        .filter(|row| row.action == "export")
        .map(|row| row.detail.as_str())
        .collect();
    assert_eq!(audited.len(), 12);
    assert!(
        audited[0].contains("jsonl") && audited[1].contains("csv"),
        "{audited:?}"
    );
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_export_and_one_without_a_place_leave_no_file_and_say_so() {
    let page = lived().await;
    let filter = HistoryFilter::default;
    let app = &page.desk.app;
    let file = page.data.path().join("cancelled.csv");
    let running = Running::to(file.clone());
    running.cancel();
    let ended = running.write(app, &filter(), Format::Csv).await;
    assert!(ended.unwrap_err().to_string().contains("cancelled"));
    let left = std::fs::read_dir(page.data.path()).unwrap();
    let mut names = left.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    assert!(!names.any(|name| name.starts_with("cancelled")));
    page.call("stop_export", json!({"number": 99})).await;
    let nowhere = page.data.path().join("no folder/out.csv");
    let view = exported(&page, filter(), Format::Csv, &nowhere).await;
    assert!(
        view["trouble"]
            .as_str()
            .unwrap()
            .contains("choose a folder"),
        "{view}"
    );
    assert_eq!(
        page.code("export", json!({"number": 99})).await,
        "not_found"
    );
    page.close().await;
}
