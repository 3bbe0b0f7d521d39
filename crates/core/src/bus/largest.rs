//! The largest message that the bus takes from this console.
//!
//! Refuses to go by the server's word alone: an account or a user may take less, and then the server ends the connection
//! over a larger message, without a word on how much it had taken.

use parking_lot::Mutex;
use std::sync::Arc;

/// What is learned from messages that ended the connection; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Largest(Arc<Mutex<Sizes>>);

#[derive(Debug, Default)]
struct Sizes {
    /// Bytes of what was sent and not answered.
    on_the_way: Vec<usize>,
    most: Option<usize>,
}

/// A message on its way.
pub(super) struct OnTheWay {
    largest: Largest,
    bytes: usize,
}

impl Largest {
    /// At most so many bytes are taken; none where nothing says so.
    pub(super) fn most(&self) -> Option<usize> {
        self.0.lock().most
    }

    pub(super) fn sends(&self, bytes: usize) -> OnTheWay {
        self.0.lock().on_the_way.push(bytes);
        OnTheWay {
            largest: self.clone(),
            bytes,
        }
    }

    /// The server ended the connection over a message: the largest that was on its way is too large.
    pub(super) fn refused(&self) {
        let mut sizes = self.0.lock();
        if let Some(bytes) = sizes.on_the_way.iter().max().copied() {
            let most = bytes.saturating_sub(1);
            sizes.most = Some(sizes.most.map_or(most, |known| known.min(most)));
        }
    }
}

impl Drop for OnTheWay {
    fn drop(&mut self) {
        let mut sizes = self.largest.0.lock();
        let place = sizes.on_the_way.iter().position(|of| *of == self.bytes);
        if let Some(place) = place {
            sizes.on_the_way.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_below_the_largest_message_that_was_on_its_way_and_sinks_with_each() {
        let largest = Largest::default();
        largest.refused();
        assert_eq!(largest.most(), None, "nothing was on its way");
        let (_small, large) = (largest.sends(10), largest.sends(900));
        largest.refused();
        assert_eq!(largest.most(), Some(899));
        drop(large);
        let _again = largest.sends(800);
        largest.refused();
        assert_eq!(largest.most(), Some(799));
    }
}
