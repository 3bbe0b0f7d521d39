//! Searches with a name.

use serde_json::{Value, json};

use super::Page;

fn search(name: &str, text: &str) -> Value {
    json!({"name": name, "filter": {"text": text}})
}

fn names(kept: &Value) -> Vec<&str> {
    let searches = kept["searches"].as_array().unwrap().iter();
    searches
        .map(|search| search["name"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_kept_under_its_name_in_the_place_of_one_with_the_same() {
    let page = Page::open().await;
    page.call("save_search", search("zeta", "z")).await;
    page.call("save_search", search("  Alpha ", "a")).await;
    let kept = page.call("save_search", search("zeta", "again")).await;
    assert_eq!(
        names(&kept),
        ["Alpha", "zeta"],
        "trimmed, and in the order of a list"
    );
    assert_eq!(kept["searches"][1]["filter"]["text"], "again");
    // What a console has kept outlives it.
    let page = Page::on(page.close().await).await;
    assert_eq!(page.call("saved_searches", json!({})).await, kept);
    let left = page.call("forget_search", json!({"name": "Alpha"})).await;
    assert_eq!(names(&left), ["zeta"]);
    let same = page.call("forget_search", json!({"name": "Alpha"})).await;
    assert_eq!(same, left, "forgotten once is forgotten");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_their_number_are_bounded() {
    let page = Page::open().await;
    for name in ["", "  ", &"x".repeat(81)] {
        assert_eq!(
            page.code("save_search", search(name, "")).await,
            "usage",
            "{name:?}"
        );
    }
    page.call("save_search", search(&"é".repeat(80), "")).await;
    for number in 1..200 {
        page.call("save_search", search(&format!("number {number}"), ""))
            .await;
    }
    assert_eq!(
        page.code("save_search", search("one more", "")).await,
        "usage"
    );
    let kept = page
        .call("save_search", search("number 7", "changed"))
        .await;
    assert_eq!(
        names(&kept).len(),
        200,
        "one that is there can be changed still"
    );
    page.call("forget_search", json!({"name": "number 7"}))
        .await;
    page.call("save_search", search("one more", "")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_that_are_saved_at_once_are_all_kept() {
    let page = Page::open().await;
    let saved =
        (0..20).map(|number| page.call("save_search", search(&format!("s{number:02}"), "")));
    futures::future::join_all(saved.collect::<Vec<_>>()).await;
    let kept = page.call("saved_searches", json!({})).await;
    assert_eq!(names(&kept).len(), 20, "{kept}");
    page.close().await;
}
