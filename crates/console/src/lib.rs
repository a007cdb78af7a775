//! What every verb of the program shares: the options that all take, exit codes, output, and the choice
//! of a device.

pub mod address;
pub mod background_calibration;
pub mod catalogue;
pub mod exit;
pub mod global;
pub mod host;
pub mod inputs;
pub mod interruption;
pub mod measured;
pub mod numbers;
pub mod output;
pub mod placement;
pub mod progress_line;
pub mod table;
