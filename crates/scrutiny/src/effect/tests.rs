//! What will happen, call by call: tool, arguments, sentence; `null` where the console is not sure.

use serde_json::{Value, json};

use super::effect;
use crate::call::Call;
use crate::facts::facts;
use crate::past::Past;

fn check(calls: &Value, past: &Past) {
    let wrong: Vec<String> = calls
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| {
            let tool = row[0].as_str().unwrap_or_default();
            let said = effect(&Call::new(tool, &row[1]), past);
            (said.as_deref() != row[2].as_str()).then(|| format!("{row} is {said:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mail_events_and_messages() {
    let calls = json!([
        ["send_mail", {"to": "a@hallberg.example", "bcc": "x@freemail.example"}, "Sends 1 mail to 1 address at hallberg.example, with a hidden copy to freemail.example"],
        ["send_mail", {"to": ["a@x.example", "b@x.example"]}, "Sends 1 mail to 2 addresses at x.example"],
        ["gmail.send", {"message": {"recipients": [{"address": "a@x.example", "name": "A"}], "bcc": [{"address": "b@y.example"}]}}, "Sends 1 mail to 1 address at x.example, with a hidden copy to y.example"],
        ["email_send", {"to": "a@x.example", "cc": "b@y.example"}, "Sends 1 mail to 2 addresses at x.example, y.example"],
        ["sendEmail", {"to": "A <a@x.example>", "subject": "Sends nothing"}, "Sends 1 mail to 1 address at x.example"],
        ["send_email", {"to": ["a@a.example", "a@b.example", "a@c.example", "a@d.example"]}, "Sends 1 mail to 4 addresses at a.example, b.example, c.example and 1 more"],
        ["send_mail", {"to": "the team"}, null],
        ["send_mail", {"to": "all staff", "cc": "a@x.example"}, "send_mail: cc a@x.example"],
        ["draft_mail", {"to": "a@x.example"}, "draft_mail: to a@x.example"],
        ["send_mail", {"subject": "Hi"}, null],

        ["create_event", {"title": "Pays all", "start": "2026-12-09T10:00:00Z", "attendees": ["a@x.example", "b@x.example"]}, "Creates an event at 2026-12-09T10:00:00Z with 2 people at x.example"],
        ["calendar_insert", {"event": {"startTime": "2026-12-09T14:00", "guests": ["a@x.example"]}}, "Creates an event at 2026-12-09T14:00 with 1 person at x.example"],
        ["schedule_meeting", {"start": "2026-12-09"}, "Creates an event at 2026-12-09"],
        ["delete_event", {"event_id": "EV-12"}, "Deletes event EV-12"],
        ["calendar.update_event", {"event_id": "EV-12", "start": "2026-12-10T09:00"}, "Changes event EV-12 at 2026-12-10T09:00"],
        ["create_event", {"attendees": ["a@x.example", "b@y.example"]}, "Creates an event with 2 people at x.example, y.example"],
        ["create_event", {"title": "Retro"}, null],
        ["delete_event", {"title": "Retro"}, null],
        ["list_events", {"calendar_id": "team"}, "list_events: calendar id team"],
        ["create_event", {"title": "Retro", "room_id": "R-4"}, "create_event: room id R-4"],

        ["slack_post_message", {"channel": "#deploys", "text": "done"}, "Posts a message to #deploys"],
        ["teams_send", {"conversation": "Einkauf", "message": "Hallo"}, "Posts a message to Einkauf"],
        ["send_sms", {"to": "+49 30 1234", "body": "Hi"}, "Posts a message to +49 30 1234"],
        ["discord.send", {"channel_id": 4410, "content": "Hi"}, "Posts a message to 4410"],
        ["telegram_send_message", {"chat_id": "-100", "text": "Hi"}, "Posts a message to -100"],
        ["slack_reply", {"channel": "C1", "thread": "17.2", "text": "Hi"}, "Posts a message to C1"],
        ["slack_post_message", {"text": "Hi"}, null],
        ["slack_post_message", {"channel": "", "text": "Hi"}, null],
        ["slack_list_channels", {"team_id": "T1"}, "slack_list_channels: team id T1"],
        ["slack_delete_message", {"channel_id": "C1"}, "slack_delete_message: channel id C1"],
    ]);
    check(&calls, &Past::default());
}

#[test]
fn payments_with_the_largest_before() {
    let mut past = Past::default();
    for (payee, amount) in [
        ("Hallberg Maschinen GmbH", 2310.0),
        ("Hallberg Maschinen GmbH", 900.0),
        ("Kontor Sued", 4000.5),
    ] {
        let args = json!({"payee": payee, "amount": amount, "currency": "EUR"});
        past.approve(&facts(&Call::new("pay_invoice", &args)), 1);
    }
    let calls = json!([
        ["pay_invoice", {"payee": "Hallberg Maschinen GmbH", "amount": 12490, "currency": "EUR"}, "Pays 12,490.00 EUR to Hallberg Maschinen GmbH; the largest before was 2,310.00"],
        ["pay_invoice", {"payee": "hallberg maschinen gmbh", "amount": 5, "currency": "eur"}, "Pays 5.00 EUR to hallberg maschinen gmbh; the largest before was 2,310.00"],
        ["pay_invoice", {"payee": "Neu AG", "amount": 5, "currency": "EUR"}, "Pays 5.00 EUR to Neu AG; the largest before was 4,000.50"],
        ["pay_invoice", {"payee": "Neu AG", "amount": 5, "currency": "USD"}, "Pays 5.00 USD to Neu AG"],
        ["bank_transfer", {"beneficiary": "Neu\u{202e}AG", "amount": "1,200.50", "currency": "CHF"}, "Pays 1,200.50 CHF to Neu⟨U+202E⟩AG"],
        ["payments_create", {"creditor": {"name": "Neu AG"}, "amount_cents": 12490, "currency": "EUR", "creditor_name": "Neu AG"}, "Pays 124.90 EUR to Neu AG"],
        ["pay", {"amount": 1, "fee": 2}, "pay: amount 1, fee 2"],
        ["pay_invoice", {"amount": 12, "currency": "EUR"}, "pay_invoice: amount 12.00 EUR"],
        ["pay_invoice", {"payee": "Neu AG", "amount": 12}, "pay_invoice: payee Neu AG, amount 12"],
        ["refund_payment", {"payee": "Neu AG", "amount": 12, "currency": "EUR"}, "refund_payment: payee Neu AG, amount 12.00 EUR"],
    ]);
    check(&calls, &past);
}

#[test]
fn sql_and_commands() {
    let calls = json!([
        ["db.migrate", {"migration": "ALTER TABLE o ADD COLUMN n text; DROP TABLE order_events_v1; CREATE TABLE e (id bigint)"}, "Creates 1 table, alters 1, drops 1: order_events_v1"],
        ["query", {"sql": "UPDATE orders SET paid = true WHERE id = 4; SELECT 1"}, "Changes rows of orders, reads"],
        ["query", {"sql": "DELETE FROM orders"}, "Deletes all rows of orders"],
        ["query", {"sql": "DELETE FROM orders WHERE id = 1"}, "Deletes rows of orders"],
        ["query", {"sql": "INSERT INTO a VALUES (1)"}, "Adds rows to a"],
        ["query", {"sql": "WITH x AS (SELECT 1) SELECT * FROM x"}, "Reads"],
        ["query", {"sql": "WITH x AS (DELETE FROM a RETURNING id) SELECT * FROM x"}, null],
        ["query", {"sql": "SELECT * INTO b FROM a"}, null],
        ["query", {"sql": "SELECT 1; GRANT ALL ON t TO PUBLIC"}, null],
        ["query", {"sql": "SELEC T FRM", "database": "shop"}, null],

        ["bash", {"command": "npm ci && find . -name x -delete; rm a"}, "Runs npm, find -delete, rm"],
        ["kubectl", {"command": "kubectl get pods"}, "Runs kubectl get"],
        ["exec", {"argv": ["git", "fetch"]}, "Runs git fetch"],
        ["git", {"args": ["push", "--force"]}, "Runs git push"],
        ["bash", {"command": "cd /srv && make"}, "Runs cd, make"],
        ["bash", {"command": "echo $(date)"}, "Runs echo, date"],
        ["bash", {"command": "$X a"}, null],
        ["bash", {"command": "echo 'a"}, null],
        ["bash", {"command": "", "description": "x"}, null],
        ["think", {}, null],
    ]);
    check(&calls, &Past::default());
}

#[test]
fn requests_and_files() {
    let calls = json!([
        ["http_request", {"method": "post", "url": "https://api.x.example/v1/orders", "body": {"id": 1}}, "Sends POST with a body to https://api.x.example/v1/orders"],
        ["http_get", {"url": "https://api.x.example/v1"}, "Sends GET to https://api.x.example/v1"],
        ["web_fetch", {"url": "https://x.example/"}, "Requests https://x.example/"],
        ["call_webhook", {"targetUrl": "https://x.example/h", "payload": {"a": 1}}, "Sends a request with a body to https://x.example/h"],
        ["api_call", {"method": "DELETE", "endpoint": "https://x.example/1"}, "Sends DELETE to https://x.example/1"],
        ["http.put", {"uri": "https://x.example/1", "json": {}}, "Sends PUT with a body to https://x.example/1"],
        ["http_request", {"url": "/relative"}, "http_request: url /relative"],
        ["http_request", {"method": "GET", "urls": ["https://x.example", "https://y.example"]}, "http_request: urls https://x.example, urls https://y.example"],
        ["register_webhook", {"url": "https://x.example/h"}, "register_webhook: url https://x.example/h"],
        ["http_request", {"method": "GET"}, null],

        ["Write", {"file_path": "/srv/a.rs", "content": "x"}, "Writes /srv/a.rs"],
        ["edit_file", {"path": "/srv/a.py", "old_string": "1", "new_string": "2"}, "Edits /srv/a.py"],
        ["delete_files", {"pattern": "/srv/cache/*", "older_than_days": 3}, "Deletes /srv/cache/*"],
        ["move_file", {"source": "/srv/a", "destination": "/srv/b"}, "Moves /srv/a to /srv/b"],
        ["str_replace_based_edit_tool", {"command": "create", "path": "/srv/a", "file_text": "x"}, "Creates /srv/a"],
        ["delete_files", {"paths": ["/a/1", "/a/2", "/a/3", "/a/4", "/a/5"]}, "Deletes /a/1, /a/2, /a/3 and 2 more"],
        ["move_file", {"source": "/srv/a"}, "move_file: source /srv/a"],
        ["write_file", {"content": "x"}, null],
        ["update_contract", {"path": "/srv/a"}, "update_contract: path /srv/a"],
        ["write_files", {"paths": ["/a", "/b"]}, "write_files: paths /a, paths /b"],
    ]);
    check(&calls, &Past::default());
}

#[test]
fn git_kubernetes_and_terraform() {
    let calls = json!([
        ["git_push", {"branch": "main", "remote": "origin", "force": true}, "Pushes main to origin, by force"],
        ["git_push", {"repository": "shop", "remote": "origin", "branch": "f/1", "force": false}, "Pushes f/1 to origin in shop"],
        ["mcp__git__git_commit", {"repo_path": "/srv/shop", "message": "no"}, "Commits in /srv/shop"],
        ["git_reset", {"commit": "HEAD~3", "hard": true}, "Resets to HEAD~3, throws changes away"],
        ["git.checkout", {"branch_name": "main"}, "Checks out main"],
        ["git_clone", {"url": "https://x.example/a.git"}, "Clones https://x.example/a.git"],
        ["git_push", {"force": true}, null],
        ["git_log", {"branch": "main"}, "git_log: branch main"],
        ["git_bisect", {"repo": "shop"}, "git_bisect: repo shop"],
        ["git_add_commit", {"repo_path": "/srv/shop"}, "git_add_commit: repo path /srv/shop"],

        ["kubectl_delete", {"resource_type": "namespace", "name": "shop", "context": "prod"}, "Deletes namespace shop of prod"],
        ["scale_k8s", {"deployment": "api", "replicas": 0, "namespace": "web"}, "Scales api to replicas 0 in namespace web"],
        ["kubectl_apply", {"filename": "k8s/api.yaml", "namespace": "web"}, "Applies k8s/api.yaml in namespace web"],
        ["k8s_restart", {"deployment": "api"}, "Restarts api"],
        ["kubectl_delete", {"resource": "pods", "all": true, "namespace": "web"}, "Deletes pods in namespace web, all of them"],
        ["kubernetes.exec", {"pod": "api-1", "namespace": "web"}, "Runs a command in api-1 in namespace web"],
        ["kubectl_apply", {"manifest": "kind: Pod"}, null],
        ["kubectl_delete", {"namespace": "web"}, "kubectl_delete: namespace web"],
        ["kubectl_port_forward", {"pod_name": "api"}, "kubectl_port_forward: pod name api"],
        ["kubectl_delete", {}, null],

        ["terraform_apply", {"workspace": "stage", "directory": "infra/db", "auto_approve": true}, "Applies Terraform in workspace stage from infra/db, without asking"],
        ["terraform_destroy", {"workspace": "stage"}, "Destroys Terraform resources in workspace stage"],
        ["terraform_plan", {"chdir": "infra"}, "Plans Terraform from infra"],
        ["tofu.apply", {"target": "module.db"}, "Applies Terraform, only module.db"],
        ["terraform", {"action": "destroy", "workspace": "w"}, "Destroys Terraform resources in workspace w"],
        ["terraform_apply", {"destroy": true}, "Applies Terraform, destroys"],
        ["terraform_state_rm", {"address": "a.b"}, null],
        ["terraform_unlock", {"lock_id": "7"}, "terraform_unlock: lock id 7"],
        ["terraform", {"action": "dance"}, null],
        ["terraform_taint", {}, null],
    ]);
    check(&calls, &Past::default());
}

#[test]
fn any_other_tool_by_its_name_and_what_identifies() {
    let long = "x".repeat(100);
    let calls = json!([
        ["deploy", {"service": "shop", "environment": "staging", "branch": "main", "dry_run": true}, "deploy: environment staging, branch main"],
        ["place_order", {"supplier": "Kontor Sued", "sku": "A-1", "quantity": 20}, "place_order: supplier Kontor Sued, sku A-1, quantity 20"],
        ["get_order", {"order_id": 4410}, "get_order: order id 4410"],
        ["share", {"emails": ["a@x.example", "b@x.example"], "file_id": "f1", "db": "shop"}, "share: emails a@x.example, emails b@x.example, file id f1 and 1 more"],
        ["tool\u{202e}x", {"id": "a\u{1b}b"}, "tool⟨U+202E⟩x: id a⟨U+001B⟩b"],
        ["get", {"id": long}, format!("get: id {}…", "x".repeat(80))],
        ["note", {"text": "hello", "title": "x"}, null],
        ["wait", {"seconds": 5}, null],
        ["ask", {"question": "Really?"}, null],
        ["weather", {"city": "Ulm", "id": ""}, null],
    ]);
    check(&calls, &Past::default());
}

#[test]
fn a_secret_is_in_no_sentence() {
    let args = json!({"id": "c1", "api_key": "9f3ac01e", "credentials": {"user": "ada"}});
    let mut call = Call::new("remove_customer", &args);
    call.hides = |name| name == "api_key" || name == "credentials";
    let said = effect(&call, &Past::default());
    assert_eq!(said.as_deref(), Some("remove_customer: id c1"));
}
