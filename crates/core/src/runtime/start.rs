//! From a data folder to a running application.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use countersign_realm::Registers;
use countersign_wire::ErrorCode;
use parking_lot::{Mutex, RwLock};
use serde_json::json;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::writing::start_writer;
use super::{App, Health, Inner, Options, Positions, Role, Shared, StreamPlace};
use crate::Fault;
use crate::bus::{AgentAccess, EmbeddedConfig, EmbeddedServer, POLICY_STREAM, STREAMS};
use crate::clock::{BusClock, Clock};
use crate::data_dir::{ConsoleLock, DataDir, RuntimeInfo, no_console};
use crate::identity::Identity;
use crate::ops::realm::{follow, known_log, settle};
use crate::ops::{PolicyKnown, Queues, Settlements, TrustedKeys, queues};
use crate::store::bus_stream::Position;
use crate::store::{self, Reader, agents, bus_stream, meta};

/// How long parts may take to end.
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How long a console that stops waits for its outbox.
pub(super) const QUEUE_LIMIT: Duration = Duration::from_secs(2);
pub(super) const QUEUE_LOOK: Duration = Duration::from_millis(20);
/// Of a start, for looking through the pages of the store.
const LOOK_THROUGH_LIMIT: Duration = Duration::from_millis(500);
const LOCK_LIMIT: Duration = Duration::from_secs(5);
/// Longer than a command takes that reads what happened and then decides.
const PASSING_LIMIT: Duration = Duration::from_secs(45);
const LOCK_LOOK: Duration = Duration::from_millis(25);
const EVENTS: usize = 1_024;

impl App {
    /// Starts the whole console of a data folder.
    ///
    /// An outside server may be unreachable when the folder has met it before: the console starts disconnected and
    /// keeps trying.
    ///
    /// # Errors
    /// `ErrorCode::Environment` when another console runs in this folder, keys or files cannot be used, or the bus
    /// refuses this console; `ErrorCode::BusUnreachable`.
    pub async fn start(options: Options) -> Result<Self, Fault> {
        let data = DataDir::open(&options.data_dir)?;
        let Some(lock) = own(&data).await? else {
            let by = data
                .read_runtime()
                .map(|info| format!(" (process {})", info.pid));
            return Err(Fault::environment(format!(
                "another console{} runs in {}; use its window, or set COUNTERSIGN_DATA_DIR to another folder",
                by.unwrap_or_default(),
                data.path().display()
            )));
        };
        build(options, data, Role::Console, Some(lock)).await
    }

    /// Works beside the running console of a data folder, or starts one when none runs.
    pub async fn attach(options: Options) -> Result<Self, Fault> {
        let data = DataDir::open(&options.data_dir)?;
        match own(&data).await? {
            Some(lock) => {
                let passing = Options {
                    passing: true,
                    ..options
                };
                build(passing, data, Role::Console, Some(lock)).await
            }
            None => build(options, data, Role::Beside, None).await,
        }
    }

    /// Reads a data folder. Starts no server and writes nothing; meets the bus of a running console when `with_bus` is
    /// set.
    ///
    /// # Errors
    /// `ErrorCode::Environment` when the folder holds no data of a console.
    pub async fn read(options: Options, with_bus: bool) -> Result<Self, Fault> {
        if !options.data_dir.join("countersign.db").is_file() {
            return Err(no_console(&options.data_dir));
        }
        let data = DataDir::open(&options.data_dir)?;
        let running = data.is_running();
        let reader = store::open_read_only(&data.database()).await?;
        let identity = Identity::load(&data, &options.operator)?;
        let parts = match parts(&options, identity, reader.clone()).await {
            Ok(parts) => parts,
            Err(fault) => return Err(store::newer(&reader).await?.map_or(fault, Fault::from)),
        };
        let app = assemble(options, data, Role::Reader, None, parts.shared, None);
        if with_bus && (running || app.inner.options.nats_url.is_some()) {
            app.meet_bus(&parts.clock).await;
        }
        Ok(app)
    }
}

/// Takes the folder's lock; none when a console runs in it.
///
/// A lock without a living console behind it belongs to one that is just starting or stopping, or to
/// a reader that looks for a moment. One that a command started is gone before others could work beside it.
pub(super) async fn own(data: &DataDir) -> Result<Option<ConsoleLock>, Fault> {
    let begun = tokio::time::Instant::now();
    let mut unheard = begun;
    loop {
        if let Some(lock) = data.try_lock()? {
            crate::unfinished::remove(data.path());
            return Ok(Some(lock));
        }
        match data.read_runtime().filter(RuntimeInfo::lives) {
            Some(info) if !info.passing => return Ok(None),
            Some(_) => unheard = tokio::time::Instant::now(),
            None => {}
        }
        if unheard.elapsed() >= LOCK_LIMIT || begun.elapsed() >= PASSING_LIMIT {
            return Ok(None);
        }
        tokio::time::sleep(LOCK_LOOK).await;
    }
}

pub(super) struct Parts {
    pub(super) shared: Arc<Shared>,
    clock: Arc<BusClock>,
    pub(super) queues: Queues,
}

/// What every role has: identity, keys it trusts, a clock and a reader.
pub(super) async fn parts(
    options: &Options,
    mut identity: Identity,
    reader: Reader,
) -> Result<Parts, Fault> {
    let bus_clock = BusClock::on_machine(options.machine_clock.clone());
    let clock: Arc<dyn Clock> = match &options.clock {
        Some(clock) => Arc::clone(clock),
        None => Arc::clone(&bus_clock) as Arc<dyn Clock>,
    };
    let realm = meta::get(&reader, meta::REALM)
        .await?
        .and_then(|realm| realm.parse().ok());
    let positions = bus_stream::all(&reader).await?;
    let bucket = positions.iter().find(|at| at.stream == POLICY_STREAM);
    let log = known_log(&reader, realm, &positions).await?;
    let trusted = TrustedKeys::of(log, bucket.map(|at| at.epoch.clone()));
    if options.listed_name_counts
        && let Some(name) = trusted.name(identity.human_key().as_str())
    {
        identity.operator = name;
    }
    let identity = Arc::new(identity);
    // A rotation that was cut off after its entry was written.
    follow(&identity, &trusted.log()).await;
    let (senders, queues) = queues();
    let kept = Registers::kept(&reader, |_| true).await?;
    let declared = agents::setup_schemas(&reader).await?;
    let registers = Registers::remembered(&trusted, &kept, &declared);
    let shared = Arc::new(Shared {
        identity,
        clock,
        jobs: senders.jobs,
        streams: senders.streams,
        spans: senders.spans,
        compared: watch::Sender::new(false),
        events: broadcast::Sender::new(EVENTS),
        positions: watch::Sender::new(projected(&positions)),
        health: watch::Sender::new(Health::default()),
        caught_up: watch::Sender::new(false),
        trusted,
        settlements: Settlements::default(),
        instance_id: uuid::Uuid::new_v4(),
        consoles: Arc::default(),
        policy_known: PolicyKnown::new(),
        registers: Arc::new(registers),
        replicas: options.replicas,
        requests_max_bytes: options.requests_max_bytes,
        has_own_server: options.nats_url.is_none(),
        realm: RwLock::new(realm),
        bus: watch::Sender::new(None),
        reader,
    });
    Ok(Parts {
        shared,
        clock: bus_clock,
        queues,
    })
}

/// How far the streams were projected in this folder's earlier life.
fn projected(rows: &[Position]) -> Positions {
    let place_of = |row: &Position| StreamPlace {
        epoch: row.epoch.clone(),
        next: u64::try_from(row.next_seq).unwrap_or(1),
    };
    let found = |name: &str| rows.iter().find(|row| row.stream == name).map(place_of);
    let places = STREAMS.into_iter().map(|name| (name, found(name)));
    places
        .filter_map(|(name, place)| Some((name, place?)))
        .collect()
}

pub(super) fn assemble(
    options: Options,
    data: DataDir,
    role: Role,
    lock: Option<ConsoleLock>,
    shared: Arc<Shared>,
    server: Option<EmbeddedServer>,
) -> App {
    App {
        inner: Arc::new(Inner {
            role,
            data,
            options,
            shared,
            server,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            lock: Mutex::new(lock),
            not_met: Mutex::default(),
            cut_off: Arc::default(),
            reloading: tokio::sync::Mutex::default(),
        }),
    }
}

async fn build(
    options: Options,
    data: DataDir,
    role: Role,
    lock: Option<ConsoleLock>,
) -> Result<App, Fault> {
    // Before the database: whoever finds one finds the keys too.
    let identity = match &lock {
        Some(lock) => Identity::load_or_create(&data, &options.operator, options.keys, lock)?,
        None => Identity::load(&data, &options.operator)?,
    };
    if role == Role::Console {
        store::look_through(&data.database(), LOOK_THROUGH_LIMIT).await?;
    }
    let lock_held = lock.is_some();
    let (mut writer, reader) = match lock_held {
        true => store::open_telling(&data.database(), &options.updates).await?,
        false => store::open_beside(&data.database()).await?,
    };
    if let Some(limit) = &options.page_limit {
        writer.limit_pages(Arc::clone(limit))?;
    }
    let Parts {
        shared,
        clock,
        queues,
    } = parts(&options, identity, reader).await?;
    if lock_held {
        settle(&shared.identity).await;
    }
    let server = match (role, &options.nats_url) {
        (Role::Console, None) => Some(start_server(&options, &data, &shared).await?),
        _ => None,
    };
    // Whoever ends in an orderly way removes it, and the lock says that nobody runs.
    let cut_off = server.is_some() && data.read_runtime().is_some();
    let app = assemble(options, data, role, lock, Arc::clone(&shared), server);
    app.inner.cut_off.store(cut_off, Relaxed);
    start_writer(&app, writer, queues).await?;
    if role == Role::Console {
        app.record(
            "console_start",
            shared.identity.console_id.to_string(),
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                // The bus is met after this: its time is not known yet.
                "clock": "machine",
            }),
        )
        .await?;
    }
    // Before anybody can be enrolled: it separates earlier agents from later ones.
    let noted = app.note_moved_port(true).await;
    if let Err(error) = &noted {
        tracing::warn!(%error, "who dials a former port of the server is not informed yet");
    }
    match app.connect(&clock).await {
        Ok(()) => app.recover_after_power_cut().await,
        Err(error) if error.code == ErrorCode::BusUnreachable && shared.realm().is_some() => {
            tracing::warn!(%error, "starting without the bus");
            app.clone().keep_connecting(clock);
        }
        Err(error) => {
            app.shutdown().await;
            return Err(error);
        }
    }
    if role == Role::Console {
        app.inner.tasks.spawn(app.clone().follow_store());
    }
    if role == Role::Console && !app.inner.options.retention.is_off() {
        app.inner.tasks.spawn(app.clone().keep_retention());
    }
    if app.inner.server.is_some() {
        let following = app.clone().follow_enrolments(noted.is_ok());
        app.inner.tasks.spawn(following);
        app.inner.tasks.spawn(app.clone().follow_server());
    }
    Ok(app)
}

async fn start_server(
    options: &Options,
    data: &DataDir,
    shared: &Shared,
) -> Result<EmbeddedServer, Fault> {
    let config = EmbeddedConfig {
        data_dir: data.path().to_owned(),
        binary: options.nats_server.clone(),
        console_user: shared.identity.login.public_key(),
        agents: access(&shared.reader).await?,
    };
    EmbeddedServer::start(config)
        .await
        .map_err(|error| Fault::environment(error.to_string()))
}

/// Who may log in as an agent.
pub(crate) async fn access(reader: &Reader) -> Result<Vec<AgentAccess>, Fault> {
    let rows = agents::all(reader).await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            row.key.map(|nkey| AgentAccess {
                workspace: row.ws,
                agent: row.name,
                nkey,
            })
        })
        .collect())
}
