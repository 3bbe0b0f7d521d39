//! Traces for the page.
//!
//! Refuses to take a span for a fact, to draw what its bytes are not, and to hand over more than a
//! page can hold: of what is long the beginning is shown, and that it is cut is said.

mod cut;
mod fault;
mod glance;
mod image;
mod lines;
mod list;
mod parts;
mod span;
mod subchats;

pub(crate) use glance::Glances;
pub(super) use image::image;
pub(crate) use lines::{led_here, trace_tree};
pub(crate) use list::trace_row;
pub(crate) use span::span_view;
