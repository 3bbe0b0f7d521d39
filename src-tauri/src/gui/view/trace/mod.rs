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

pub(crate) use glance::Glances;
pub(super) use image::image;
pub(crate) use lines::{led_here, trace_tree};
pub(crate) use list::trace_row;
pub(crate) use span::span_view;
