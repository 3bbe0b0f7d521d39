//! What somebody with a key tries at the realm log (protocol, section 8): a change that its signer may not make has no
//! effect, and what ended or is limited decides nothing.

use countersign_core::ops::realm::ListedState;
use countersign_sdk::Risk;
use countersign_testkit::TempData;
use countersign_wire::PublicKey;
use countersign_wire::realm::Word;
use nkeys::KeyPair;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent::{Agent, colleague, in_state, listed};
use crate::realm_hand::{Hand, Phone, neutral, of_small_order};
use crate::realm_log::{acceptance, retirement, sees};
use crate::realm_scene::{Attempt, Scene, call, copy, text};

const FAR: &str = "2127-01-01T00:00:00.000Z";

fn recovery(scene: &Scene, pair: &KeyPair) -> Value {
    let realm = scene.log.realm();
    let consent = format!("{}\nrecovery", text(pair));
    let subject = countersign_wire::realm::REALM_SUBJECT;
    let context = countersign_wire::Context::Key;
    let proof = countersign_wire::sign(pair, context, realm, subject, consent.as_bytes());
    json!({"realm": {"recovery": {"key": text(pair), "proof": proof.unwrap()}}})
}

fn end(id: &str) -> Value {
    json!({"operators": [{"id": id, "keys": []}]})
}

/// The operators and the recovery key as the log has them.
fn known(scene: &Scene) -> (Vec<Value>, Option<PublicKey>) {
    let records = scene.log.operators.values();
    let records = records.map(|record| Value::Object(record.fields.clone()));
    (records.collect(), scene.log.recovery.clone())
}

/// Asks for these outcomes at the same time.
async fn outcomes(scene: &Scene, rows: Vec<(Attempt<'_>, &str)>) {
    let asked = rows.iter().map(|(attempt, _)| scene.outcome(attempt));
    let seen = futures::future::join_all(asked).await;
    for (number, ((_, right), seen)) in rows.iter().zip(seen).enumerate() {
        assert_eq!(seen, *right, "row {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_its_signer_may_not_make_has_no_effect() {
    let mut scene = Scene::open().await;
    let ada = scene.ada();
    let of_ada = text(&ada);
    let grace = copy(&scene.grace.identity().signing().human);
    let of_grace = text(&grace);
    let auto = copy(&scene.grace.identity().signing().auto);
    let low = scene
        .let_in("Low", json!({"limits": {"max_risk": "low"}}))
        .await;
    let (gone, nan, lin) = (
        scene.let_in("Gone", json!({})).await,
        KeyPair::new_user(),
        KeyPair::new_user(),
    );
    let second = KeyPair::new_user();
    scene.end(&gone).await;
    assert_eq!(
        scene
            .write(&grace, &recovery(&scene, &KeyPair::new_user()))
            .await,
        Word::Ok
    );
    let bad = of_small_order();
    let unproved = json!({"key": bad, "role": "human", "proof": neutral()});
    let small = json!({"operators": [{"id": bad, "name": "S", "keys": [unproved]}]});
    let unknown_role = json!({"key": text(&nan), "role": "module", "proof": "x"});
    let with_second = {
        let mut two = scene.newcomer(&lin, "Two");
        let more = scene.key(&second, &text(&lin), "human");
        two["operators"][0]["keys"]
            .as_array_mut()
            .unwrap()
            .push(more);
        two
    };
    let table = [
        (
            "an ended key signs",
            &gone,
            end(&of_grace),
            Word::UnknownKey,
        ),
        (
            "a console's key signs",
            &auto,
            end(&of_grace),
            Word::UnknownKey,
        ),
        (
            "back under its id",
            &ada,
            scene.newcomer(&gone, "Gone"),
            Word::KeyTaken,
        ),
        (
            "back beside another key",
            &ada,
            scene.with_key(&of_ada, &scene.key(&gone, &of_ada, "human")),
            Word::KeyTaken,
        ),
        (
            "back as a recovery key",
            &ada,
            recovery(&scene, &gone),
            Word::KeyTaken,
        ),
        (
            "without limits",
            &low,
            scene.changed(&text(&low), |record| drop(record.remove("limits"))),
            Word::NotPermitted,
        ),
        (
            "an administrator by himself",
            &low,
            scene.changed(&text(&low), |record| {
                record.remove("limits");
                record.insert("admin".into(), json!(true));
            }),
            Word::NotPermitted,
        ),
        (
            "acceptance",
            &low,
            json!({"realm": {"acceptance": true}}),
            Word::NotPermitted,
        ),
        (
            "a newcomer, by no administrator",
            &low,
            scene.newcomer(&lin, "L"),
            Word::NotPermitted,
        ),
        ("somebody's end", &low, end(&of_grace), Word::NotPermitted),
        (
            "a newcomer's key for an unknown role",
            &grace,
            scene.with_key(&of_grace, &unknown_role),
            Word::BadRecord,
        ),
        (
            "a key for another person",
            &ada,
            scene.with_key(&of_grace, &scene.key(&second, &of_grace, "human")),
            Word::NotPermitted,
        ),
        (
            "let in with two keys",
            &ada,
            with_second,
            Word::NotPermitted,
        ),
        ("a key of small order", &ada, small, Word::BadProof),
        (
            "a key that did not consent",
            &ada,
            scene.with_key(&of_ada, &scene.key(&second, &of_grace, "human")),
            Word::BadProof,
        ),
        (
            "another recovery key",
            &ada,
            recovery(&scene, &second),
            Word::NotPermitted,
        ),
        (
            "every administrator ends",
            &ada,
            json!({"operators": [{"id": of_ada, "keys": []}, {"id": of_grace, "keys": []}]}),
            Word::LastAdmin,
        ),
    ];
    let before = known(&scene);
    for (what, by, change, word) in table {
        assert_eq!(scene.write(by, &change).await, word, "{what}");
    }
    assert_eq!(before, known(&scene));
    assert_eq!(
        scene.write(&ada, &scene.newcomer(&nan, "Nan")).await,
        Word::Ok
    );
    let low_risk = |ask: countersign_sdk::Ask| ask.risk(Risk::Low);
    let denies = Attempt {
        verdict: "deny",
        ..Attempt::of(Hand::Key(&low))
    };
    outcomes(
        &scene,
        vec![
            (Attempt::of(Hand::Key(&gone)), "unknown_key"),
            (Attempt::of(Hand::Key(&second)), "unknown_key"),
            (Attempt::of(Hand::Key(&lin)), "unknown_key"),
            (Attempt::of(Hand::Key(&auto)), "wrong_role"),
            (Attempt::of(Hand::Key(&low)), "beyond_limit"),
            (Attempt::of(Hand::Key(&low)).about(low_risk), "runs"),
            (denies, "deny"),
            (Attempt::of(Hand::Key(&nan)), "runs"),
        ],
    )
    .await;
    scene.goes_on().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_has_one_voice_and_a_phone_stays_within_its_limits() {
    let mut scene = Scene::open().await;
    let (ada, heidi, kay) = (
        scene.ada(),
        scene.let_in("Heidi", json!({})).await,
        scene.let_in("Kay", json!({})).await,
    );
    let (desk, realm) = (KeyPair::new_user(), *scene.log.realm());
    let [phone, old, lent] = [Phone::new(), Phone::new(), Phone::new()];
    let id = text(&heidi);
    for (key, word) in [
        (scene.key(&desk, &id, "human"), Word::Ok),
        (phone.listed(&realm, &id, FAR), Word::Ok),
        (
            old.listed(&realm, &id, "2026-01-01T00:00:00.000Z"),
            Word::Ok,
        ),
        // It consented to be Kay's.
        (lent.listed(&realm, &text(&kay), FAR), Word::Ok),
    ] {
        let change = scene.with_key(&id, &key);
        assert_eq!(scene.write(&heidi, &change).await, word);
    }
    let stolen = scene.with_key(&text(&kay), &phone.listed(&realm, &text(&kay), FAR));
    assert_eq!(scene.write(&kay, &stolen).await, Word::KeyTaken);
    let medium = |ask: countersign_sdk::Ask| ask.risk(Risk::Medium);
    let by_phone = || Attempt::of(Hand::Phone(&phone));
    let two = |other| Attempt::of_two(Hand::Key(&ada), vec![Hand::Key(&ada), other]);
    let own = |other| Attempt::of_two(Hand::Key(&heidi), vec![Hand::Key(&heidi), other]);
    let denies = Attempt {
        verdict: "deny",
        ..by_phone().about(|ask| ask.risk(Risk::Critical))
    };
    outcomes(
        &scene,
        vec![
            (own(Hand::Key(&desk)), "too_few_votes"),
            (own(Hand::Phone(&phone)), "too_few_votes"),
            (two(Hand::Key(&desk)), "runs"),
            (two(Hand::Phone(&phone)), "runs"),
            (by_phone().about(medium), "runs"),
            (denies, "deny"),
            (by_phone(), "device_limit"),
            (
                by_phone().about(|ask| ask.risk(Risk::Critical)),
                "device_limit",
            ),
            (Attempt::of(Hand::Phone(&old)).about(medium), "unknown_key"),
            (
                Attempt::of(Hand::Phone(&lent)).about(medium),
                "bad_signature",
            ),
        ],
    )
    .await;
    // An agent that does not check passkeys.
    let agent = Agent::connect(
        scene
            .desk
            .app
            .enroll(&"acme/plain".parse().unwrap())
            .await
            .unwrap(),
    )
    .await;
    let key = agent.ask(&agent.request("r1")).await;
    let denial = Attempt {
        verdict: "deny",
        ..by_phone()
    };
    scene.decide(&key, &denial).await;
    for app in [&scene.desk.app, &scene.grace] {
        in_state(app, "r1", "void").await;
    }
    // With its holder's end it counts for nothing.
    scene.end(&heidi).await;
    outcomes(
        &scene,
        vec![
            (by_phone().about(medium), "unknown_key"),
            (two(Hand::Phone(&phone)), "too_few_votes"),
        ],
    )
    .await;
    scene.goes_on().await;
    scene.close().await;
}

/// The agent was busy, and looks only after somebody has left: the call does not run, and the history keeps it.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_somebody_who_has_left_is_history_and_does_not_run() {
    let mut scene = Scene::open().await;
    let heidi = scene.let_in("Heidi", json!({})).await;
    let id = Uuid::now_v7().to_string();
    let mut asking = Box::pin(scene.gate.ask(call().request_id(id.parse().unwrap())));
    tokio::select! {
        _ = &mut asking => panic!("nobody has decided"),
        _ = listed(&scene.grace, &id) => {}
    }
    let by_heidi = Attempt::of(Hand::Key(&heidi));
    scene.decide(&scene.key_of(&id), &by_heidi).await;
    in_state(&scene.grace, &id, "decided").await;
    let leaves = end(&text(&heidi));
    assert_eq!(scene.write(&heidi, &leaves).await, Word::Ok);
    assert_eq!(
        asking.await.unwrap().fault().map(|fault| fault.as_str()),
        Some("unknown_key")
    );
    for app in [&scene.desk.app, &scene.grace] {
        let line = in_state(app, &id, "decided").await;
        assert_eq!(line.verdict.as_deref(), Some("approve"));
    }
    scene.goes_on().await;
    scene.close().await;
}

/// Whoever comes back is somebody new, whatever the name.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_returns_is_a_new_operator_with_a_new_key() {
    let scene = Scene::open().await;
    let old = PublicKey::of(&scene.grace.identity().signing().human).unwrap();
    let app = &scene.desk.app;
    assert!(
        app.change_operators(&retirement(&old))
            .await
            .unwrap()
            .changed
    );
    sees(&scene.grace, &old, ListedState::Ended).await;
    let data = TempData::new();
    let again = colleague(&scene.desk, &data, "Grace").await;
    let new = again.identity().human_key();
    sees(app, &new, ListedState::InForce).await;
    let back = app.change_operators(&acceptance(&old)).await.unwrap_err();
    assert_eq!(back.code.as_str(), "invalid_args");
    assert!(scene.approved(&scene.gate, &again).await.allowed());
    again.shutdown().await;
    scene.close().await;
}
