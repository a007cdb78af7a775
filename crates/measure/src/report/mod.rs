//! Views of measurements: text for terminals, CSV, and one HTML file with plots that needs nothing
//! from a network.

pub mod csv;
pub mod html;
pub mod plot;
pub mod sparkline;
