//! How many listeners this machine serves: `cargo bench -p warpsmith-server --
//! [LISTENERS [SECONDS [SPEED [CODEC [DEVICE [RAMP]]]]]]`.
//!
//! Each count is served as music (some streams compared byte by byte) and as tags (every sample
//! compared). Pin it to cores with `taskset` to see what so many cores do.

#![allow(clippy::print_stdout, reason = "a program that prints figures")]

use std::process::Command;

use warpsmith_device::DeviceChoice;
use warpsmith_server::Settings;
use warpsmith_server::load_test::{Plan, listen_as_told, run_whole};
use warpsmith_server::protocol::Hello;

const LISTENERS: &str = "WARPSMITH_LOAD_LISTENERS";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os(LISTENERS).is_some() {
        return Ok(listen_as_told()?);
    }
    // Cargo adds `--bench`.
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with('-'));
    let count = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let seconds = arguments.next().map_or(Ok(10.0), |text| text.parse())?;
    let speed = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
    let codecs = match arguments.next() {
        Some(codec) => vec![codec],
        None => vec!["pcm16".to_owned(), "tag".to_owned()],
    };
    let device = match arguments.next().as_deref() {
        Some("cuda") => DeviceChoice::Cuda(0),
        _ => DeviceChoice::Cpu,
    };
    let ramp_seconds = arguments.next().map_or(Ok(3.0), |text| text.parse())?;
    for codec in codecs {
        let settings = Settings {
            device,
            ..Settings::default()
        };
        let plan = Plan {
            address: settings.listen,
            token: None,
            clients: count,
            seconds,
            ramp_seconds,
            speed,
            hello: Hello {
                codecs: vec![codec],
                frame_ms: 100,
                prebuffer_ms: 300,
                ..Hello::default()
            },
            compared: 4,
            threads: 0,
        };
        let mut listeners = Command::new(std::env::current_exe()?);
        listeners.env(LISTENERS, "1");
        let report = run_whole(settings, plan, listeners, |_| {})?;
        println!("{report}");
        for finding in report.listeners.findings() {
            println!("{finding}\n");
        }
    }
    Ok(())
}
