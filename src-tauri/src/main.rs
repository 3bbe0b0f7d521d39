//! The `countersign` program.

fn main() -> std::process::ExitCode {
    countersign::cli::main()
}
