//! The program's verbs on files, pipes and drivers that were made a moment ago.

#[cfg(target_os = "linux")]
mod broken_driver;
mod commands;
mod configuration;
mod history;
#[cfg(target_os = "linux")]
mod interrupted;
#[cfg(target_os = "linux")]
mod killed_recording;
#[cfg(target_os = "linux")]
mod locked_clocks;
mod mistakes;
mod program;
mod python_kernels;
mod scaling;
mod telemetry;
mod tone;
mod voice;
mod wisdom;
