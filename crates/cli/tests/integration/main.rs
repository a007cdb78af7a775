//! The program's verbs on files, pipes and drivers that were made a moment ago.

#[cfg(target_os = "linux")]
mod broken_driver;
mod commands;
mod configuration;
mod history;
mod telemetry;
mod tone;
mod voice;
mod wisdom;
