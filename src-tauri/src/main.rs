//! The `countersign` program.

/// What the bus hands over on one thread is let go of on another; glibc's allocator takes a fifth of
/// the processor for that.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    countersign::cli::main()
}
