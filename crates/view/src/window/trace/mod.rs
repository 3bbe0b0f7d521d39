//! Traces for the page.
//!
//! A span is a claim of its agent, and its bytes are drawn as what they are. Of a long text the beginning is shown,
//! with a mark that it is cut.

mod cut;
mod fault;
mod glance;
mod image;
mod lines;
mod list;
mod parts;
mod span;
mod subchats;

pub use glance::Glances;
pub(super) use image::image;
pub use lines::{led_here, trace_tree};
pub use list::trace_row;
pub use span::span_view;
