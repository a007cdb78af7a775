//! Embeds the machine code that `cargo xtask kernels --cubins` has put into `target/kernels`, where
//! there is any. Without it the program carries PTX alone and the driver compiles it at first use.

use std::fmt::Write;
use std::path::Path;
use std::time::SystemTime;
use std::{env, fs};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&manifest).join("../../target/kernels");
    // Cargo takes a path that is missing for changed, and would compile the program again every time; so
    // there is always a folder, and a fresh one is older than this build.
    if !folder.exists()
        && fs::create_dir_all(&folder).is_ok()
        && let Ok(made) = fs::File::open(&folder)
    {
        // Where it cannot be dated back, the next build is one too many.
        let _ = made.set_modified(SystemTime::UNIX_EPOCH);
    }
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut code = String::from("&[\n");
    if let Ok(index) = fs::read_to_string(folder.join("index.json")) {
        let index: serde_json::Value = serde_json::from_str(&index).expect("xtask wrote it");
        for entry in index.as_array().expect("a list") {
            let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
            let hash: Vec<String> = text("ptx_sha256")
                .as_bytes()
                .chunks(2)
                .map(|pair| format!("0x{}", String::from_utf8_lossy(pair)))
                .collect();
            let file = folder.join(text("file"));
            let file = fs::canonicalize(&file).expect("the index names files that are there");
            writeln!(
                code,
                "warpsmith_device::EmbeddedCubin {{ module: {:?}, ptx_sha256: [{}], sm: {}, \
                 bytes: include_bytes!({:?}) }},",
                text("module"),
                hash.join(","),
                entry["sm"],
                file
            )
            .expect("writing to a string");
        }
    }
    code.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("cubins.rs"), code).expect("OUT_DIR can be written");
}
