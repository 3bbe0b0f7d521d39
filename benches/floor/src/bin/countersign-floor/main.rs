//! The floor of the bench: nats-server, async-nats and SQLite without any code of the product.
//!
//! It does all that the product's pipeline must: every request is on a write-once stream and in a committed row with an
//! audit row and the stream position before its write-once decision.

mod console;
mod store;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    countersign_floor::main(console::run).await
}
