//! Whether the kernel has put a card to sleep. To read a sleeping card would wake it, and keep a
//! laptop's battery from lasting.

use std::path::Path;

use super::attribute::Attribute;

/// The state of a device's power management.
#[derive(Debug)]
pub(crate) struct Sleep {
    status: Attribute,
}

impl Sleep {
    /// That of a device.
    pub(crate) fn of(device: &Path) -> Self {
        Self {
            status: Attribute::new(device.join("power/runtime_status"), "runtime_status"),
        }
    }

    /// Whether it sleeps; `None` where the kernel does not say, or never puts it to sleep.
    pub(crate) fn asleep(&mut self) -> Option<bool> {
        let mut buffer = [0; 32];
        match self.status.read(&mut buffer).ok()?.trim_ascii() {
            b"suspended" | b"suspending" => Some(true),
            b"active" | b"resuming" => Some(false),
            _ => None,
        }
    }
}
