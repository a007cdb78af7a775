//! CPU/GPU parity: the same fresh random inputs on both, poisoned outputs, and a comparison within
//! the workload's own tolerance. The CPU itself is compared with the workload's definition.

use serde::{Deserialize, Serialize};
use warpsmith_core::Agreement;
use warpsmith_device::Device;
use warpsmith_workload::{Definition, Output, Parameters, Prepared, Workload, WorkloadError};

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
    worst_of(seeds, |seed| {
        let expected = run_poisoned(workload, reference, parameters, seed)?;
        let actual = run_poisoned(workload, device, parameters, seed)?;
        if expected.is_empty() {
            return Ok(Err("the reference has no output"));
        }
        let agreement = actual.compare(&expected, tolerance);
        Ok(agreement.ok_or("the element types differ"))
    })
}

/// Compares `device` with what `definition` makes of the inputs of each seed, in the same way.
pub fn check_definition(
    workload: &dyn Workload,
    definition: &Definition,
    device: &Device,
    parameters: &Parameters,
    seeds: &[u64],
) -> Result<Parity, WorkloadError> {
    worst_of(seeds, |seed| {
        let mut prepared = workload.prepare(device, parameters, seed)?;
        // Before the run, which may be in place.
        let inputs: Vec<Vec<f64>> = prepared.inputs().iter().map(Output::numbers).collect();
        if inputs.is_empty() {
            return Ok(Err("the workload does not say what it reads"));
        }
        let actual = output_of_first_run(prepared.as_mut())?;
        let expected = (definition.results)(parameters, &inputs);
        if expected.is_empty() {
            return Ok(Err("the definition has no results"));
        }
        Ok(Ok(actual.compare_with_exact(
            &expected,
            definition.tolerance.tolerance,
        )))
    })
}

/// The seed that agrees worst, or the first that does not; `compare` may also say why there is nothing to
/// compare.
fn worst_of(
    seeds: &[u64],
    mut compare: impl FnMut(u64) -> Result<Result<Agreement, &'static str>, WorkloadError>,
) -> Result<Parity, WorkloadError> {
    let mut worst = Agreement::default();
    for &seed in seeds {
        let agreement = match compare(seed)? {
            Ok(agreement) => agreement,
            Err(reason) => {
                return Ok(Parity::Incomparable {
                    reason: reason.into(),
                });
            }
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
    prepared.set_limit(DeviceTimer::LIMIT);
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

    /// How a run of [`Multiples`] goes wrong.
    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        None,
        /// Leaves the last element as it was.
        Forgets,
        /// Reads one factor wrongly.
        OneFactorOff,
    }

    /// Multiples of the seed.
    struct Multiples(Fault);

    struct Ready {
        seed: f32,
        factors: Vec<f32>,
        fault: Fault,
        output: Vec<f32>,
    }

    impl Workload for Multiples {
        fn about(&self) -> About {
            About::new("test/multiples", "", &[])
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
            Ok(Box::new(Ready {
                seed: seed as f32,
                factors: vec![0.0, 1.0, 2.0, 3.0],
                fault: self.0,
                output: vec![0.0; 4],
            }))
        }
    }

    impl Prepared for Ready {
        fn run_once(&mut self) -> Result<(), WorkloadError> {
            let mut factors = self.factors.clone();
            if self.fault == Fault::OneFactorOff {
                factors[2] = factors[2].next_up();
            }
            let written = factors.len() - usize::from(self.fault == Fault::Forgets);
            for (value, factor) in self.output[..written].iter_mut().zip(factors) {
                *value = self.seed * factor;
            }
            Ok(())
        }
        fn inputs(&self) -> Vec<Output> {
            vec![
                Output::F32(vec![self.seed]),
                Output::F32(self.factors.clone()),
            ]
        }
        result_in_memory!(output: F32, f32::NAN);
    }

    fn check(fault: Fault) -> Parity {
        let cpu = Device::open(DeviceChoice::Cpu).unwrap();
        let parameters = Parameters::default();
        check_parity(&Multiples(fault), &cpu, &cpu, &parameters, &[1, 2, 3]).unwrap()
    }

    fn prove(fault: Fault) -> Parity {
        let cpu = Device::open(DeviceChoice::Cpu).unwrap();
        let definition = Definition {
            results: |_, inputs| inputs[1].iter().map(|x| inputs[0][0] * x).collect(),
            tolerance: ArguedTolerance::exact("integers"),
        };
        let parameters = Parameters::default();
        let seeds = [1, 2, 3];
        check_definition(&Multiples(fault), &definition, &cpu, &parameters, &seeds).unwrap()
    }

    #[test]
    fn a_workload_agrees_with_itself_and_with_its_definition() {
        for parity in [check(Fault::None), prove(Fault::None)] {
            assert!(matches!(parity, Parity::Agrees { seeds: 3, .. }));
        }
    }

    #[test]
    fn an_element_that_is_never_written_shows_as_poison() {
        for parity in [check(Fault::Forgets), prove(Fault::Forgets)] {
            let Parity::Disagrees { agreement, seed: 1 } = &parity else {
                panic!("{parity:?}")
            };
            assert_eq!(agreement.first.as_ref().unwrap().index, 3);
            let finding =
                crate::findings::of_parity("test/multiples", "test/multiples", &parity).unwrap();
            assert_eq!(finding.code, "M050");
            assert!(finding.message.contains("the time says nothing"));
        }
        let fine = crate::findings::of_parity("test/multiples", "", &check(Fault::None));
        assert!(fine.is_none());
    }

    #[test]
    fn a_factor_that_is_one_bit_off_shows_beside_the_definition_alone() {
        assert!(check(Fault::OneFactorOff).holds());
        let Parity::Disagrees { agreement, .. } = prove(Fault::OneFactorOff) else {
            panic!()
        };
        assert_eq!((agreement.disagreeing, agreement.max_ulp), (1, 1));
    }
}
