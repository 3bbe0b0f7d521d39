//! The second reader: what is found, its switch, its figures.

use countersign_core::ops::reader as table;
use countersign_reader::config::read_in;
use countersign_reader::{Asker, Known};
use countersign_view::{
    IpcError, Nothing, ReaderFound, ReaderModel, ReaderTried, ReaderView, ReadersFound,
    UseReaderArgs,
};
use countersign_wire::ErrorCode;
use countersign_wire::escape;

use crate::cli::failure::Failure;
use crate::cli::reader::switch::{found, source, switch_off, switch_on, try_cards};
use crate::gui::desk::Desk;
use countersign_view::window::{fault, refuse};

pub(crate) async fn reader(desk: &Desk, _: Nothing) -> Result<ReaderView, IpcError> {
    let (state, counts) = table::figures(&desk.app).await.map_err(fault)?;
    let settings = read_in(desk.app.data().path());
    let agents = desk.app.agents().await.map_err(fault)?;
    let mut workspaces: Vec<String> = agents.into_iter().map(|of| of.workspace).collect();
    workspaces.push(desk.app.options().workspace.to_string());
    workspaces.sort();
    workspaces.dedup();
    let config = settings.as_ref().ok().and_then(Option::as_ref);
    let fault = settings.as_ref().err();
    Ok(ReaderView {
        sentence: config.map(|config| config.sentence()),
        fault: fault.map(|fault| escape(fault).plain()),
        workspaces,
        asked: counts.asked,
        failed: counts.failed,
        skipped: counts.skipped,
        marked: counts.marked,
        marked_decided: counts.marked_decided,
        marked_denied: counts.marked_denied,
        looked: counts.looked,
        looked_denied: counts.looked_denied,
        last_error: state.last_error,
        resting_ms: state
            .resting_until
            .filter(|until| *until > desk.app.now().0),
    })
}

pub(crate) async fn readers_found(_: &Desk, _: Nothing) -> Result<ReadersFound, IpcError> {
    let all = found().await.into_iter().map(|of| {
        let known = Known::ALL
            .into_iter()
            .find(|known| known.as_str() == of.name);
        let host = |model: &str| Some(known?.outside(Some(model))?.to_owned());
        let model = |name: String| ReaderModel {
            outside: host(&name),
            name,
        };
        ReaderFound {
            name: of.name.to_owned(),
            place: of.place.as_deref().map(|place| escape(place).plain()),
            outside: of.outside.map(str::to_owned),
            models: of.models.into_iter().map(model).collect(),
        }
    });
    Ok(ReadersFound {
        found: all.collect(),
    })
}

pub(crate) async fn use_reader(desk: &Desk, args: UseReaderArgs) -> Result<ReaderView, IpcError> {
    let known = Known::ALL
        .into_iter()
        .find(|known| known.as_str() == args.name);
    let host = known.and_then(|known| known.outside(args.model.as_deref()));
    if host.is_some_and(|host| host != args.typed) {
        let why = "type the host to which arguments go";
        return Err(refuse(ErrorCode::InvalidArgs, why));
    }
    let model = args.model.as_deref();
    let used = switch_on(&desk.app, &args.name, &args.workspaces, model).await;
    used.map_err(|failure| refused(&failure))?;
    reader(desk, Nothing {}).await
}

pub(crate) async fn stop_reader(desk: &Desk, _: Nothing) -> Result<ReaderView, IpcError> {
    switch_off(desk.app.data().path()).map_err(|failure| refused(&failure))?;
    reader(desk, Nothing {}).await
}

pub(crate) async fn try_reader(desk: &Desk, _: Nothing) -> Result<ReaderTried, IpcError> {
    let source = source(desk.app.data().path());
    let Ok(Some(config)) = read_in(desk.app.data().path()) else {
        return Err(refuse(ErrorCode::NotFound, "no second reader is on"));
    };
    let score = try_cards(&desk.app, &Asker::new(config, source)).await;
    let score = score.map_err(|failure| refused(&failure))?;
    Ok(ReaderTried {
        seconds: score.seconds_p50(),
        found: score.found,
        of: score.of,
        false_marks: score.false_marks,
        of_good: score.of_good,
        failed: score.failed,
        why: score.why.map(str::to_owned),
    })
}

fn refused(failure: &Failure) -> IpcError {
    refuse(ErrorCode::Failed, &failure.text())
}
