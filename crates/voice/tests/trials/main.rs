//! Operations against the packages that they repeat and on recordings with labels. Trials count as
//! ignored where `tests/oracle/set_up.sh` has not fetched what they need.

mod networks;
mod npy;
mod parity;
mod pitch_accuracy;
mod vad_accuracy;

use libtest_mimic::Arguments;

fn main() {
    let kinds = [
        ("networks", networks::trials()),
        ("parity", parity::trials()),
        ("pitch_accuracy", pitch_accuracy::trials()),
        ("vad_accuracy", vad_accuracy::trials()),
    ];
    let trials = kinds
        .into_iter()
        .flat_map(|(kind, trials)| trials.into_iter().map(move |trial| trial.with_kind(kind)));
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    parity::bless(&arguments, &conclusion);
    conclusion.exit();
}
