//! Every operation on the CPU beside its definition, and mutants that have to show.

use warpsmith_core::Agreement;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_workload::{Output, Parameters, Workload};

/// An operation at a size that takes no time, with awkward numbers, and every choice of words that changes what
/// the CPU computes.
const CASES: &[(&str, &str)] = &[
    ("training/layer-norm", "rows=7 width=33"),
    ("training/layer-norm", "rows=3 width=1"),
    ("training/layer-norm-gelu", "rows=7 width=33"),
    ("training/gelu", "rows=40 width=257"),
    ("training/gelu", "rows=40 width=257 kind=tanh"),
    ("training/softmax", "rows=9 width=131"),
    (
        "training/conv1d",
        "signals=2 in=3 out=5 length=41 taps=4 stride=2 padding=3 dilation=3",
    ),
    (
        "training/conv2d",
        "pictures=2 in=6 out=4 height=13 width=9 taps_y=3 taps_x=2 stride_y=2 stride_x=1 padding_y=2 \
         padding_x=1 dilation_y=1 dilation_x=2 groups=2",
    ),
    ("training/attention", "heads=2 tokens=37"),
    (
        "training/attention",
        "heads=2 tokens=37 width=128 mask=causal",
    ),
    ("training/attention", "heads=2 tokens=37 type=bf16"),
    ("training/matmul", "m=17 n=19 k=67"),
    ("training/matmul", "m=17 n=19 k=67 type=bf16"),
    ("training/matmul", "m=17 n=19 k=67 infinite=3"),
    ("training/clip", "n=1003"),
    ("training/clip", "n=1"),
    ("training/adamw", "n=1003"),
];

/// What is wrong with a comparison.
enum Mutant {
    None,
    /// A number in the middle of this input is read one larger.
    Input(usize),
    /// The last element is never written.
    Unwritten,
}

fn compare(workload: &dyn Workload, settings: &str, mutant: Mutant) -> Agreement {
    let settings: Vec<(String, String)> = settings
        .split_whitespace()
        .filter_map(|setting| setting.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let parameters = Parameters::resolve(workload.parameters(), &settings).unwrap();
    let definition = workload.definition(&parameters).expect("a definition");
    let cpu = Device::open(DeviceChoice::Cpu).unwrap();
    let mut prepared = workload.prepare(&cpu, &parameters, 5).unwrap();
    let mut inputs: Vec<Vec<f64>> = prepared.inputs().iter().map(Output::numbers).collect();
    if let Mutant::Input(which) = mutant {
        let middle = inputs[which].len() / 2;
        inputs[which][middle] += 1.0;
    }
    prepared.poison().unwrap();
    prepared.run_once().unwrap();
    let mut output = prepared.output().unwrap();
    if let (Mutant::Unwritten, Output::F32(values)) = (&mutant, &mut output) {
        *values.last_mut().unwrap() = f32::NAN;
    }
    let expected = (definition.results)(&parameters, &inputs);
    output.compare_with_exact(&expected, definition.tolerance.tolerance)
}

#[test]
fn every_operation_has_a_definition_and_follows_it() {
    for workload in crate::workloads() {
        let cases: Vec<_> = CASES
            .iter()
            .filter(|case| case.0 == workload.id())
            .collect();
        assert!(!cases.is_empty(), "{}", workload.id());
        for (id, settings) in cases {
            let agreement = compare(workload.as_ref(), settings, Mutant::None);
            assert!(agreement.holds(), "{id} {settings}: {agreement}");
            assert!(agreement.compared > 0, "{id} {settings}");
        }
    }
}

#[test]
fn a_wrong_input_and_a_missing_element_show() {
    for workload in crate::workloads() {
        let (id, settings) = *CASES.iter().find(|case| case.0 == workload.id()).unwrap();
        let agreement = compare(workload.as_ref(), settings, Mutant::Unwritten);
        assert_eq!(agreement.disagreeing, 1, "{id}: {agreement}");
        let inputs = match id {
            "training/adamw" => 4,
            "training/gelu" | "training/softmax" | "training/clip" => 1,
            "training/matmul" => 2,
            _ => 3,
        };
        for which in 0..inputs {
            let agreement = compare(workload.as_ref(), settings, Mutant::Input(which));
            assert!(!agreement.holds(), "{id}: input {which}");
        }
    }
}
