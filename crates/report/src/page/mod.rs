//! The report as one HTML file: nothing is fetched, and everything can be read without JavaScript.

mod block;
mod cell;
mod chapter;
mod chart;
mod first_screen;
mod foot;
mod icon;
mod inline;
mod raw;
mod shell;
mod table;

pub use shell::html;
