//! Reads emitted texts on standard input, separated by NUL, and writes each one's prologue, likewise.

use std::io::{Read, Write};

use warpsmith_compiler::runtime_header::prologue;

fn main() -> std::io::Result<()> {
    let mut texts = String::new();
    std::io::stdin().read_to_string(&mut texts)?;
    let prologues: Vec<String> = texts.split('\0').map(prologue).collect();
    std::io::stdout().write_all(prologues.join("\0").as_bytes())
}
