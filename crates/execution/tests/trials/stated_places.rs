//! How far functions on the Vulkan device that is here are from their true values, in units in the last place:
//! those for which the C library is no reference. `cargo test -p warpsmith-execution --test trials -- stated
//! --nocapture` prints the table.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use warpsmith_device::VulkanDevice;
use warpsmith_execution::VulkanProgram;
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter};

use crate::twofold::{self, Twofold};
use crate::vulkan::{compiled, random_bits};

const LIMIT: Duration = Duration::from_secs(60);
const SAMPLES: usize = 20_000;

/// Where inputs come from.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    /// Evenly from between two numbers.
    Between(f64, f64),
    /// Ten to a power that is evenly from between two numbers.
    Powers(f64, f64),
}
use Drawn::{Between, Powers};

/// A function of one input, or of two, and how much larger than its true value a result of it is.
struct Case {
    name: &'static str,
    x: Drawn,
    z: Option<Drawn>,
    off: fn(f64, f64, f64) -> f64,
    /// The bound in units in the last place: of `float32`, and of `float64`.
    most: [Option<f64>; 2],
}

const fn of_one(
    name: &'static str,
    x: Drawn,
    off: fn(f64, f64, f64) -> f64,
    most: [Option<f64>; 2],
) -> Case {
    let z = None;
    Case {
        name,
        x,
        z,
        off,
        most,
    }
}

const FAR: Drawn = Between(-1_073_741_824.0, 1_073_741_824.0);

const CASES: [Case; 15] = [
    of_one("sin", FAR, off_sin, [Some(1.0), Some(3.0)]),
    of_one("cos", FAR, off_cos, [Some(1.0), Some(3.0)]),
    of_one("tan", FAR, off_tan, [Some(1.0), Some(6.0)]),
    of_one("erf", Between(-6.0, 6.0), off_erf, [Some(1.0), Some(2.0)]),
    of_one("erf", Powers(-30.0, 0.0), off_erf, [Some(1.0), Some(2.0)]),
    of_one("erfc", Between(-6.0, 9.0), off_erfc, [Some(1.0), Some(4.0)]),
    of_one("erfc", Between(9.0, 20.0), off_erfc, [None, Some(4.0)]),
    of_one(
        "erfinv",
        Between(-1.0, 1.0),
        off_erfinv,
        [Some(1.0), Some(4.0)],
    ),
    of_one(
        "erfinv",
        Powers(-30.0, 0.0),
        off_erfinv,
        [Some(1.0), Some(4.0)],
    ),
    of_one(
        "erfcinv",
        Between(0.0, 0.5),
        off_erfcinv,
        [Some(1.0), Some(4.0)],
    ),
    of_one(
        "erfcinv",
        Between(1.5, 2.0),
        off_erfcinv,
        [Some(1.0), Some(4.0)],
    ),
    of_one(
        "erfcinv",
        Powers(-30.0, -0.4),
        off_erfcinv,
        [Some(1.0), Some(4.0)],
    ),
    of_one(
        "erfcinv",
        Between(0.5, 1.5),
        off_erfcinv_near_one,
        [None, Some(2.0)],
    ),
    Case {
        name: "pow",
        x: Powers(-2.0, 2.0),
        z: Some(Between(-10.0, 10.0)),
        off: off_pow,
        most: [Some(1.0), Some(128.0)],
    },
    Case {
        name: "atan2",
        x: Between(-1e3, 1e3),
        z: Some(Between(-1e3, 1e3)),
        off: off_atan2,
        most: [Some(1.0), Some(4.0)],
    },
];

pub(crate) fn trials(missing: bool) -> Vec<Trial> {
    let right = Trial::test("the reference of stated places is exact", || {
        twofold::check();
        Ok(())
    });
    let stated = Trial::test("functions are within their stated places", || {
        measure(&VulkanDevice::open(0)?)
    });
    vec![right, stated.with_ignored_flag(missing)]
}

fn less(result: f64, exact: Twofold) -> f64 {
    (Twofold::from(result) - exact).rounded()
}

fn off_sin(x: f64, _: f64, result: f64) -> f64 {
    less(result, Twofold::from(x).sin_cos().0)
}

fn off_cos(x: f64, _: f64, result: f64) -> f64 {
    less(result, Twofold::from(x).sin_cos().1)
}

fn off_tan(x: f64, _: f64, result: f64) -> f64 {
    let (sin, cos) = Twofold::from(x).sin_cos();
    less(result, sin / cos)
}

fn off_erf(x: f64, _: f64, result: f64) -> f64 {
    less(result, Twofold::from(x).erf())
}

fn off_erfc(x: f64, _: f64, result: f64) -> f64 {
    less(result, Twofold::from(x).erfc())
}

/// By how much a positive number is more than that of which `tail` is one less the error function.
fn off_tail(result: f64, tail: Twofold) -> f64 {
    let result = Twofold::from(result);
    ((tail - result.erfc()) / result.erf_slope()).rounded()
}

fn off_erfinv(x: f64, _: f64, result: f64) -> f64 {
    if x.abs() > 0.5 {
        let off = off_tail(result.abs(), Twofold::from(1.0) - x.abs().into());
        return off * x.signum();
    }
    let result = Twofold::from(result);
    ((result.erf() - x.into()) / result.erf_slope()).rounded()
}

fn off_erfcinv(x: f64, _: f64, result: f64) -> f64 {
    if x < 0.5 {
        return off_tail(result, x.into());
    }
    if x > 1.5 {
        return -off_tail(-result, Twofold::from(2.0) - x.into());
    }
    let result = Twofold::from(result);
    ((result.erf() - (Twofold::from(1.0) - x.into())) / result.erf_slope()).rounded()
}

/// Near 1 the result is near 0, and exact to 53 places behind the point: what it is off by in those stands for
/// units in its own last place.
fn off_erfcinv_near_one(x: f64, z: f64, result: f64) -> f64 {
    off_erfcinv(x, z, result) / place(0.5, true) * place(result, true)
}

fn off_pow(x: f64, z: f64, result: f64) -> f64 {
    less(result, (Twofold::from(x).ln() * z.into()).exp())
}

fn off_atan2(x: f64, z: f64, result: f64) -> f64 {
    let (sin, cos) = Twofold::from(result).sin_cos();
    let (y, x) = (Twofold::from(x), Twofold::from(z));
    // The tangent of the difference, which is as small as its own angle.
    ((sin * x - cos * y) / (cos * x + sin * y)).rounded()
}

/// A unit in the last place of a number of 24 or 53 bits.
fn place(result: f64, wide: bool) -> f64 {
    let least = if wide { -1022 } else { -126 };
    let exponent = (result.abs().to_bits() >> 52) as i32 - 1023;
    2.0_f64.powi(exponent.max(least) - if wide { 52 } else { 23 })
}

fn inputs(drawn: Drawn, wide: bool, words: &mut impl FnMut() -> u32) -> Vec<f64> {
    let mut even = |low: f64, high: f64| {
        let word = u64::from(words()) << 21 | u64::from(words()) >> 11;
        low + (high - low) * (word as f64 / 2.0_f64.powi(53))
    };
    let inputs = (0..SAMPLES).map(|_| match drawn {
        Between(low, high) => even(low, high),
        Powers(low, high) => 10.0_f64.powf(even(low, high)),
    });
    inputs
        .map(|x| if wide { x } else { f64::from(x as f32) })
        .collect()
}

fn array(values: &[f64], wide: bool) -> Argument {
    let bytes = |x: &f64| match wide {
        true => x.to_le_bytes().to_vec(),
        false => (*x as f32).to_le_bytes().to_vec(),
    };
    Argument::Array(ArrayArgument {
        shape: vec![values.len()],
        data: values.iter().flat_map(bytes).collect(),
        gradient: None,
    })
}

fn numbers(argument: &Argument, wide: bool) -> Result<Vec<f64>, Failed> {
    let Argument::Array(array) = argument else {
        return Err("an array comes back".into());
    };
    Ok(match wide {
        true => {
            let words = array.data.as_chunks::<8>().0.iter();
            words.map(|bytes| f64::from_le_bytes(*bytes)).collect()
        }
        false => array.to_f32().into_iter().map(f64::from).collect(),
    })
}

fn measure(device: &VulkanDevice) -> Result<(), Failed> {
    let mut words = random_bits(11);
    let mut wrong = String::new();
    for case in CASES {
        for (wide, most) in [false, true].into_iter().zip(case.most) {
            let Some(most) = most else { continue };
            let x = inputs(case.x, wide, &mut words);
            let z = inputs(case.z.unwrap_or(Between(0.0, 1.0)), wide, &mut words);
            let (name, given) = (case.name, if case.z.is_some() { ", z[i]" } else { "" });
            let ty = if wide { "wp.float64" } else { "float" };
            let module = compiled(&format!(
                "def k(x: wp.array(dtype={ty}), z: wp.array(dtype={ty}), y: wp.array(dtype={ty})):\n    \
                 i = wp.tid()\n    y[i] = wp.{name}(x[i]{given})\n"
            ))?;
            let interpreter = Interpreter::forward(&module).map_err(|_| "it is planned")?;
            let program = VulkanProgram::build(device, &module, interpreter)?;
            let mut arguments = [
                array(&x, wide),
                array(&z, wide),
                array(&vec![0.0; SAMPLES], wide),
            ];
            program.run(&[SAMPLES], &mut arguments, LIMIT)?;
            let results = numbers(&arguments[2], wide)?;
            let (mut worst, mut at) = (0.0, [0.0; 2]);
            for ((x, z), result) in x.iter().zip(&z).zip(results) {
                if !result.is_finite() {
                    continue;
                }
                let off = ((case.off)(*x, *z, result) / place(result, wide)).abs();
                if off > worst || off.is_nan() {
                    (worst, at) = (off, [*x, *z]);
                }
            }
            eprintln!(
                "{name:<8} {ty:<11} {worst:>7.2} ULP at {at:?}, of {SAMPLES} {:?} {:?}",
                case.x, case.z
            );
            if worst > most || worst.is_nan() {
                wrong.push_str(&format!(
                    "{name} of {ty} is {worst:.2} ULP off at {at:?}, at most {most}\n"
                ));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.into()),
    }
}
