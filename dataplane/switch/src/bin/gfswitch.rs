//! The `gfswitch` command.

fn main() -> std::process::ExitCode {
    groupflow_switch::shell::main()
}
