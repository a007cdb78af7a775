//! Descriptors against the packages whose definitions they follow. `golden/` needs nothing installed;
//! trials on fresh sounds count as ignored where the peers are missing.

mod egemaps;
mod music;
mod npy;

use libtest_mimic::Arguments;

fn main() {
    let mut trials = music::trials();
    trials.extend(egemaps::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
