//! Prints how often commands of 2 to 15 ms are judged wrongly and how often 3 % more work is found,
//! with none, 2 and 12 competitors for the cores, beside hyperfine's ratio of one fixed pair of 8 ms in
//! the same minutes. Arguments: pairs of each kind (20), and the budget of one comparison in
//! seconds (5). hyperfine is looked for in `PATH`, or where `HYPERFINE` says.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use warpsmith_measure::comparison::turns::TurnsPlan;
use warpsmith_measure::selftest::commands::{Loops, selftest};
use warpsmith_measure::statistics::order::median_of;

/// Processes that want a core all the time; they end with this value.
struct Competitors(Vec<Child>);

impl Competitors {
    fn start(count: usize) -> Self {
        let spin = |_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .expect("a shell starts")
        };
        Self((0..count).map(spin).collect())
    }
}

impl Drop for Competitors {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// hyperfine's ratio of the means of two loops, with as many runs as fit into `seconds`; `None`
/// where it is not installed.
fn hyperfine(a: u32, b: u32, runs: usize) -> Option<f64> {
    let program = std::env::var("HYPERFINE").unwrap_or_else(|_| "hyperfine".to_owned());
    let file = tempfile::NamedTempFile::new().ok()?;
    let status = Command::new(program)
        .args(["--warmup", "1", "--style", "none", "--runs"])
        .arg(runs.to_string())
        .arg("--export-json")
        .arg(file.path())
        .args([Loops::line(a), Loops::line(b)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let json: Value = serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()?;
    let mean = |nth: usize| json["results"][nth]["mean"].as_f64();
    status.success().then_some(())?;
    Some(mean(1)? / mean(0)?)
}

#[allow(clippy::print_stdout)]
fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse::<f64>().ok());
    let pairs = numbers.next().unwrap_or(20.0) as usize;
    let budget = numbers.next().unwrap_or(5.0);
    let plan = TurnsPlan {
        budget: Duration::from_secs_f64(budget),
        ..TurnsPlan::default()
    };
    for competitors in [0, 2, 12] {
        let guard = Competitors::start(competitors);
        let result = selftest(pairs, 0.03, &plan, &mut |_| {}).expect("the shell runs");
        let (same, slow) = (&result.identical, &result.slowed);
        println!(
            "{competitors} competitors: false {} of {} (same {}, open {}), +3 % found {} of {} \
             (wrong {}), {:.1} s each, {} by CPU time, {:.0} % of runs disturbed",
            same.slower + same.faster,
            same.comparisons,
            same.same,
            same.undecided,
            slow.slower,
            slow.comparisons,
            slow.faster + slow.same,
            result.seconds_per_comparison,
            result.by_cpu_time,
            100.0 * result.preempted_share,
        );
        let loops = Loops::calibrate().expect("the shell runs");
        let (base, more) = (loops.turns(0.008), loops.turns(0.008 * 1.03));
        let ratios =
            |b: u32| -> Vec<f64> { (0..5).filter_map(|_| hyperfine(base, b, 40)).collect() };
        let (identical, slowed) = (ratios(base), ratios(more));
        if identical.is_empty() {
            println!("  hyperfine is not installed");
        } else {
            let worst = |ratios: &[f64], truth: f64| {
                let errors = ratios
                    .iter()
                    .map(|ratio| 100.0 * (ratio / truth - 1.0).abs());
                errors.fold(0.0, f64::max)
            };
            println!(
                "  hyperfine, 40 runs a side, five times: identical {:.3} (worst error {:.0} %), \
                 +3 % {:.3} (worst error {:.0} %)",
                median_of(&identical),
                worst(&identical, 1.0),
                median_of(&slowed),
                worst(&slowed, 1.03),
            );
        }
        drop(guard);
    }
}
