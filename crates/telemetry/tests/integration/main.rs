//! Sampling, recordings, baselines, the exporter and the screen against a fake driver.

mod cards;
mod comparison;
mod driver_path;
mod exporter;
mod fleet;
mod frames;
mod hung_driver;
mod otlp;
mod pods;
mod recording;
mod screen;
mod screen_properties;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
