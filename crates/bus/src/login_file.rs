//! Logins from a file: `.creds`, and the seed of an nkey.
//!
//! Reads the file at every connection anew, because it may be renewed while the console runs. Its content is never
//! part of an error.

use super::BusError;
use async_nats::{Auth, AuthError, ConnectOptions};
use countersign_wire::{creds_jwt, creds_seed};
use nkeys::KeyPair;
use std::future::ready;
use std::path::{Path, PathBuf};

/// Logs in with a `.creds` file. Errors: `bus_bad_options`.
pub(super) fn creds(path: PathBuf) -> Result<ConnectOptions, BusError> {
    each_time(path, |path, nonce| {
        let text = read(path)?;
        let lacks = |what: &str| bad(path, format!("holds no {what}"));
        let jwt = creds_jwt(&text).ok_or_else(|| lacks("user JWT"))?;
        let seed = creds_seed(&text).ok_or_else(|| lacks("seed"))?;
        let (_, mut auth) = signed(path, seed, nonce)?;
        auth.jwt = Some(jwt.to_owned());
        Ok(auth)
    })
}

/// Logs in with the seed in a file. Errors: `bus_bad_options`.
pub(super) fn nkey(path: PathBuf) -> Result<ConnectOptions, BusError> {
    each_time(path, |path, nonce| {
        let (key, mut auth) = signed(path, read(path)?.trim(), nonce)?;
        auth.nkey = Some(key);
        Ok(auth)
    })
}

/// What is wrong with the file now is reported at once, and not as a refused login.
fn each_time(
    path: PathBuf,
    auth: fn(&Path, &[u8]) -> Result<Auth, BusError>,
) -> Result<ConnectOptions, BusError> {
    auth(&path, &[])?;
    Ok(ConnectOptions::with_auth_callback(move |nonce| {
        ready(auth(&path, &nonce).map_err(AuthError::new))
    }))
}

fn read(path: &Path) -> Result<String, BusError> {
    std::fs::read_to_string(path).map_err(|error| bad(path, error))
}

fn signed(path: &Path, seed: &str, nonce: &[u8]) -> Result<(String, Auth), BusError> {
    let no_key = |_| bad(path, "holds no valid seed of a user nkey");
    let pair = KeyPair::from_seed(seed).map_err(no_key)?;
    let mut auth = Auth::new();
    auth.signature = Some(pair.sign(nonce).map_err(no_key)?);
    Ok((pair.public_key(), auth))
}

fn bad(path: &Path, why: impl std::fmt::Display) -> BusError {
    BusError::BadOptions {
        why: format!("{}: {why}", path.display()),
    }
}
