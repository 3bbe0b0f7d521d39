//! A data folder at work without its bus: for what concerns the store alone.
//!
//! It neither starts a server, projects nor releases: whoever needs these starts a console.

use std::sync::Arc;

use super::start::{Parts, assemble, own, parts};
use super::writing::start_writer;
use super::{App, Options, Role};
use crate::Fault;
use crate::data_dir::{DataDir, no_console};
use crate::identity::Identity;
use crate::store;

impl App {
    /// Works on the store of a data folder, beside its running console or in its place, without the bus.
    ///
    /// # Errors
    /// `ErrorCode::Environment` when the folder holds no data of a console; `ErrorCode::Store` when it takes no writes.
    pub async fn offline(options: Options) -> Result<Self, Fault> {
        if !options.data_dir.join("countersign.db").is_file() {
            return Err(no_console(&options.data_dir));
        }
        let data = DataDir::open(&options.data_dir)?;
        let lock = own(&data).await?;
        let identity = Identity::load(&data, &options.operator)?;
        let (writer, reader) = match &lock {
            Some(_) => store::open_telling(&data.database(), &options.updates).await?,
            None => store::open_beside(&data.database()).await?,
        };
        let Parts { shared, queues, .. } = parts(&options, identity, reader).await?;
        let app = assemble(options, data, Role::Beside, lock, Arc::clone(&shared), None);
        start_writer(&app, writer, queues).await?;
        Ok(app)
    }
}
