//! CPU/GPU parity: the same fresh random inputs on both, poisoned outputs, and a comparison within
//! the workload's own tolerance.

use serde::{Deserialize, Serialize};
use warpsmith_core::Agreement;
use warpsmith_device::Device;
use warpsmith_workload::{Output, Parameters, Prepared, Workload, WorkloadError};

use crate::gpu::device_timer::DeviceTimer;

/// How a parity check ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parity {
    /// Every seed agreed.
    Agrees {
        /// The seed with the largest difference.
        worst: Agreement,
        /// How many seeds were tried.
        seeds: usize,
    },
    /// A seed did not agree.
    Disagrees {
        /// What was seen.
        agreement: Agreement,
        /// The seed that shows it.
        seed: u64,
    },
    /// The two results cannot be compared at all.
    Incomparable {
        /// Why.
        reason: String,
    },
}

impl Parity {
    /// Whether everything agreed.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Agrees { .. })
    }
}

/// Compares `device` with `reference` on the inputs of each seed. Outputs are poisoned before the
/// run, so that an element that is never written shows.
pub fn check_parity(
    workload: &dyn Workload,
    device: &Device,
    reference: &Device,
    parameters: &Parameters,
    seeds: &[u64],
) -> Result<Parity, WorkloadError> {
    let tolerance = workload.tolerance(parameters).tolerance;
    let mut worst = Agreement::default();
    for &seed in seeds {
        let expected = run_poisoned(workload, reference, parameters, seed)?;
        let actual = run_poisoned(workload, device, parameters, seed)?;
        if expected.is_empty() {
            return Ok(Parity::Incomparable {
                reason: "the reference has no output".into(),
            });
        }
        let Some(agreement) = actual.compare(&expected, tolerance) else {
            return Ok(Parity::Incomparable {
                reason: "the element types differ".into(),
            });
        };
        if !agreement.holds() {
            return Ok(Parity::Disagrees { agreement, seed });
        }
        if worst.compared == 0 || agreement.max_abs > worst.max_abs {
            worst = agreement;
        }
    }
    Ok(Parity::Agrees {
        worst,
        seeds: seeds.len(),
    })
}

fn run_poisoned(
    workload: &dyn Workload,
    device: &Device,
    parameters: &Parameters,
    seed: u64,
) -> Result<Output, WorkloadError> {
    let mut prepared = workload.prepare(device, parameters, seed)?;
    output_of_first_run(prepared.as_mut())
}

/// What the first run of `prepared` writes over poison. Later runs of a trajectory go on from there,
/// so that only first ones can be compared.
pub(crate) fn output_of_first_run(prepared: &mut dyn Prepared) -> Result<Output, WorkloadError> {
    prepared.poison()?;
    prepared.run_once()?;
    if let Some(stream) = prepared.stream() {
        stream.synchronize_within(DeviceTimer::LIMIT)?;
    }
    prepared.output()
}

#[cfg(test)]
mod tests {
    use warpsmith_core::Tolerance;
    use warpsmith_device::DeviceChoice;
    use warpsmith_workload::{About, ArguedTolerance, Cost, result_in_memory};

    use super::*;

    /// Squares the seed; `forgets` leaves the last element as it was.
    struct Squares {
        forgets: bool,
    }

    struct Ready {
        seed: f32,
        forgets: bool,
        output: Vec<f32>,
    }

    impl Workload for Squares {
        fn about(&self) -> About {
            About::new("test/squares", "", &[])
        }

        fn cost(&self, _: &Parameters) -> Cost {
            Cost::default()
        }
        fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
            ArguedTolerance {
                tolerance: Tolerance::EXACT,
                because: "integers",
            }
        }
        fn prepare(
            &self,
            _: &Device,
            _: &Parameters,
            seed: u64,
        ) -> Result<Box<dyn Prepared>, WorkloadError> {
            let output = vec![0.0; 4];
            Ok(Box::new(Ready {
                seed: seed as f32,
                forgets: self.forgets,
                output,
            }))
        }
    }

    impl Prepared for Ready {
        fn run_once(&mut self) -> Result<(), WorkloadError> {
            let written = self.output.len() - usize::from(self.forgets);
            for (index, value) in self.output[..written].iter_mut().enumerate() {
                *value = self.seed * index as f32;
            }
            Ok(())
        }
        result_in_memory!(output: F32, f32::NAN);
    }

    fn check(forgets: bool) -> Parity {
        let cpu = Device::open(DeviceChoice::Cpu).unwrap();
        let parameters = Parameters::default();
        check_parity(&Squares { forgets }, &cpu, &cpu, &parameters, &[1, 2, 3]).unwrap()
    }

    #[test]
    fn a_workload_agrees_with_itself() {
        assert!(matches!(check(false), Parity::Agrees { seeds: 3, .. }));
    }

    #[test]
    fn an_element_that_is_never_written_shows_as_poison() {
        let Parity::Disagrees { agreement, seed: 1 } = check(true) else {
            panic!()
        };
        assert_eq!(agreement.first.unwrap().index, 3);
        let finding = crate::findings::of_parity("test/squares", &check(true)).unwrap();
        assert_eq!(finding.code, "M050");
        assert!(finding.message.contains("the time says nothing"));
        assert!(crate::findings::of_parity("test/squares", &check(false)).is_none());
    }
}
