//! What a calibration runs, in which order, and what it leaves out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_wisdom::{Calibration, OperationWisdom, Plan, Way, calibrate};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, ParameterKind, ParameterSpec, Parameters, Prepared,
    Ready, Workload, WorkloadError,
};

/// A run: way, size, passes.
type Run = (u64, u64, u64);

/// Works for a microsecond per unit and pass, and writes down what was run.
struct Worker;

static LOG: Mutex<Vec<Run>> = Mutex::new(Vec::new());
/// The log is one for all tests.
static TURN: Mutex<()> = Mutex::new(());

const fn integer(name: &'static str, max: u64) -> ParameterSpec {
    ParameterSpec {
        name,
        meaning: "for the test",
        kind: ParameterKind::Integer {
            default: 1,
            min: 0,
            max,
        },
    }
}

const PARAMETERS: &[ParameterSpec] = &[
    integer("n", 1 << 30),
    integer("steps", 1000),
    integer("way", 9),
];

impl Workload for Worker {
    fn about(&self) -> About {
        About::new(
            "test/worker",
            "works for as long as its parameters say",
            PARAMETERS,
        )
        .sizes("n", &["2", "20", "200", "100000000"])
        .passes("steps")
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        Cost {
            bytes: Bytes(0),
            flops: Flops(0),
            units: parameters.integer("n"),
            unit: "unit",
        }
    }

    fn tolerance(&self, _parameters: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance::EXACT,
            because: "it computes nothing",
        }
    }

    fn prepare(&self, _device: &Device, parameters: &Parameters, _seed: u64) -> Ready {
        let [way, size, passes] = ["way", "n", "steps"].map(|name| parameters.integer(name));
        assert!(size < 1_000_000, "a minute of work was prepared");
        if way == 9 {
            return Err(WorkloadError::Unsupported {
                workload: "test/worker",
                reason: "there is no ninth way".to_owned(),
            });
        }
        Ok(Box::new(Work { way, size, passes }))
    }
}

struct Work {
    way: u64,
    size: u64,
    passes: u64,
}

impl Prepared for Work {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        LOG.lock().unwrap().push((self.way, self.size, self.passes));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(self.size * self.passes) {}
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Err(WorkloadError::Failed {
            workload: "test/worker",
            reason: "it computes nothing".to_owned(),
        })
    }
}

/// Calibrates these ways; what came of it, and what was run.
fn calibrated(ways: &[u64]) -> (Vec<OperationWisdom>, Vec<Run>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    LOG.lock().unwrap().clear();
    let device = Device::Cpu(CpuDevice::open().unwrap());
    let settings: Vec<_> = ways
        .iter()
        .map(|way| [("way".to_owned(), way.to_string())])
        .collect();
    let names: Vec<_> = ways.iter().map(u64::to_string).collect();
    let ways: Vec<_> = settings
        .iter()
        .zip(&names)
        .map(|(settings, name)| Way {
            backend: name,
            device: &device,
            settings,
        })
        .collect();
    let plan = Plan::of(&Worker).unwrap();
    let known = calibrate(&Worker, &ways, &plan, &Calibration::default(), 7).unwrap();
    (known, LOG.lock().unwrap().clone())
}

#[test]
fn ways_take_turns_and_sizes_are_come_back_to() {
    let (known, runs) = calibrated(&[1, 2]);
    assert_eq!(known.len(), 2);
    for (wisdom, name) in known.iter().zip(["1", "2"]) {
        assert_eq!((wisdom.backend.as_str(), wisdom.unix), (name, 7));
        assert!(wisdom.points.len() >= 2);
        // Nothing is faster than the work that it consists of.
        for point in &wisdom.points {
            assert!(
                point.start + point.pass >= 0.99e-6 * point.size,
                "{point:?}"
            );
        }
    }
    let at = |wanted: Run| -> Vec<usize> {
        let places = runs.iter().enumerate();
        places
            .filter(|(_, run)| **run == wanted)
            .map(|(at, _)| at)
            .collect()
    };
    for passes in [1, 9] {
        let (one, other) = (at((1, 2, passes)), at((2, 2, passes)));
        assert!(one.len() > 3 && other.len() > 3, "{} runs", one.len());
        // Neither had all of its runs before the other began.
        assert!(one[one.len() - 1] > other[0] && other[other.len() - 1] > one[0]);
        let larger = at((1, 20, passes));
        assert!(one[one.len() - 1] > larger[0], "the small size came again");
    }
}

#[test]
fn a_size_beyond_the_budget_is_not_even_prepared_and_a_way_without_a_form_is_left_out() {
    let (known, runs) = calibrated(&[9, 3]);
    assert_eq!(known.len(), 1);
    assert_eq!(known[0].backend, "3");
    assert!(runs.iter().all(|&(way, size, _)| way == 3 && size <= 200));
    assert!(calibrated(&[9]).0.is_empty());
}
