//! The description of all this in OpenAPI 3.1, from the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::{
    AskList, AskState, DoneAnswer, FaultAnswer, ReadyAnswer, RefusedAnswer, ResponseAnswer,
    RunAnswer,
};
use crate::body::{AskBody, HelloBody, ReceiptBody, WithdrawBody};

const AT: &str = "/components/schemas";

/// The document.
#[must_use]
pub fn openapi() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = AT.into();
        settings.meta_schema = None;
    });
    let schemas = &mut SchemaGenerator::new(settings);
    let paths = paths(schemas);
    let schemas = schemas.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign gateway",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Ask a person before an agent acts. Run a call on status 200 of a claim with `run: true` and its `args`, on nothing else.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:4788" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn paths(schemas: &mut SchemaGenerator) -> Value {
    let fault = answer::<FaultAnswer>(schemas, "a fault; no call runs");
    let ask = answer::<AskState>(schemas, "the ask");
    let run = schemas.subschema_for::<RunAnswer>();
    let response = schemas.subschema_for::<ResponseAnswer>();
    let claimed = content(
        "run the call if `run` is true",
        json!({ "oneOf": [run, response] }),
    );
    let refused = schemas.subschema_for::<RefusedAnswer>();
    let other = schemas.subschema_for::<FaultAnswer>();
    let refused = content("do not run the call", json!({ "anyOf": [refused, other] }));
    let wait = query(
        "wait",
        "hold the answer back for up to so many seconds",
        0,
        55,
    );
    let id =
        json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } });
    let state = json!({
        "name": "state", "in": "query", "required": true,
        "schema": schemas.subschema_for::<crate::ask::State>(),
    });
    let limit = query("limit", "how many at most", 1, 100);
    let asks = answer::<AskList>(schemas, "asks in this state, oldest first");
    let (asked, hello) = (
        body::<AskBody>(schemas, true),
        body::<HelloBody>(schemas, true),
    );
    let (withdrawn, ran) = (
        body::<WithdrawBody>(schemas, false),
        body::<ReceiptBody>(schemas, true),
    );
    let done = answer::<DoneAnswer>(schemas, "done");
    let ready = answer::<ReadyAnswer>(schemas, "whether every agent reaches its bus");
    let open = |id: &str, answers: &[(&str, &Value)]| {
        let mut operation = operation(id, &[], None, answers, &fault);
        operation["security"] = json!([]);
        json!({ "get": operation })
    };
    let document = content("this document", json!({ "type": "object" }));
    let described = open("describe", &[("200", &document)]);
    let key = |required: bool| {
        json!({
            "name": "Idempotency-Key", "in": "header", "required": required,
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
        })
    };
    json!({
        "/v1/asks": {
            "post": operation("ask", &[key(true), wait.clone()], Some(&asked), &[("201", &ask), ("200", &ask)], &fault),
            "get": operation("list", &[state, wait.clone(), limit], None, &[("200", &asks)], &fault),
        },
        "/v1/asks/{id}": {
            "get": operation("look", &[id.clone(), wait], None, &[("200", &ask)], &fault),
        },
        "/v1/asks/{id}/claim": {
            "post": operation("claim", &[id.clone(), key(false)], None, &[("200", &claimed), ("403", &refused)], &fault),
        },
        "/v1/asks/{id}/withdraw": {
            "post": operation("withdraw", std::slice::from_ref(&id), Some(&withdrawn), &[("200", &ask)], &fault),
        },
        "/v1/asks/{id}/receipt": {
            "post": operation("report", &[id], Some(&ran), &[("200", &ask), ("202", &ask)], &fault),
        },
        "/v1/hello": { "put": operation("introduce", &[], Some(&hello), &[("200", &done)], &fault) },
        "/v1/openapi.json": described,
        "/healthz": open("health", &[("200", &done)]),
        "/readyz": open("readiness", &[("200", &ready), ("503", &ready)]),
    })
}

fn operation(
    id: &str,
    parameters: &[Value],
    body: Option<&Value>,
    answers: &[(&str, &Value)],
    fault: &Value,
) -> Value {
    let mut responses: Map<String, Value> = Map::new();
    for (status, answer) in answers {
        responses.insert((*status).to_owned(), (*answer).clone());
    }
    responses.insert("default".to_owned(), fault.clone());
    let mut operation = json!({ "operationId": id, "responses": responses });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body {
        operation["requestBody"] = body.clone();
    }
    operation
}

fn query(name: &str, about: &str, least: u64, most: u64) -> Value {
    json!({
        "name": name, "in": "query", "description": about,
        "schema": { "type": "integer", "minimum": least, "maximum": most },
    })
}

fn body<T: JsonSchema>(schemas: &mut SchemaGenerator, required: bool) -> Value {
    let schema = schemas.subschema_for::<T>();
    json!({ "required": required, "content": { "application/json": { "schema": schema } } })
}

fn answer<T: JsonSchema>(schemas: &mut SchemaGenerator, about: &str) -> Value {
    let schema = serde_json::to_value(schemas.subschema_for::<T>()).unwrap_or_default();
    content(about, schema)
}

fn content(about: &str, schema: Value) -> Value {
    json!({ "description": about, "content": { "application/json": { "schema": schema } } })
}
