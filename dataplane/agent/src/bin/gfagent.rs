//! The agent's executable.

fn main() -> std::process::ExitCode {
    groupflow_agent::main()
}
