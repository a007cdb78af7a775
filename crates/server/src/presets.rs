//! Parameters by name: those that are built in, and those that users keep while the server runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_synth::{ParamError, Params, Preset};

use crate::protocol::built_in;

/// Presets that users may keep.
const MOST: usize = 64;

/// Named parameters.
#[derive(Debug, Default)]
pub(crate) struct Presets(Mutex<BTreeMap<String, Params>>);

/// A preset as it is listed.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    name: String,
    built_in: bool,
    params: Params,
}

impl Presets {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, Params>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn list(&self) -> Vec<Listed> {
        let fixed = Preset::ALL.iter().map(|preset| Listed {
            name: preset.to_string(),
            built_in: true,
            params: Params::preset(*preset),
        });
        let kept = self.locked();
        let kept = kept.iter().map(|(name, params)| Listed {
            name: name.clone(),
            built_in: false,
            params: *params,
        });
        fixed.chain(kept).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Result<Params, ParamError> {
        if let Some(params) = built_in(name) {
            return Ok(params);
        }
        let kept = self.locked();
        match kept.get(&name.to_ascii_lowercase()) {
            Some(params) => Ok(*params),
            // The error lists what is built in.
            None => name.parse::<Preset>().map(Params::preset),
        }
    }

    /// Keeps parameters under a name.
    pub(crate) fn keep(&self, name: &str, params: Params) -> Result<(), Box<Finding>> {
        let name = name.trim().to_ascii_lowercase();
        let refuse = |code: &str, message: String, hint: &str| {
            Err(Box::new(
                Finding::new(code, Severity::Error, message).hint(hint),
            ))
        };
        let plain = |c: char| c.is_alphanumeric() || " -_".contains(c);
        if name.is_empty() || name.chars().count() > 40 || !name.chars().all(plain) {
            let message = format!("`{name:.40}` is not a name for a preset");
            return refuse(
                "W001",
                message,
                "1 to 40 letters, digits, spaces, `-` and `_`",
            );
        }
        if built_in(&name).is_some() {
            let message = format!("`{name}` is built in and stays as it is");
            return refuse("W001", message, "choose another name");
        }
        let mut kept = self.locked();
        if kept.len() >= MOST && !kept.contains_key(&name) {
            let message = format!("{MOST} presets are kept already");
            return refuse("W009", message, "`DELETE /api/presets/NAME` makes room");
        }
        kept.insert(name, params);
        Ok(())
    }

    /// Forgets a kept preset; whether there was one.
    pub(crate) fn forget(&self, name: &str) -> bool {
        self.locked().remove(&name.to_ascii_lowercase()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_kept_found_and_forgotten() {
        let presets = Presets::default();
        let params = Params {
            bpm: 99.0,
            ..Params::default()
        };
        presets.keep(" My Evening ", params).unwrap();
        assert_eq!(presets.find("my evening").unwrap().bpm, 99.0);
        assert_eq!(presets.list().len(), 7);
        assert!(presets.keep("Focus", params).is_err() && presets.keep("<b>", params).is_err());
        assert!(presets.forget("MY EVENING") && !presets.forget("my evening"));
        assert!(
            presets
                .find("my evening")
                .unwrap_err()
                .to_string()
                .contains("focus")
        );
        for nth in 0..MOST {
            presets.keep(&format!("p{nth}"), params).unwrap();
        }
        assert_eq!(presets.keep("one more", params).unwrap_err().code, "W009");
    }
}
