//! The floor with the product's rows: what the agreed tables cost with no code of the product around them.
//!
//! It does not check, sign, hash, read a request or wait for the disk: what it loses to the floor, it loses to the
//! tables alone.

mod console;
mod store;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    countersign_floor::main(console::run).await
}
