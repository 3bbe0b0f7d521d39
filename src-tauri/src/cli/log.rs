//! The log of the program, on standard error: standard output belongs to the result.
//!
//! Details of other libraries are left out, whatever `RUST_LOG` asks for: they write whole messages, and so the
//! arguments of agents, at the levels below `info`.

use std::io::{self, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

/// What a console logs. The client library logs every connection twice; this program logs what matters of it.
pub(super) const SERVING: &str = "info,async_nats=warn";
/// A command that ends at once says everything in its result.
pub(super) const OFF: &str = "off";

/// Targets of our own crates start with this.
const OURS: &str = "countersign";

/// Starts the log; `default` holds where `RUST_LOG` is not set.
pub(super) fn start(default: &str) {
    let asked = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let colours = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colours);
    // A second call only happens in tests, where the first one remains in force.
    let _ = tracing_subscriber::registry()
        .with(asked)
        .with(filter_fn(may_be_logged))
        .with(lines)
        .try_init();
}

/// A panic is logged by its place alone: the standard library quotes the text that was cut wrongly, and that may be an
/// agent's.
pub(super) fn log_panics_by_place() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| (at.file(), at.line()));
        // With standard error gone nobody would read it.
        let _ = writeln!(io::stderr(), "{}", fault(place));
    }));
}

fn fault(place: Option<(&str, u32)>) -> String {
    let place = place.map_or_else(String::new, |(file, line)| format!(" at {file}:{line}"));
    format!(
        "countersign: an error in the program itself{place}; please report it with the version (`countersign --version`)"
    )
}

fn may_be_logged(what: &Metadata<'_>) -> bool {
    let first = what.target().split("::").next().unwrap_or_default();
    let ours = first == OURS
        || first
            .strip_prefix(OURS)
            .is_some_and(|rest| rest.starts_with('_'));
    ours || *what.level() <= Level::INFO
}
