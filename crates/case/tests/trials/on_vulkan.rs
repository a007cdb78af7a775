//! Cases of Warp-style kernels on the Vulkan device that is here; lavapipe will do.

use warpsmith_case::{Fault, Program, Settings, Verdict, Verifier, check_device, timed_contents};
use warpsmith_device::{Device, DeviceChoice, DeviceError};
use warpsmith_measure::roofline::Ceilings;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_workload::Output;

use crate::folder::{Folder, from_x_to_y};
use crate::references::{PUSH, PUSH_CASE};

const KERNEL: &str = "import warp as wp\n\n\n@wp.kernel\n\
    def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):\n    \
    i = wp.tid()\n    y[i] = 2.0 * x[i] + float(n)\n";

const CASE: &str = concat!(
    r#"source = "scale.py"
reference = { interpreter = true }
[sizes]
n = [100, 5000]
"#,
    from_x_to_y!(),
    r#"[[arguments]]
name = "n"
type = "i32"
value = "n"
[launch]
dim = "n"
"#
);

fn device() -> Device {
    Device::open(DeviceChoice::Vulkan(0)).unwrap()
}

pub(crate) fn is_missing() -> bool {
    Device::open(DeviceChoice::Vulkan(0)).is_err()
}

/// The verdicts over all sizes.
fn verdicts(kernel: &str) -> Vec<Verdict> {
    let case = CASE.replace("interpreter = true", "kernel = \"right.py:scale\"");
    let folder = Folder::new(&[
        ("scale.py", kernel),
        ("right.py", KERNEL),
        ("scale.toml", &case),
    ]);
    let case = folder.case("scale.toml");
    let mut verifier = Verifier::prepare(&case, &[], &device(), Settings::default()).unwrap();
    let sizes = case.verification_sizes(&[]).unwrap().sizes;
    assert!(sizes.len() > 4);
    let checks = sizes.iter().map(|size| verifier.check(size, 7, 0, false));
    checks.map(|check| check.unwrap().verdict).collect()
}

pub(crate) fn a_python_kernel_is_checked_on_vulkan() {
    assert!(verdicts(KERNEL).iter().all(Verdict::is_right));
    let wrong = verdicts(&KERNEL.replace("2.0", "2.5"));
    let is_wrong = |verdict: &Verdict| matches!(verdict, Verdict::Wrong { .. });
    assert!(wrong.iter().all(is_wrong), "{wrong:?}");
    // The last thread's index is outside; the others' work is no excuse.
    let outside = verdicts(&KERNEL.replace("y[i] =", "y[i + 1] ="));
    for verdict in outside {
        let Verdict::Fault { reason, .. } = verdict else {
            panic!("{verdict:?}");
        };
        assert!(reason.contains("index"), "{reason}");
    }
}

pub(crate) fn a_python_kernel_is_timed_on_vulkan_under_its_roof() {
    let folder = Folder::new(&[("scale.py", KERNEL), ("scale.toml", CASE)]);
    let case = folder.case("scale.toml");
    let device = device();
    let size = case.sizes.listed[1].clone();
    let instance = case.instance(&size, &[]).unwrap();
    let contents = timed_contents(&case, &instance, 1).unwrap();
    let prepared = |device: &Device| {
        let program = Program::prepare(&case, &[], device, Settings::default()).unwrap();
        program.prepared(&instance, &contents).unwrap()
    };
    let cpu = Device::open(DeviceChoice::Cpu).unwrap();
    let (mut ours, mut expected) = (prepared(&device), prepared(&cpu));
    ours.poison().unwrap();
    ours.run_once().unwrap();
    expected.run_once().unwrap();
    let (Output::U8(ours), Output::U8(expected)) =
        (ours.output().unwrap(), expected.output().unwrap())
    else {
        panic!("no bytes");
    };
    assert!(ours == expected && ours.len() == 40_000);
    let mut sampler = RunSampler::new(&device, RunMode::Warm).unwrap();
    let mut target = sampler.target(prepared(&device)).unwrap();
    assert!(sampler.sample(&mut target).unwrap().seconds >= 0.0);
    let roof = Ceilings::measure(&device).unwrap();
    // The slowest machine that could run this moves and computes more than that.
    assert!(
        roof.bytes_per_second > 1e7 && roof.flops_per_second > 1e6,
        "{roof:?}"
    );
}

pub(crate) fn other_sources_are_refused_by_name() {
    let case = CASE
        .replace("scale.py", "scale.ptx")
        .replace("dim = \"n\"", "grid = 1\nblock = 32");
    let case = case.replace("{ interpreter = true }", "\"r.py:f\"");
    let folder = Folder::new(&[
        ("scale.ptx", ""),
        ("r.py", "def f(x, n):\n    return x\n"),
        ("scale.toml", &case),
    ]);
    let case = folder.case("scale.toml");
    let Err(Fault::Device(DeviceError::NotOnVulkan { what })) =
        Program::prepare(&case, &[], &device(), Settings::default())
    else {
        panic!("it was prepared");
    };
    assert_eq!(what, "a case of PTX");
    assert!(check_device(&case.source, DeviceChoice::Cpu).is_ok());
}

pub(crate) fn a_kernel_of_vectors_is_the_same_on_vulkan() {
    let case = PUSH_CASE.replace("\"reference.py:push\"", "{ interpreter = true }");
    let folder = Folder::new(&[("push.py", PUSH), ("push.toml", &case)]);
    let case = folder.case("push.toml");
    let mut verifier = Verifier::prepare(&case, &[], &device(), Settings::default()).unwrap();
    for size in case.verification_sizes(&[]).unwrap().sizes {
        let check = verifier.check(&size, 7, 0, false).unwrap();
        assert!(check.verdict.is_right(), "{:?}", check.verdict);
    }
}
