//! The index against a real file.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::Timestamp;
use crate::domain::history::HistoryFilter;
use crate::domain::search::TextQuery;
use crate::ops::temporary;
use crate::store::{Reader, Writer, history, retention};

/// Adds a decided request and gives its row.
fn add(writer: &mut Writer, seq: i64, words: &str) -> i64 {
    let raw = json!({ "tool": { "name": "send_mail" }, "args": { "text": words } }).to_string();
    let sql = "INSERT INTO requests(ws, agent, request_id, risk, allowed, approvals_required, request_digest,
               stream_epoch, stream_seq, stored_at, received_at, lifetime, deadline_at, state, delivery, raw)
               VALUES ('acme', 'bot', ?1, 'low', 'deny', 1, 'd', 'e', ?2, ?2, 0, 0, 0, 'decided', 'stored', ?3)
               RETURNING id";
    let id = writer.query_row(sql, (format!("r{seq}"), seq, raw.into_bytes()), |row| {
        row.get(0)
    });
    id.unwrap()
}

fn decide(writer: &mut Writer, request: Option<i64>, seq: i64, message: &str) {
    let sql = "INSERT INTO decisions(request, ws, agent, request_id, payload, message, stream_epoch, stream_seq,
               stored_at) VALUES (?1, 'acme', 'bot', ?2, x'', ?3, 'e', ?4, 0)";
    let values = (request, format!("r{seq}"), message, seq);
    writer.execute(sql, values).unwrap();
}

fn one_step(writer: &mut Writer, limit: usize) -> bool {
    let tx = writer.begin().unwrap();
    let (more, outdated) = step(&tx, limit).unwrap();
    tx.commit().unwrap();
    more || outdated
}

fn index(writer: &mut Writer) {
    while one_step(writer, 3) {}
}

async fn found(reader: &Reader, text: &str) -> Vec<i64> {
    found_below(reader, text, None).await
}

async fn found_below(reader: &Reader, text: &str, below: Option<i64>) -> Vec<i64> {
    let filter = HistoryFilter {
        text: TextQuery::parse(text),
        ..HistoryFilter::default()
    };
    let page = history::page(reader, &filter, below, 100, None).await;
    page.unwrap().rows.iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn all_words_a_phrase_and_a_prefix_are_found_newest_first() {
    let (_folder, mut writer, reader) = temporary().await;
    let refund = add(&mut writer, 1, "Refund for order 4711, Zürich.");
    let other = add(&mut writer, 2, "order a refund form from acme.example");
    index(&mut writer);
    for (text, rows) in [
        ("refund order", &[other, refund][..]),
        ("REFUND 4711", &[refund]),
        ("\"refund for order\"", &[refund]),
        ("\"order refund\"", &[]),
        ("zurich", &[refund]),
        ("send_mail", &[other, refund]),
        ("send", &[other, refund]),
        ("mail", &[other, refund]),
        ("end", &[]),
        ("mail_send", &[]),
        ("sen*", &[other, refund]),
        ("\"refund fo\"*", &[other, refund]),
        ("acme.example", &[other]),
        ("refund -- order!", &[other, refund]),
        ("order AND refund", &[]),
        ("!?", &[]),
    ] {
        assert_eq!(found(&reader, text).await, rows, "{text}");
    }
    assert_eq!(found_below(&reader, "refund", Some(other)).await, [refund]);
}

/// What a text holds, and words by which people look for it; then words that it does not hold.
const WRITTEN: &[(&str, &[&str], &[&str])] = &[
    // Chinese: parts of a sentence without blanks.
    (
        "请把发票发送给财务部门，金额为五百元。",
        &[
            "发票",
            "财务",
            "财务部门",
            "五百元",
            "元",
            "请把发票发送给财务部门",
            "\"发送给财务\"",
            "发票 金额",
            "财*",
        ],
        &["票据", "门金", "发财"],
    ),
    (
        "服务器v2已重启，联系admin@例え.jp",
        &["服务器", "重启", "v2", "admin", "例え"],
        &["重起"],
    ),
    (
        "部署billing-api到production环境",
        &[
            "billing",
            "api",
            "billing-api",
            "production",
            "部署billing",
            "api到",
            "署billing-api到",
        ],
        &["illing", "署api", "product ion"],
    ),
    ("京東の請求書", &["京東", "請求書"], &["東京"]),
    (
        "deploy invoice-service_v2.1 now",
        &[
            "invoice",
            "service",
            "invoice-service",
            "service_v2",
            "v2.1",
        ],
        &["voice", "service-invoice"],
    ),
    (
        "заказbilling",
        &["заказ", "billing", "заказbilling"],
        &["казbilling"],
    ),
    ("繁體中文的報告在這裡", &["報告", "中文"], &["报告"]),
    // Japanese: Han, both kana, half width.
    (
        "明日の会議は東京都庁で行います。資料を添付しました。",
        &[
            "東京",
            "会議",
            "京都",
            "明日の会議は東京都庁で行います",
            "添付し",
            "資料 会議",
            "庁",
        ],
        &["大阪", "ます資料", "会東"],
    ),
    (
        "サーバーのデータを削除する",
        &["サーバー", "データ", "削除", "ﾃﾞｰﾀ"],
        &["テータ"],
    ),
    (
        "東京タワー3号館",
        &["タワー", "東京タワー", "3号館", "号館"],
        &["タワ号"],
    ),
    // Thai, Lao, Khmer, Burmese; Korean with its particles.
    (
        "กรุณาส่งใบแจ้งหนี้ไปที่ฝ่ายบัญชี",
        &["ใบแจ้งหนี้", "บัญชี", "ฝ่ายบัญชี", "กรุณา", "แจ้ง"],
        &["ใบเสร็จ"],
    ),
    ("ลบไฟล์ทั้งหมด", &["ไฟล์", "ทั้งหมด", "ลบ"], &["โฟลเดอร์"]),
    ("ກະລຸນາສົ່ງໃບເກັບເງິນ", &["ໃບເກັບເງິນ"], &["ໃບຮັບ"]),
    ("សូមផ្ញើវិក្កយបត្រ", &["វិក្កយបត្រ", "ផ្ញើ"], &["លុប"]),
    ("ကျေးဇူးပြု၍ငွေတောင်းခံလွှာပို့ပါ", &["ငွေတောင်းခံလွှာ"], &["ဖျက်"]),
    (
        "내일 회의는 서울에서 합니다",
        &["회의", "서울", "회의는 서울에서"],
        &["부산"],
    ),
    // Small letters, capitals and their equivalents.
    (
        "Hauptstraße 5, GROẞMARKT",
        &[
            "hauptstrasse",
            "HAUPTSTRASSE",
            "hauptstra*",
            "großmarkt",
            "grossmarkt",
        ],
        &["strase"],
    ),
    ("Straße", &["strasse", "STRASSE", "straße"], &["strase"]),
    (
        "Maßnahme, Fuß, weiß",
        &["massnahme", "fuss", "weiss"],
        &["mas"],
    ),
    // Ligatures and other forms of the same letters.
    (
        "ﬁle ﬂow oﬃce diﬀ",
        &["file", "flow", "office", "diff"],
        &["fle"],
    ),
    ("ＡＣＭＥ １２３", &["acme", "123"], &["acm"]),
    ("m² Ⅻ ①", &["m2", "xii", "1"], &["m3"]),
    // Accents.
    (
        "Η Αθήνα είναι πρωτεύουσα",
        &["αθηνα", "ΑΘΗΝΑ", "ειναι", "πρωτευουσα"],
        &["αθην"],
    ),
    (
        "ο λογαριασμός",
        &["λογαριασμος", "ΛΟΓΑΡΙΑΣΜΟΣ", "λογαριασμοσ"],
        &["λογαρ"],
    ),
    ("ΐ ϋ ῥόδον Ὀδυσσεύς", &["ροδον", "οδυσσευς"], &["ροδο"]),
    (
        "Zürich, café, naïve, Ångström",
        &["zurich", "cafe", "naive", "angstrom"],
        &["zuerich"],
    ),
    ("Ёлка ещё", &["елка", "еще"], &["елк"]),
    ("İstanbul, ılık", &["istanbul", "ilik"], &["stanbul"]),
    ("שָׁלוֹם مُحَمَّد", &["שלום", "محمد"], &["שלו"]),
    ("नमस्ते दुनिया", &["नमस्ते", "दुनिया"], &["नमस"]),
    // What nobody sees.
    (
        "Donau\u{ad}dampf pass\u{200b}port",
        &["donaudampf", "passport"],
        &["donau"],
    ),
];

#[tokio::test]
async fn words_are_found_in_every_script_and_however_they_are_written() {
    let (_folder, mut writer, reader) = temporary().await;
    let mut rows = Vec::new();
    for (seq, (text, ..)) in (1..).zip(WRITTEN) {
        rows.push(add(&mut writer, seq, text));
    }
    index(&mut writer);
    let mut wrong = Vec::new();
    for (row, (text, has, lacks)) in rows.iter().zip(WRITTEN) {
        for (words, held) in [(has, true), (lacks, false)] {
            for word in *words {
                if found(&reader, word).await.contains(row) != held {
                    wrong.push(format!("{word:?} of {text:?}: held is {held}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let check = "INSERT INTO requests_fts(requests_fts, rank) VALUES ('integrity-check', 1)";
    writer.execute(check, []).unwrap();
}

/// As a version that folded nothing left it.
fn outdate(writer: &mut Writer) {
    for sql in [
        "INSERT INTO requests_fts(requests_fts) VALUES ('delete-all')",
        "UPDATE request_text SET hay = CASE request WHEN 1 THEN 'send mail Straße 5' ELSE 'send mail Plain' END",
        "INSERT INTO requests_fts(requests_fts) VALUES ('rebuild')",
        "DELETE FROM meta WHERE key = 'search_version'",
    ] {
        writer.execute(sql, []).unwrap();
    }
}

#[tokio::test]
async fn words_of_another_version_are_found_until_they_are_read_again_behind_what_arrives() {
    let (_folder, mut writer, reader) = temporary().await;
    let street = add(&mut writer, 1, "Straße 5");
    for seq in 2..=5 {
        add(&mut writer, seq, "Plain");
    }
    index(&mut writer);
    outdate(&mut writer);
    assert_eq!(search_index::unread(&reader).await.unwrap(), 5);
    assert!(found(&reader, "strasse").await.is_empty());
    // What arrives comes first, and all of it can be searched meanwhile.
    let new = add(&mut writer, 6, "Gruß");
    assert!(one_step(&mut writer, 2));
    assert_eq!(found(&reader, "gruss").await, [new]);
    assert_eq!(found(&reader, "plain").await.len(), 4);
    let mut left = Vec::new();
    while one_step(&mut writer, 2) {
        left.push(search_index::unread(&reader).await.unwrap());
        writer.reopen().unwrap();
        assert_eq!(found(&reader, "plain").await.len(), 4);
    }
    assert_eq!(left, [4, 2]);
    assert_eq!(search_index::unread(&reader).await.unwrap(), 0);
    assert_eq!(found(&reader, "strasse").await, [street]);
    assert!(!one_step(&mut writer, 2));
    assert_eq!(found(&reader, "send_mail").await.len(), 6);
    let check = "INSERT INTO requests_fts(requests_fts, rank) VALUES ('integrity-check', 1)";
    writer.execute(check, []).unwrap();
}

#[tokio::test]
async fn an_old_store_is_indexed_in_bounded_steps_that_go_on_where_the_last_one_ended() {
    let (_folder, mut writer, reader) = temporary().await;
    for seq in 1..=10 {
        add(&mut writer, seq, "same words");
    }
    for left in [7, 4, 1] {
        assert!(one_step(&mut writer, 3));
        assert_eq!(search_index::unread(&reader).await.unwrap(), left);
        writer.reopen().unwrap();
    }
    assert!(!one_step(&mut writer, 3));
    assert_eq!(found(&reader, "words").await.len(), 10);
    // Nothing is indexed twice.
    assert!(!one_step(&mut writer, 3));
    assert_eq!(found(&reader, "words").await.len(), 10);
}

#[tokio::test]
async fn a_message_is_found_whenever_its_decision_comes() {
    let (_folder, mut writer, reader) = temporary().await;
    let before = add(&mut writer, 1, "one");
    decide(&mut writer, Some(before), 1, "never on Fridays");
    let after = add(&mut writer, 2, "two");
    index(&mut writer);
    decide(
        &mut writer,
        Some(after),
        2,
        "not on Fridays, password=hunter2secret",
    );
    // One whose request is not here yet.
    decide(&mut writer, None, 3, "orphan Fridays");
    index(&mut writer);
    assert_eq!(found(&reader, "fridays").await, [after, before]);
    assert_eq!(found(&reader, "two fridays").await, [after]);
    assert_eq!(found(&reader, "two").await, [after]);
    assert!(found(&reader, "hunter2secret").await.is_empty());
    let check = "INSERT INTO requests_fts(requests_fts, rank) VALUES ('integrity-check', 1)";
    writer.execute(check, []).unwrap();
}

#[tokio::test]
async fn what_retention_removes_leaves_no_word_in_the_file() {
    let (_folder, mut writer, reader) = temporary().await;
    let gone = add(&mut writer, 1, "xylophone");
    let later = add(&mut writer, 2, "zymurgy");
    let kept = add(&mut writer, 3, "kept");
    assert!(one_step(&mut writer, 1));
    decide(&mut writer, Some(gone), 1, "glockenspiel");
    let tx = writer.begin().unwrap();
    step(&tx, 1).unwrap();
    for id in [gone, later] {
        let item = retention::Item::Request(id);
        retention::remove(&tx, &item, Timestamp(9)).unwrap();
    }
    tx.commit().unwrap();
    index(&mut writer);
    for word in ["xylophone", "zymurgy", "glockenspiel"] {
        assert!(found(&reader, word).await.is_empty(), "{word}");
        let sql = "SELECT (SELECT count(*) FROM requests_fts_data WHERE instr(block, CAST(?1 AS BLOB)) > 0)
                  + (SELECT count(*) FROM request_text WHERE instr(hay, ?1) > 0)";
        let blocks: i64 = writer.query_row(sql, [word], |row| row.get(0)).unwrap();
        assert_eq!(blocks, 0, "{word}");
    }
    assert_eq!(found(&reader, "kept").await, [kept]);
}

#[test]
fn any_text_is_a_query() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_folder, reader) = runtime.block_on(async {
        let (folder, mut writer, reader) = temporary().await;
        add(&mut writer, 1, "words");
        index(&mut writer);
        (folder, reader)
    });
    let texts = prop_oneof![
        any::<String>(),
        "[\"*:^+() -]{0,12}",
        "(AND|OR|NOT|NEAR|\"|\\*|a|\\(|:|\0| ){0,20}",
    ];
    proptest!(ProptestConfig::with_cases(512), |(text in texts)| {
        runtime.block_on(found(&reader, &text));
    });
}
