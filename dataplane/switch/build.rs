//! Generates the P4Runtime messages from the .proto files that the finsy wheel carries.

use std::error::Error;
use std::path::{Path, PathBuf};

const CURE: &str =
    "run `make setup` in the repository's root, or set GROUPFLOW_PROTO_DIR to finsy's proto folder";

const COMPILED: [&str; 2] = ["p4/v1/p4runtime.proto", "google/rpc/status.proto"];
const IMPORTED: [&str; 3] = ["p4/v1/p4data.proto", "p4/config/v1/p4info.proto", "p4/config/v1/p4types.proto"];

fn main() {
    if let Err(error) = generate() {
        eprintln!("groupflow-switch: {error}");
        std::process::exit(1);
    }
}

fn generate() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=GROUPFLOW_PROTO_DIR");
    let root = proto_root()?;
    for file in COMPILED.iter().chain(&IMPORTED).map(|name| root.join(name)) {
        if !file.is_file() {
            return Err(format!("{} is missing: {CURE}", file.display()).into());
        }
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let shell = std::env::var_os("CARGO_FEATURE_SHELL").is_some();
    let descriptors = PathBuf::from(std::env::var("OUT_DIR")?).join("p4runtime.bin");
    tonic_build::configure()
        .build_server(shell)
        .build_client(shell)
        .extern_path(".p4.v1.ReadResponse", "crate::proto::ReadResponse")
        .file_descriptor_set_path(descriptors)
        // It would watch the whole folder, where Python stores compiled modules, and build everything again.
        .emit_rerun_if_changed(false)
        .compile_protos(&COMPILED.map(|name| root.join(name)), &[root])
        .map_err(|error| format!("{error} (protoc is in Debian's protobuf-compiler; {CURE})").into())
}

/// The include root: the environment's, or that of the wheel in the repository's virtual environment, which
/// is relative to this crate: Cargo compares the names of watched files, and would build everything again in
/// a copied checkout.
fn proto_root() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(dir) = std::env::var_os("GROUPFLOW_PROTO_DIR") {
        return Ok(PathBuf::from(dir));
    }
    let lib = Path::new("../../.venv/lib");
    let entries = std::fs::read_dir(lib).map_err(|_| format!("{} is missing: {CURE}", lib.display()))?;
    for entry in entries {
        let candidate = entry?.path().join("site-packages/finsy/proto");
        if candidate.is_dir() {
            return Ok(candidate);
        }
    }
    Err(format!("no finsy in {}: {CURE}", lib.display()).into())
}
