//! What a second reader made of calls, as `show`, `status` and the window print it.

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::RequestDetails;
use countersign_core::domain::reader::{ReaderFault, ReaderMark};
use countersign_core::ops::reader;
use countersign_reader::config::read_in;
use countersign_wire::json_value;
use serde_json::{Value, json};

use countersign_view::secrets::Secrets;

/// A mark, and whether its value was edited since.
type Marks = Vec<(ReaderMark, bool)>;

/// How far the reading of a request is, and its marks. None for what was never sent or skipped.
pub(crate) async fn marks_of(app: &App, story: &RequestDetails) -> Option<(String, Marks)> {
    let row = reader::of_request(app, &story.line).await.ok()??;
    let marks: Option<Vec<ReaderMark>> = row.marks.and_then(|of| serde_json::from_str(&of).ok());
    let asked = json_value(&story.line.raw).unwrap_or_default();
    let given = story.given().and_then(json_value).unwrap_or_default();
    let edited = given.get("edited_args").filter(|args| !args.is_null());
    let marks = marks.unwrap_or_default().into_iter().map(|mark| {
        let other = |args: &Value| args.pointer(&mark.at) != asked["args"].pointer(&mark.at);
        let is_edited = edited.is_some_and(other);
        (mark, is_edited)
    });
    Some((row.state, marks.collect()))
}

/// The word of a call without a row: it is in line, or no reader is there for it.
fn without_row(app: &App, story: &RequestDetails) -> &'static str {
    let line = &story.line;
    let config = read_in(app.data().path()).ok().flatten();
    let mut names = config.iter().flat_map(|config| &config.workspaces);
    let is_read = names.any(|name| name.as_ref() == line.ws);
    let waits = matches!(line.state.as_str(), "pending" | "holding");
    match is_read && waits && line.kind.as_deref() == Some("tool_call") {
        true => "asked",
        false => "off",
    }
}

/// `reader` of `show --json`.
pub(crate) async fn of_request(app: &App, story: &RequestDetails, secrets: Secrets) -> Value {
    let found = marks_of(app, story).await;
    let (state, marks) = found.unwrap_or_else(|| (without_row(app, story).to_owned(), Vec::new()));
    let findings = marks.iter().map(|(mark, is_edited)| {
        let message = secrets.sentence(&mark.message);
        let mut finding =
            json!({ "at": mark.at, "code": mark.code, "weight": "look", "message": message });
        if *is_edited {
            finding["edited"] = json!(true);
        }
        finding
    });
    json!({ "state": state, "findings": findings.collect::<Vec<_>>() })
}

/// The same for a person.
pub(crate) async fn lines_of_show(
    app: &App,
    story: &RequestDetails,
    secrets: Secrets,
) -> Vec<String> {
    let (_, marks) = marks_of(app, story).await.unwrap_or_default();
    let line = marks.iter().map(|(mark, is_edited)| {
        let (at, message) = (secrets.line(&mark.at), secrets.sentence(&mark.message));
        let since = if *is_edited {
            " (the value was edited since)"
        } else {
            ""
        };
        format!(
            "added by the reader, a machine: {} {at}: \"{message}\"{since}",
            mark.code
        )
    });
    line.collect()
}

/// `reader` of `status --json`.
pub(crate) async fn of_status(app: &App) -> Value {
    let settings = read_in(app.data().path());
    let (state, counts) = reader::figures(app).await.unwrap_or_default();
    let config = settings.as_ref().ok().and_then(Option::as_ref);
    let at = |ms: Option<i64>| ms.map(|ms| Timestamp(ms).rfc3339());
    let last_error = match &settings {
        Err(_) => Some(ReaderFault::Config.as_str().to_owned()),
        Ok(_) => state.last_error,
    };
    json!({
        "on": config.is_some(),
        "to": config.map(|config| config.to()),
        "outside": config.is_some_and(|config| config.outside().is_some()),
        "workspaces": config.map(|config| json!(config.workspaces)).unwrap_or_else(|| json!([])),
        "asked": counts.asked, "answered": counts.answered, "failed": counts.failed, "skipped": counts.skipped,
        "dropped": counts.dropped, "marked": counts.marked, "marked_denied": counts.marked_denied,
        "looked": counts.looked, "looked_denied": counts.looked_denied,
        "resting_until": at(state.resting_until.filter(|until| *until > app.now().0)),
        "last_error": last_error,
        "last_answer_at": at(state.last_answer_at),
    })
}

/// The same for a person; none where no reader is on and none was.
pub(crate) async fn sentence_of_status(app: &App) -> Option<String> {
    let settings = read_in(app.data().path());
    let of = of_status(app).await;
    let counts = format!(
        "{} asked, {} marked, {} of them denied by people ({} of {} with the console's own looks)",
        of["asked"], of["marked"], of["marked_denied"], of["looked_denied"], of["looked"]
    );
    match settings {
        Err(fault) => Some(format!("off: config.toml, {fault}")),
        Ok(Some(config)) => {
            let error = of["last_error"].as_str();
            let error = error.map(|word| format!("; the last failure: {word}"));
            let sentence = config.sentence();
            Some(format!("{sentence} {counts}{}", error.unwrap_or_default()))
        }
        Ok(None) => (of["asked"] != json!(0)).then(|| format!("off; {counts}")),
    }
}
