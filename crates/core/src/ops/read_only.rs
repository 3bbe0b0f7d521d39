//! Whether the bus is the one that this folder's console remembers (protocol, section 1, "Epoch").
//!
//! Refuses to write to any other, also from a command beside the console that found out.

use crate::error::OpError;
use crate::runtime::{App, Role};
use crate::store::meta;

impl App {
    /// Nothing, where what stands on the bus may be changed.
    ///
    /// # Errors
    /// [`OpError::ReadOnly`] with the reason; [`OpError::Store`].
    pub(super) async fn knows_the_bus(&self) -> Result<(), OpError> {
        let why = match self.role() {
            Role::Console => self.health().borrow().read_only.clone(),
            // The console of the folder compares, and leaves what it found in the store.
            Role::Beside | Role::Reader => meta::get(self.reader(), meta::READ_ONLY)
                .await?
                .filter(|why| !why.is_empty()),
        };
        why.map_or(Ok(()), |why| Err(OpError::ReadOnly(why)))
    }
}
