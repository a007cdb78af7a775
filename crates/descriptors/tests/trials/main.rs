//! Descriptors against the packages whose definitions they follow. `golden/` needs nothing installed;
//! trials on fresh sounds, and in a browser, count as
//! ignored where the peers or Chromium are missing.

#[path = "../../../report/tests/browser/devtools.rs"]
#[expect(dead_code, reason = "the report's pages are also printed")]
mod devtools;
mod egemaps;
mod made_voices;
mod music;
mod npy;
mod page;
mod quality;
mod turns;

use libtest_mimic::Arguments;

fn main() {
    let mut trials = music::trials();
    trials.extend(egemaps::trials());
    trials.extend(page::trials());
    trials.extend(quality::trials());
    trials.extend(turns::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
