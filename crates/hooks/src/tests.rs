#![allow(clippy::unwrap_used)]
//! Events in, steps and answers out, for all programs.

mod dialects;

use countersign_sdk::{Risk, Which};
use serde_json::Value;

use crate::call::{Phase, Step};
use crate::event::Event;
use crate::program::Program;

fn step(program: Program, event: &Value, phase: Option<Phase>) -> Result<Step, String> {
    let which = Which::new(&[], &[], &[], Risk::High).unwrap();
    let event = Event::read(event.to_string().as_bytes())?;
    program.step(&event, &which)?.at(phase)
}
