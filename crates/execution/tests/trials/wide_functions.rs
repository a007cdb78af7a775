//! How far functions of `float64` on the Vulkan device that is here are from the C library's, in units in the
//! last place. `cargo test -p warpsmith-execution --test trials -- wide --nocapture` prints the table.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use warpsmith_device::VulkanDevice;
use warpsmith_execution::VulkanProgram;
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter};

use crate::vulkan::{compiled, random_bits};

const LIMIT: Duration = Duration::from_secs(60);
const SAMPLES: usize = 20_000;

/// A function, the ends of its inputs, and how far it may be off.
type Case = (&'static str, fn(f64) -> f64, [f64; 2], u64);

const CASES: [Case; 16] = [
    ("sin", f64::sin, [-1e3, 1e3], 2),
    ("cos", f64::cos, [-1e3, 1e3], 2),
    ("tan", f64::tan, [-1e3, 1e3], 6),
    ("asin", f64::asin, [-1.0, 1.0], 6),
    ("acos", f64::acos, [-1.0, 1.0], 6),
    ("atan", f64::atan, [-1e3, 1e3], 2),
    ("sinh", f64::sinh, [-20.0, 20.0], 8),
    ("cosh", f64::cosh, [-20.0, 20.0], 6),
    ("tanh", f64::tanh, [-20.0, 20.0], 8),
    ("exp", f64::exp, [-700.0, 700.0], 2),
    ("log", f64::ln, [1e-300, 1e3], 2),
    ("log2", f64::log2, [1e-300, 1e3], 4),
    ("log10", f64::log10, [1e-300, 1e3], 4),
    ("cbrt", f64::cbrt, [-1e3, 1e3], 2),
    ("sqrt", f64::sqrt, [0.0, 1e3], 0),
    ("floor", f64::floor, [-1e3, 1e3], 0),
];

pub(crate) fn trials(missing: bool) -> Vec<Trial> {
    let trial = Trial::test("wide functions are right to a few last places", || {
        measure(&VulkanDevice::open(0)?)
    });
    vec![trial.with_ignored_flag(missing)]
}

/// Numbers between two, of which zero and infinity are the ends.
fn apart(a: f64, b: f64) -> u64 {
    let place = |x: f64| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i64::MIN - bits } else { bits }
    };
    match a.is_nan() && b.is_nan() {
        true => 0,
        false => place(a).abs_diff(place(b)),
    }
}

fn array(values: &[f64]) -> Argument {
    Argument::Array(ArrayArgument {
        shape: vec![values.len()],
        data: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        gradient: None,
    })
}

fn measure(device: &VulkanDevice) -> Result<(), Failed> {
    let mut words = random_bits(5);
    let mut wrong = String::new();
    for (name, function, [low, high], most) in CASES {
        let inputs: Vec<f64> = (0..SAMPLES)
            .map(|_| low + (high - low) * (f64::from(words()) / f64::from(u32::MAX)))
            .collect();
        let module = compiled(&format!(
            "def k(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):\n    i = wp.tid()\n    y[i] = wp.{name}(x[i])\n"
        ))?;
        let interpreter = Interpreter::forward(&module).map_err(|_| "it is planned")?;
        let program = VulkanProgram::build(device, &module, interpreter)?;
        let mut arguments = [array(&inputs), array(&vec![0.0; SAMPLES])];
        program.run(&[SAMPLES], &mut arguments, LIMIT)?;
        let Argument::Array(results) = &arguments[1] else {
            return Err("an array comes back".into());
        };
        let results = results.data.as_chunks::<8>().0.iter();
        let off = results
            .zip(&inputs)
            .map(|(bytes, x)| (apart(f64::from_le_bytes(*bytes), function(*x)), *x));
        let (worst, at) = off.max_by_key(|(off, _)| *off).unwrap_or_default();
        eprintln!("{name:<6} {worst:>3} ULP at {at:e}, of {SAMPLES} from {low:e} to {high:e}");
        if worst > most {
            wrong.push_str(&format!(
                "{name} is {worst} ULP off at {at:e}, at most {most}\n"
            ));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.into()),
    }
}
