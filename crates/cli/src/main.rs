//! The executable: the library's [`run`](warpsmith::run) with a counter of allocations.

use std::process::ExitCode;

use warpsmith::Host;

mod allocations;

fn main() -> ExitCode {
    let host = Host {
        allocations: Some(allocations::made),
        ..Host::default()
    };
    warpsmith::end(warpsmith::run(host, std::env::args_os()))
}
