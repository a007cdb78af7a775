//! `kernels/kernels.lock`: what the committed PTX was made from and where it was found right.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::resources::Functions;
use crate::workspace;

/// The lock file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Lock {
    /// By module, `owner/stem`.
    pub(super) kernels: BTreeMap<String, LockedKernel>,
}

/// One source's entry.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LockedKernel {
    pub(super) source_sha256: String,
    pub(super) ptx_sha256: String,
    pub(super) compiler: String,
    pub(super) options: Vec<String>,
    pub(super) functions: Functions,
    /// GPUs on which parity passed with exactly this PTX.
    pub(super) verified_on: Vec<String>,
}

impl Lock {
    fn path() -> PathBuf {
        workspace::root().join("kernels/kernels.lock")
    }

    /// The committed lock; empty where there is none yet.
    pub(super) fn read() -> Result<Self> {
        let path = Self::path();
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path)?;
        serde_json::from_str(&text).with_context(|| format!("cannot read `{}`", path.display()))
    }

    pub(super) fn write(&self) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(Self::path(), text).context("cannot write `kernels.lock`")
    }

    /// Adds the GPU of a verification report to the kernels that passed there with the PTX that is
    /// locked. Returns how many.
    pub(super) fn note_verified(&mut self, report: &Path) -> Result<usize> {
        let text = fs::read_to_string(report)
            .with_context(|| format!("cannot read `{}`", report.display()))?;
        let report: VerifyReport =
            serde_json::from_str(&text).context("not a report of `warpsmith verify`")?;
        if report.verb != "verify" {
            bail!("a report of `{}`, not of `verify`", report.verb);
        }
        let mut noted = 0;
        for passed in &report.body.verified_kernels {
            if let Some(kernel) = self.kernels.get_mut(&passed.module)
                && kernel.ptx_sha256 == passed.ptx_sha256
            {
                if !kernel.verified_on.contains(&report.body.verified_on) {
                    kernel.verified_on.push(report.body.verified_on.clone());
                    kernel.verified_on.sort();
                }
                noted += 1;
            }
        }
        Ok(noted)
    }
}

/// The part of the report of `warpsmith verify` that is needed here.
#[derive(Deserialize)]
struct VerifyReport {
    verb: String,
    body: VerifyBody,
}

#[derive(Deserialize)]
struct VerifyBody {
    verified_on: String,
    verified_kernels: Vec<VerifiedKernel>,
}

#[derive(Deserialize)]
struct VerifiedKernel {
    module: String,
    ptx_sha256: String,
}

/// SHA-256 as hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
