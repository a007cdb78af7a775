//! Files that the kernel shows about a GPU: values in text, sensors, the PCI side of a card.
//!
//! Invariants: a file that is not there is never looked for again; one that does not read now (a GPU
//! that is reset, suspended or gone) is asked again at its next turn; sizes are bounded.

mod attribute;
mod hwmon;
mod names;
mod pci;
mod sleep;

pub(crate) use attribute::{Attribute, list, number_in, text_of};
pub(crate) use hwmon::{Hwmon, Sensor};
pub(crate) use names::{amd_name, pci_name};
pub(crate) use pci::{Link, Pci, generation_of_tenths};
pub(crate) use sleep::Sleep;
