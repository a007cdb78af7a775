//! The C library of an old Debian, unpacked from its packages: what the archive is run on.
//!
//! Nothing of it ships. The packages are checked against the hashes of their index.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::workspace::{self, output, run};

/// Where to look, oldest first: the archive has Debian 10 with glibc 2.28; where it is out of reach,
/// Debian 11 has 2.31.
const RELEASES: &[(&str, &str)] = &[
    ("https://archive.debian.org/debian", "buster"),
    ("https://deb.debian.org/debian", "bullseye"),
];
/// Packages that bring the C library and the compiler's own; the second has another name before Debian 11.
const PACKAGES: &[&str] = &["libc6", "libgcc-s1", "libgcc1"];
/// What a download may take.
const SECONDS: &str = "300";

/// An old C library.
pub(super) struct OldGlibc {
    /// As `2.28`.
    pub(super) version: String,
    /// The libraries' folder.
    pub(super) libraries: PathBuf,
    /// The Debian release that it is of.
    pub(super) release: &'static str,
}

/// The oldest that can be fetched; why not, for each that cannot.
pub(super) fn fetch() -> Result<OldGlibc, Vec<String>> {
    let mut failures = Vec::new();
    for (mirror, release) in RELEASES {
        match unpack(mirror, release) {
            Ok(found) => return Ok(found),
            Err(error) => failures.push(format!("{release}: {error:#}")),
        }
    }
    Err(failures)
}

fn unpack(mirror: &str, release: &'static str) -> Result<OldGlibc> {
    let architecture = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    let folder = workspace::target().join(format!("dist-glibc/{release}-{architecture}"));
    fs::create_dir_all(&folder)?;
    let index = folder.join("Packages.xz");
    let address = format!("{mirror}/dists/{release}/main/binary-{architecture}/Packages.xz");
    download(&address, &index)?;
    let index = output(
        Path::new("xz"),
        &["--decompress", "--stdout", text(&index)?],
    )?;
    let mut version = None;
    for package in PACKAGES {
        let Some(entry) = Entry::find(&index, package) else {
            continue;
        };
        let file = folder.join(format!("{package}.deb"));
        download(&format!("{mirror}/{}", entry.filename), &file)?;
        let hash: String = Sha256::digest(fs::read(&file)?)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if hash != entry.sha256 {
            bail!("`{}` does not have the hash of its index", entry.filename);
        }
        run("dpkg-deb", &["--extract", text(&file)?, text(&folder)?])?;
        if *package == "libc6" {
            version = entry.version.split('-').next().map(str::to_owned);
        }
    }
    let libraries = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    Ok(OldGlibc {
        version: version.context("the index has no libc6")?,
        libraries: folder.join(libraries),
        release,
    })
}

/// What is fetched once stays.
fn download(address: &str, to: &Path) -> Result<()> {
    if to.is_file() {
        return Ok(());
    }
    // Fetched beside and renamed, so that a broken download leaves nothing that looks whole.
    let partial = to.with_extension("download");
    let fetched = Command::new("curl")
        .args(["--fail", "--silent", "--show-error", "--location"])
        .args(["--connect-timeout", "20", "--max-time", SECONDS, "--output"])
        .arg(&partial)
        .arg(address)
        .output()
        .context("cannot start `curl`")?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr);
        bail!("cannot fetch {address}: {}", said.trim());
    }
    fs::rename(&partial, to)?;
    Ok(())
}

/// A package in an index.
#[derive(Debug, PartialEq)]
struct Entry<'a> {
    version: &'a str,
    filename: &'a str,
    sha256: &'a str,
}

impl<'a> Entry<'a> {
    fn find(index: &'a str, package: &str) -> Option<Self> {
        let stanza = index.split("\n\n").find(|stanza| {
            let name = field(stanza, "Package");
            name == Some(package)
        })?;
        Some(Self {
            version: field(stanza, "Version")?,
            filename: field(stanza, "Filename")?,
            sha256: field(stanza, "SHA256")?,
        })
    }
}

fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        (key == name).then_some(value)
    })
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the checkout's path is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_found_by_its_whole_name() {
        let index = "Package: libc6-dev\nVersion: 1\nFilename: a\nSHA256: b\n\n\
                     Package: libc6\nSource: glibc\nVersion: 2.28-10\nFilename: pool/libc6.deb\nSHA256: ff\n\n";
        assert_eq!(
            Entry::find(index, "libc6"),
            Some(Entry {
                version: "2.28-10",
                filename: "pool/libc6.deb",
                sha256: "ff"
            })
        );
        assert_eq!(Entry::find(index, "libc"), None);
    }
}
