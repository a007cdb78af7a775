//! Sensors of a card, as `hwmon` shows them: thousandths of degrees, microwatts, hertz, microjoules.

use std::path::{Path, PathBuf};

use super::attribute::{Attribute, list, number_in, text_of};

/// The folder of a card's sensors.
#[derive(Debug)]
pub(crate) struct Hwmon {
    folder: PathBuf,
}

/// A temperature and where the driver begins to slow the GPU down for it.
#[derive(Debug)]
pub(crate) struct Sensor {
    /// What the driver calls it; empty where it has no name.
    pub(crate) label: String,
    /// Degrees at which the GPU slows down.
    pub(crate) limit_c: Option<i64>,
    input: Attribute,
}

impl Sensor {
    /// Degrees now.
    pub(crate) fn read(&mut self) -> Option<i64> {
        self.input.number().ok().and_then(degrees)
    }
}

/// Whole degrees, from thousandths; what no silicon survives is no reading.
fn degrees(millidegrees: i64) -> Option<i64> {
    (0..200_000)
        .contains(&millidegrees)
        .then_some((millidegrees + 500) / 1000)
}

impl Hwmon {
    /// The sensors below a device's folder, where it has any. Intel's GT has some of its own beside those
    /// of the device: the device's come first.
    pub(crate) fn of(device: &Path, driver: &str) -> Option<Self> {
        let root = device.join("hwmon");
        let folders = list(&root, "hwmon").into_iter();
        let folders: Vec<PathBuf> = folders.map(|name| root.join(name)).collect();
        let own = folders
            .iter()
            .find(|folder| text_of(&folder.join("name")).as_deref() == Some(driver));
        let folder = own.or(folders.first())?.clone();
        Some(Self { folder })
    }

    /// A file of this folder.
    pub(crate) fn file(&self, name: &str, call: &'static str) -> Attribute {
        Attribute::new(self.folder.join(name), call)
    }

    /// A number that does not change.
    pub(crate) fn fixed(&self, name: &str) -> Option<i64> {
        number_in(text_of(&self.folder.join(name))?.as_bytes())
    }

    /// Every temperature.
    pub(crate) fn temperatures(&self) -> Vec<Sensor> {
        let inputs = list(&self.folder, "temp").into_iter();
        let stems = inputs.filter_map(|name| Some(name.strip_suffix("_input")?.to_owned()));
        stems
            .map(|stem| Sensor {
                label: text_of(&self.folder.join(format!("{stem}_label"))).unwrap_or_default(),
                limit_c: self.fixed(&format!("{stem}_crit")).and_then(degrees),
                input: self.file(&format!("{stem}_input"), "temp_input"),
            })
            .collect()
    }

    /// The number of the quantity `kind` whose label is `label`: `energy2` where that is the package's.
    pub(crate) fn labelled(&self, kind: &str, label: &str) -> Option<String> {
        let labels = list(&self.folder, kind).into_iter();
        let mut stems = labels.filter_map(|name| Some(name.strip_suffix("_label")?.to_owned()));
        stems.find(|stem| {
            text_of(&self.folder.join(format!("{stem}_label"))).as_deref() == Some(label)
        })
    }

    /// Every fan's speed.
    pub(crate) fn fans(&self) -> Vec<Attribute> {
        let inputs = list(&self.folder, "fan").into_iter();
        let inputs = inputs.filter(|name| name.ends_with("_input"));
        inputs.map(|name| self.file(&name, "fan_input")).collect()
    }
}
