//! What choosing costs against knowing: `cargo bench -p warpsmith-wisdom --bench regret`.
//!
//! Calibrates each way of running reaction-diffusion here, then times all of them on sixty problems
//! that calibration did not see, and adds up what the choices lose against the best of each. The
//! same is printed for rules that do not measure. Times are wall times: on a machine that others use,
//! run it at a higher priority than theirs.

#![allow(clippy::print_stdout)] // A bench prints its figures.

use std::time::Instant;

use warpsmith_device::{CpuDevice, CudaDevice, Device};
use warpsmith_lattice::workloads;
use warpsmith_wisdom::{
    self as chooser, Calibration, Candidate, Chooser, Constraints, Plan, Problem, calibrate,
};
use warpsmith_workload::{Parameters, Workload};

type Failure = Box<dyn std::error::Error>;

/// A way to run the workload: name, device, settings.
struct Way {
    name: String,
    device: Device,
    settings: Vec<(String, String)>,
}

const SIZES: [u64; 10] = [5, 7, 10, 14, 20, 28, 40, 56, 80, 110];
const STEPS: [u64; 6] = [1, 3, 8, 20, 60, 200];

fn main() -> Result<(), Failure> {
    let all = workloads();
    let workload = all
        .iter()
        .find(|workload| workload.id() == "lattice/rd")
        .ok_or("the workload is there")?
        .as_ref();
    let ways = ways()?;
    let mut chooser = Chooser::new();
    let begun = Instant::now();
    let plan = Plan {
        size_parameter: "n",
        sizes: [4, 6, 9, 13, 18, 26, 36, 52, 74, 104, 128]
            .map(|n: u64| n.to_string())
            .to_vec(),
        passes_parameter: Some("steps"),
    };
    let alternatives: Vec<_> = ways
        .iter()
        .map(|way| chooser::Way {
            backend: &way.name,
            device: &way.device,
            settings: &way.settings,
        })
        .collect();
    let known = calibrate(workload, &alternatives, &plan, &Calibration::default(), 0)?;
    if known.len() != ways.len() {
        return Err("a way was not measured".into());
    }
    let candidates = known
        .iter()
        .map(|known| Ok(Candidate::on_host(&known.backend, known.profile()?)))
        .collect::<Result<_, String>>()?;
    println!(
        "calibrated {} ways in {:.2} s",
        ways.len(),
        begun.elapsed().as_secs_f64()
    );
    let operation = chooser.add("lattice/rd", candidates);
    let (mut chosen, mut best) = (0.0, 0.0);
    let mut always = vec![0.0; ways.len()];
    let (mut regrets, mut wrong) = (Vec::new(), 0);
    for size in SIZES {
        for steps in STEPS {
            let times = least_times(workload, &ways, size, steps)?;
            let problem = Problem {
                size: (size as f64).powi(3),
                passes: steps as f64,
                ..Problem::default()
            };
            let choice = chooser.choose(operation, &problem, &Constraints::default())?;
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            let took = times[choice.candidate];
            chosen += took;
            best += least;
            for (sum, time) in always.iter_mut().zip(&times) {
                *sum += time;
            }
            regrets.push(took / least - 1.0);
            wrong += u32::from(took > least);
            if took > 1.1 * least {
                println!(
                    "  {size}^3 x{steps}: chose {} at {:.1} us (predicted {:.1}), best was {:.1} us",
                    ways[choice.candidate].name,
                    took * 1e6,
                    choice.parts.total() * 1e6,
                    least * 1e6
                );
            }
        }
    }
    regrets.sort_by(f64::total_cmp);
    let percent = |ratio: f64| 100.0 * ratio;
    println!(
        "{} problems: total regret {:.2} %, P95 {:.1} %, worst {:.1} %, {wrong} not the best",
        regrets.len(),
        percent(chosen / best - 1.0),
        percent(regrets[regrets.len() * 95 / 100]),
        percent(regrets[regrets.len() - 1])
    );
    for (way, sum) in ways.iter().zip(&always) {
        println!(
            "  always {}: total regret {:.1} %",
            way.name,
            percent(sum / best - 1.0)
        );
    }
    Ok(())
}

fn ways() -> Result<Vec<Way>, Failure> {
    let cpu = Device::Cpu(CpuDevice::open()?);
    let way = |name: &str, device: &Device, settings: &[(&str, &str)]| Way {
        name: name.to_owned(),
        device: device.clone(),
        settings: settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    };
    let mut ways = vec![
        way("scalar", &cpu, &[("simd", "scalar")]),
        way("one thread", &cpu, &[("threads", "one"), ("blocking", "1")]),
        way(
            "all threads",
            &cpu,
            &[("threads", "all"), ("blocking", "1")],
        ),
    ];
    match CudaDevice::open(0) {
        Ok(gpu) => {
            let gpu = Device::Cuda(gpu);
            gpu.warm_up()?;
            ways.push(way(
                "gpu, launches",
                &gpu,
                &[("launch", "each"), ("blocking", "1")],
            ));
            ways.push(way("gpu, best", &gpu, &[]));
        }
        Err(error) => println!("GPU: skipped: {error}"),
    }
    Ok(ways)
}

/// The least time of each way. They take turns, so that what else this machine does hits all alike.
fn least_times(
    workload: &dyn Workload,
    ways: &[Way],
    size: u64,
    steps: u64,
) -> Result<Vec<f64>, Failure> {
    let mut prepared = Vec::new();
    for way in ways {
        let mut settings = way.settings.clone();
        settings.push(("n".into(), size.to_string()));
        settings.push(("steps".into(), steps.to_string()));
        let parameters = Parameters::resolve(workload.parameters(), &settings)?;
        prepared.push(workload.prepare(&way.device, &parameters, 1)?);
    }
    let begun = Instant::now();
    let mut least = vec![f64::INFINITY; ways.len()];
    let mut rounds = 0;
    while rounds < 4 || (begun.elapsed().as_secs_f64() < 0.2 && rounds < 100) {
        let best = least.iter().copied().fold(f64::INFINITY, f64::min);
        for (prepared, least) in prepared.iter_mut().zip(&mut least) {
            // No noise makes up for that.
            if rounds > 0 && *least > 3.0 * best {
                continue;
            }
            // The first of three finds caches that another way has filled.
            for _ in 0..3 {
                let start = Instant::now();
                prepared.run_once()?;
                if let Some(stream) = prepared.stream() {
                    stream.synchronize()?;
                }
                let seconds = start.elapsed().as_secs_f64();
                *least = least.min(seconds);
                if seconds > 0.05 {
                    break;
                }
            }
        }
        rounds += 1;
    }
    Ok(least)
}
