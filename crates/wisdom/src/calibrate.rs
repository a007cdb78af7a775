//! Measuring: each operation at a few sizes in each way, in turns.
//!
//! Noise only ever adds time, and comes in bursts. So the least of several runs counts, the ways of
//! an operation take turns, and sizes are come back to: a burst then hits all alternatives alike, and
//! not all runs of one. What time is left goes to close calls: a way that takes three times as long
//! as the best is not measured more precisely.
//!
//! Wall time, not the CPU time of threads: a thread that waits for its core leaves its share of the
//! work to the others, which then look as if they had needed it all.
//!
//! Invariants: preparing counts against the budget, except for the first on a GPU, which may compile;
//! beyond it only the first size is measured, and the second where it is expected to take no longer
//! than the budget itself.

use std::time::{Duration, Instant};

use warpsmith_device::{CudaDevice, Device, DeviceError, PinnedBuffer};
use warpsmith_workload::{BadParameter, Parameters, Prepared, Workload, WorkloadError};

use super::error::ChooserError;
use super::observe::Correction;
use super::profile::Bus;
use super::wisdom::{OperationWisdom, Point};

/// How an operation is calibrated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The parameter that sets the size.
    pub size_parameter: &'static str,
    /// Its values, rising, as they would be typed.
    pub sizes: Vec<String>,
    /// The parameter that sets the number of passes, where there is one.
    pub passes_parameter: Option<&'static str>,
}

impl Plan {
    /// At the workload's own sizes; `None` where it names none.
    pub fn of(workload: &dyn Workload) -> Option<Self> {
        let sizes = workload.sizes()?;
        Some(Self {
            size_parameter: sizes.parameter,
            sizes: sizes.values.iter().map(|&size| size.to_owned()).collect(),
            passes_parameter: workload.passes(),
        })
    }

    /// The workload's parameters at a size.
    fn parameters(
        &self,
        workload: &dyn Workload,
        settings: &[(String, String)],
        size: &str,
        passes: u64,
    ) -> Result<Parameters, BadParameter> {
        let mut settings = settings.to_vec();
        settings.push((self.size_parameter.to_owned(), size.to_owned()));
        if let Some(parameter) = self.passes_parameter {
            settings.push((parameter.to_owned(), passes.to_string()));
        }
        Parameters::resolve(workload.parameters(), &settings)
    }
}

/// A way to run an operation, that is an alternative to others.
#[derive(Clone, Copy, Debug)]
pub struct Way<'way> {
    /// What it is called.
    pub backend: &'way str,
    /// Where it runs.
    pub device: &'way Device,
    /// Parameters that make it this way.
    pub settings: &'way [(String, String)],
}

/// How long a calibration may take.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    /// For one operation in one way, preparing included.
    pub budget: Duration,
    /// Two runs that are this close agree.
    pub agreement: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            budget: Duration::from_millis(300),
            agreement: 0.03,
        }
    }
}

/// Passes of a run while calibrating: one, and enough to tell a pass from the fixed part.
const FEW: u64 = 1;
const MANY: u64 = 9;
/// Share of the budget for a first look at the sizes; the rest is for coming back.
const FIRST_LOOK: f64 = 0.6;
/// Runs at a size each time it is come to: the first of them finds cold caches.
const TURN: u32 = 3;
/// Runs that a size gets, however well the first ones agree.
const LEAST_RUNS: u32 = 4 * TURN;
/// Times as long as the best: no noise makes up for that.
const HOPELESS: f64 = 3.0;

/// Measures `workload` in each way, in turns. A way that has no form here is left out, and so are
/// sizes that do not fit into memory or into the budget.
pub fn calibrate(
    workload: &dyn Workload,
    ways: &[Way<'_>],
    plan: &Plan,
    calibration: &Calibration,
    unix: u64,
) -> Result<Vec<OperationWisdom>, ChooserError> {
    for way in ways {
        load(workload, plan, way);
    }
    let begun = Instant::now();
    let budget = calibration.budget.as_secs_f64() * ways.len() as f64;
    let mut tracks: Vec<Track<'_>> = ways.iter().map(Track::new).collect();
    let mut last: Option<(f64, f64)> = None;
    for (index, size) in plan.sizes.iter().enumerate() {
        let one_pass = plan.parameters(workload, &[], size, FEW);
        let units = workload.cost(&one_pass.map_err(WorkloadError::from)?).units as f64;
        if let Some((units_before, seconds_before)) = last {
            let expected = seconds_before * units / units_before.max(1.0);
            let spent = begun.elapsed().as_secs_f64();
            if expected > budget || (index > 1 && spent + expected > FIRST_LOOK * budget) {
                break;
            }
        }
        let came = Instant::now();
        for track in &mut tracks {
            track.look(workload, plan, size, units, budget)?;
        }
        last = Some((units, came.elapsed().as_secs_f64()));
    }
    let until = begun + Duration::from_secs_f64(budget);
    while Instant::now() < until {
        let mut busy = false;
        for index in 0..plan.sizes.len() {
            let best = best_at(&tracks, index);
            for track in &mut tracks {
                let settled = track.is_settled(index, best, calibration.agreement);
                if Instant::now() < until && !settled {
                    track.look_again(index)?;
                    busy = true;
                }
            }
        }
        if !busy {
            break;
        }
    }
    Ok(tracks
        .into_iter()
        .filter(|track| !track.spots.is_empty())
        .map(|track| OperationWisdom {
            operation: workload.id().to_owned(),
            backend: track.way.backend.to_owned(),
            unix,
            points: track.spots.iter().map(Spot::point).collect(),
            correction: Correction::default(),
        })
        .collect())
}

/// Loads what a GPU needs, which can take longer than all measuring and says nothing about larger
/// sizes. What fails here fails again where it is looked at.
fn load(workload: &dyn Workload, plan: &Plan, way: &Way<'_>) -> Option<()> {
    way.device.cuda()?;
    let parameters = plan.parameters(workload, way.settings, plan.sizes.first()?, FEW);
    let prepared = workload.prepare(way.device, &parameters.ok()?, 1).ok()?;
    let mut timed = Timed {
        prepared: Some(prepared),
        least: [f64::INFINITY; 2],
        runs: 0,
    };
    timed.run().ok().map(drop)
}

/// The least time of any way at a size, for few passes and for many.
fn best_at(tracks: &[Track<'_>], index: usize) -> [f64; 2] {
    [0, 1].map(|nth| {
        let times = tracks.iter().filter_map(|track| {
            let timed = track.spots.get(index)?.runs.get(nth)?;
            Some(timed.least[0])
        });
        times.fold(f64::INFINITY, f64::min)
    })
}

/// One way, at the sizes that were come to so far.
struct Track<'way> {
    way: &'way Way<'way>,
    spots: Vec<Spot>,
    /// Larger sizes do not fit.
    ended: bool,
}

/// One size in one way.
struct Spot {
    units: f64,
    /// A run of few passes, and one of many where the workload has passes.
    runs: Vec<Timed>,
}

/// A run and the least times that it took.
struct Timed {
    /// Gone where another look would take too long.
    prepared: Option<Box<dyn Prepared>>,
    least: [f64; 2],
    runs: u32,
}

impl<'way> Track<'way> {
    fn new(way: &'way Way<'way>) -> Self {
        Self {
            way,
            spots: Vec::new(),
            ended: false,
        }
    }

    /// Comes to a size for the first time.
    fn look(
        &mut self,
        workload: &dyn Workload,
        plan: &Plan,
        size: &str,
        units: f64,
        budget: f64,
    ) -> Result<(), ChooserError> {
        if self.ended {
            return Ok(());
        }
        let all_passes: &[u64] = match plan.passes_parameter {
            Some(_) => &[FEW, MANY],
            None => &[FEW],
        };
        let timed = |&passes: &u64| -> Result<Timed, WorkloadError> {
            let parameters = plan.parameters(workload, self.way.settings, size, passes)?;
            let mut timed = Timed {
                prepared: Some(workload.prepare(self.way.device, &parameters, 1)?),
                least: [f64::INFINITY; 2],
                runs: 0,
            };
            // Warms things up, and does not count unless it took so long that once must do.
            let first = timed.run()?;
            if first > 0.2 * budget {
                timed.note(first);
            } else {
                timed.turn(1)?;
            }
            if first > 0.05 * budget {
                timed.prepared = None;
            }
            Ok(timed)
        };
        match all_passes.iter().map(timed).collect() {
            Ok(runs) => self.spots.push(Spot { units, runs }),
            // What does not fit is not measured; the choice will not offer it either.
            Err(WorkloadError::Device(
                DeviceError::OutOfMemory { .. } | DeviceError::OutOfHostMemory { .. },
            )) if !self.spots.is_empty() => self.ended = true,
            // What has no form for a device is never placed there.
            Err(WorkloadError::Unsupported { .. }) => self.ended = true,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Comes to a size again.
    fn look_again(&mut self, index: usize) -> Result<(), WorkloadError> {
        for timed in self
            .spots
            .get_mut(index)
            .into_iter()
            .flat_map(|spot| &mut spot.runs)
        {
            timed.turn(TURN)?;
        }
        Ok(())
    }

    /// Whether looking again at a size is of no use. A size that took longer than the next larger
    /// one was most likely disturbed.
    fn is_settled(&self, index: usize, best: [f64; 2], agreement: f64) -> bool {
        let Some(spot) = self.spots.get(index) else {
            return true;
        };
        let larger = self.spots.get(index + 1);
        spot.runs.iter().enumerate().all(|(nth, timed)| {
            let [least, second] = timed.least;
            timed.prepared.is_none()
                || least > HOPELESS * best[nth]
                || timed.runs >= LEAST_RUNS
                    && second <= (1.0 + agreement) * least
                    && larger.is_none_or(|larger| least <= larger.runs[nth].least[0])
        })
    }
}

impl Spot {
    fn point(&self) -> Point {
        let few = self.runs[0].least[0];
        let (pass, start) = match self.runs.get(1) {
            None => (few, 0.0),
            Some(many) => {
                let many = many.least[0];
                // Noise can make nine passes look shorter than one.
                let pass = ((many - few) / (MANY - FEW) as f64).max(many / MANY as f64 * 0.2);
                (pass, few - pass)
            }
        };
        Point {
            size: self.units,
            // A start below the clock's resolution is one nobody notices.
            start: start.max(1e-9),
            pass: pass.max(1e-9),
        }
    }
}

impl Timed {
    /// Seconds from the call to the end of the wait.
    fn run(&mut self) -> Result<f64, WorkloadError> {
        let Some(prepared) = &mut self.prepared else {
            return Ok(f64::INFINITY);
        };
        let begun = Instant::now();
        prepared.run_once()?;
        if let Some(stream) = prepared.stream() {
            stream.synchronize()?;
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    fn turn(&mut self, runs: u32) -> Result<(), WorkloadError> {
        for _ in 0..runs {
            let seconds = self.run()?;
            self.note(seconds);
        }
        Ok(())
    }

    fn note(&mut self, seconds: f64) {
        self.runs += 1;
        if seconds < self.least[0] {
            self.least = [seconds, self.least[0]];
        } else if seconds < self.least[1] {
            self.least[1] = seconds;
        }
    }
}

impl Bus {
    /// Measures copies of pinned memory to a GPU and back, at a small and at a large size.
    pub fn measure(gpu: &CudaDevice) -> Result<[Self; 2], DeviceError> {
        const SMALL: usize = 1 << 16;
        const LARGE: usize = 1 << 25;
        let stream = gpu.stream();
        let timed = |bytes: usize, to_device: bool| -> Result<f64, DeviceError> {
            let mut host = PinnedBuffer::<u8>::new(gpu, bytes)?;
            let mut device = gpu.alloc::<u8>(bytes)?;
            let mut least = f64::INFINITY;
            for _ in 0..8 {
                let begun = Instant::now();
                if to_device {
                    stream.copy_to_device(&host, &mut device)?;
                } else {
                    stream.copy_to_host(&device, &mut host)?;
                }
                stream.synchronize()?;
                least = least.min(begun.elapsed().as_secs_f64());
            }
            Ok(least)
        };
        let bus = |to_device: bool| -> Result<Self, DeviceError> {
            let (small, large) = (timed(SMALL, to_device)?, timed(LARGE, to_device)?);
            let rate = (LARGE - SMALL) as f64 / (large - small).max(1e-9);
            Ok(Self {
                latency: (small - SMALL as f64 / rate).max(0.0),
                rate,
            })
        };
        Ok([bus(true)?, bus(false)?])
    }
}
