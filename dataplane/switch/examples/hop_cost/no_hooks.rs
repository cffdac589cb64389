//! `hop_cost` of a build without the code of traces and captures: `--features no-hooks`.

#[path = "../hop_cost.rs"]
mod hop_cost;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hop_cost::main()
}
