//! A case at one of its sizes as something to measure.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use warpsmith_case::{
    Case, Check, Fault, Program, Scope, Settings, Source, Verdict, Verifier, size_words,
};
use warpsmith_core::{Agreement, Bytes, Flops};
use warpsmith_device::Device;
use warpsmith_measure::Parity;
use warpsmith_workload::{Cost, Prepared};

use crate::kernel::verify::case::{check_listed_apart, explain};
use warpsmith_console::global::Global;

/// A case at one size.
pub(crate) struct CaseJob {
    pub(crate) case: Arc<Case>,
    pub(crate) size: Scope,
    /// The checks of all sizes of the case, once one of them was wanted: a process for each would spend its
    /// time on a context and a reference of its own.
    checks: Arc<Mutex<Option<Vec<Check>>>>,
}

/// What came of comparing a kernel with its reference.
pub(crate) enum Checked {
    /// How it compares; `None` where there is nothing to compare with.
    Compared(Option<Parity>),
    /// It faulted, wrote outside of its arrays or did not end: to run it again would end this process.
    Faulted(String),
}

impl CaseJob {
    /// Every size that the case lists.
    pub(crate) fn all(file: &Path) -> Result<Vec<Self>> {
        let case = Arc::new(Case::open(file)?);
        let sizes = case.listed_sizes(&case.first_choice())?;
        if sizes.is_empty() {
            bail!("{}: no size satisfies the constraints", file.display());
        }
        let checks = Arc::default();
        let job = |size| Self {
            case: Arc::clone(&case),
            size,
            checks: Arc::clone(&checks),
        };
        Ok(sizes.into_iter().map(job).collect())
    }

    /// Whether only a GPU can run it.
    pub(crate) fn needs_gpu(&self) -> bool {
        !matches!(self.case.source, Source::Warp(_) | Source::Callable(_))
    }

    /// `softmax rows=64 cols=1000`.
    pub(crate) fn name(&self) -> String {
        let size = size_words(&self.size, &self.case.sizes.names);
        format!("{} {size}", self.case.name()).trim_end().to_owned()
    }

    /// What one launch must at least do.
    pub(crate) fn cost(&self) -> Cost {
        let choice = self.case.first_choice();
        Cost {
            bytes: Bytes(self.case.bytes(&self.size, &choice)),
            flops: Flops(self.case.flops(&self.size, &choice)),
            units: 1,
            unit: "launch",
        }
    }

    /// Compiles, uploads and makes ready to run.
    pub(crate) fn prepare(&self, device: &Device) -> Result<Box<dyn Prepared>> {
        let prepare = || -> Result<Box<dyn Prepared>, Fault> {
            let choice = self.case.first_choice();
            let program = Program::prepare(&self.case, &choice, device, Settings::default())?;
            let instance = self.case.instance(&self.size, &choice)?;
            let contents = instance.contents(1, 0, false).map_err(Fault::Unsupported)?;
            program.prepared(&instance, &contents)
        };
        prepare().map_err(explain)
    }

    /// The kernel against its reference at this size; `None` where the case has none, or where the size
    /// is too large for one. On a GPU another process does this: a fault costs that one.
    pub(crate) fn check(&self, global: &Global, device: &Device) -> Result<Checked> {
        let choice = self.case.first_choice();
        let sizes = self.case.verification_sizes(&choice)?;
        if self.case.reference.is_none() || sizes.too_large.contains(&self.size) {
            return Ok(Checked::Compared(None));
        }
        let seed = u64::from(std::process::id());
        let apart = device.cuda().is_some() && !matches!(self.case.source, Source::Callable(_));
        let verdict = match apart {
            true => {
                let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
                let known = match checks.take() {
                    Some(known) => known,
                    None => check_listed_apart(global, &self.case, device.choice(), seed)?,
                };
                let known = checks.insert(known);
                let own = known.iter().find(|check| check.dimensions == self.size);
                let Some(check) = own else {
                    return Ok(Checked::Compared(None));
                };
                check.verdict.clone()
            }
            false => {
                Verifier::prepare(&self.case, &choice, device, Settings::default())
                    .and_then(|mut verifier| verifier.check(&self.size, seed, 0, false))
                    .map_err(explain)?
                    .verdict
            }
        };
        if apart && matches!(verdict, Verdict::Fault { .. } | Verdict::OutOfBounds { .. }) {
            return Ok(Checked::Faulted(format!(
                "{}: {}",
                self.name(),
                verdict.words()
            )));
        }
        Ok(Checked::Compared(Some(match verdict {
            Verdict::Right { outputs, .. } => Parity::Agrees {
                worst: Agreement {
                    compared: outputs.iter().map(|output| output.compared).sum(),
                    max_abs: outputs
                        .iter()
                        .map(|output| output.max_error)
                        .fold(0.0, f64::max),
                    ..Agreement::default()
                },
                seeds: 1,
            },
            verdict => Parity::Incomparable {
                reason: format!("{}: {}", self.name(), verdict.words()),
            },
        })))
    }
}
