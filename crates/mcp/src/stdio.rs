//! The proxy between a client on two streams and a server that it starts.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use countersign_sdk::Which;
use futures::StreamExt as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::desk::Asker;
use crate::lines::{Line, lines, write};
use crate::message::LARGEST;
use crate::session::Session;

/// The largest message of a server, in bytes: results hold pictures.
pub(crate) const LARGEST_OF_SERVER: usize = 64 * 1024 * 1024;
/// How long a server may take to end that was asked to, or what it wrote to be read.
const ENDING: Duration = Duration::from_secs(5);

/// Relays between a client's two streams and a server's standard input and output, until the server ends or `stop` comes;
/// the server's exit code.
///
/// Errors: the server cannot be started, or sends a message that is too large.
pub async fn stdio(
    which: Which,
    console_forms: bool,
    mut asker: Asker,
    command: &[OsString],
    (from_client, to_client): (
        impl AsyncRead + Unpin + Send + 'static,
        impl AsyncWrite + Unpin + Send + 'static,
    ),
    stop: impl Future<Output = ()>,
) -> io::Result<u8> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    asker.place = asker.place.of_command(command);
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (session, queues) = Session::new(which, console_forms, asker);
    tokio::spawn(read_client(Arc::clone(&session), from_client));
    tokio::spawn(write(queues.to_server, input, session.client_gone.clone()));
    let over = tokio_util::sync::CancellationToken::new();
    let written = tokio::spawn(write_client(
        Arc::clone(&session),
        queues.to_client,
        to_client,
        over.clone(),
    ));
    let mut reading = tokio::spawn(read_server(Arc::clone(&session), output));
    let ended = tokio::select! {
        read = &mut reading => match read {
            Ok(Ok(())) => server.wait().await,
            Ok(Err(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        },
        ended = server.wait() => {
            // What it wrote last is still to be read; a process of its own may hold the pipe open for longer.
            let _ = timeout(ENDING, reading).await;
            ended
        }
        () = stop => {
            session.client_left();
            end(&mut server).await
        }
    };
    session.end().await;
    over.cancel();
    // A client that does not read is not waited for.
    let _ = timeout(ENDING, written).await;
    ended.map(code)
}

pub(crate) async fn read_client(session: Arc<Session>, from: impl AsyncRead + Unpin) {
    let mut lines = lines(from, LARGEST);
    while let Some(Ok(line)) = lines.next().await {
        match line {
            Line::Whole(line) => session.client_sent(line).await,
            Line::TooLong => session.client_sent_too_much().await,
        }
    }
    session.client_left();
}

async fn read_server(session: Arc<Session>, from: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut lines = lines(from, LARGEST_OF_SERVER);
    while let Some(line) = lines.next().await {
        match line? {
            Line::Whole(line) => session.server_sent(line).await,
            Line::TooLong => {
                let why = "the server sent a message larger than 64 MiB";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
    }
    Ok(())
}

async fn write_client(
    session: Arc<Session>,
    messages: tokio::sync::mpsc::Receiver<bytes::Bytes>,
    to: impl AsyncWrite + Unpin,
    over: tokio_util::sync::CancellationToken,
) {
    if write(messages, to, over).await.is_err() {
        session.client_left();
    }
}

/// Asks the server to end, and ends it where it does not.
async fn end(server: &mut Child) -> io::Result<ExitStatus> {
    let id = server.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id {
        // Fails only where it has ended.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
    match timeout(ENDING, server.wait()).await {
        Ok(ended) => ended,
        Err(_) => {
            server.start_kill()?;
            server.wait().await
        }
    }
}

/// As a shell reports it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
