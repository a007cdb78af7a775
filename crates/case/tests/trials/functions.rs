//! Python functions as the kernel of a case: checked, timed in their own process, tuned by their arguments.

use std::time::Duration;

use warpsmith_case::{Attempt, BegunReference, Program, Settings, TunableValue, Workbench};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::run_sampler::RunMode;

use crate::folder::{Folder, from_x_to_y};

const CASE: &str = concat!(
    r#"source = "double.py:double"
reference = "double.py:plain"
[sizes]
n = [1000]
"#,
    from_x_to_y!(),
    r#"[tunables]
BLOCK = [1, 2, 3, 4, 5]
"#
);

const DOUBLE: &str = "import os\nimport time\nimport numpy as np\n\n\
    def plain(x):\n    return x * 2\n\n\
    def double(x, BLOCK):\n    \
        if BLOCK == 2:\n        time.sleep(0.003)\n    \
        if BLOCK == 3:\n        raise ValueError('no three')\n    \
        if BLOCK == 4:\n        return x * 3\n    \
        if BLOCK == 5:\n        os._exit(9)\n    \
        return x * 2\n";

fn folder() -> Folder {
    Folder::new(&[("double.py", DOUBLE), ("double.toml", CASE)])
}

fn point(block: i64) -> Vec<(String, TunableValue)> {
    vec![("BLOCK".to_owned(), TunableValue::Whole(block))]
}

fn refused(attempt: Attempt) -> String {
    match attempt {
        Attempt::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn a_python_function_is_checked_timed_and_tuned() {
    let folder = folder();
    let case = folder.case("double.toml");
    let device = Device::open(DeviceChoice::Cpu).unwrap();
    let size = &case.sizes.listed[0];
    let program = Program::prepare(&case, &point(1), &device, Settings::default()).unwrap();
    let instance = case.instance(size, &point(2)).unwrap();
    let contents = instance.contents(1, 0, false).unwrap();
    let timed = program.timed(&instance, &contents, RunMode::Warm).unwrap();
    let samples = timed.unwrap().samples(4).unwrap();
    // It sleeps for 3 ms with this value, and never wakes early.
    assert!(samples.len() == 4 && samples.iter().all(|sample| sample.seconds >= 0.003));
    assert!(program.timed(&instance, &contents, RunMode::Graph).is_err());

    let limit = Duration::from_secs(20);
    let reference = BegunReference::begin(&case, size, 1).unwrap();
    let mut bench = Workbench::new(&case, &device, reference, RunMode::Warm, limit).unwrap();
    let Attempt::Measured(slow) = bench.attempt(&point(2), None).unwrap() else {
        panic!();
    };
    assert!(slow.iter().all(|seconds| *seconds >= 0.003));
    assert!(matches!(
        bench.attempt(&point(1), None).unwrap(),
        Attempt::Measured(_)
    ));
    let raised = refused(bench.attempt(&point(3), None).unwrap());
    assert!(
        raised.contains("double.py:12: `double` raised ValueError: no three"),
        "{raised}"
    );
    let wrong = refused(bench.attempt(&point(4), None).unwrap());
    assert!(wrong.contains("wrong"), "{wrong}");
    assert_eq!(
        bench.right_everywhere(&point(1), &mut |_, _| {}).unwrap(),
        None
    );
}

pub(crate) fn a_function_that_ends_its_process_is_refused_and_the_next_one_runs() {
    let folder = folder();
    let case = folder.case("double.toml");
    let device = Device::open(DeviceChoice::Cpu).unwrap();
    let size = &case.sizes.listed[0];
    let limit = Duration::from_secs(20);
    let reference = BegunReference::begin(&case, size, 1).unwrap();
    let mut bench = Workbench::new(&case, &device, reference, RunMode::Warm, limit).unwrap();
    let ended = refused(bench.attempt(&point(5), None).unwrap());
    assert!(ended.contains("ended: exit status: 9"), "{ended}");
    assert!(matches!(
        bench.attempt(&point(1), None).unwrap(),
        Attempt::Measured(_)
    ));
}
