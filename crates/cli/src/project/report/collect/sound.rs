//! Sound that one can hear: what the analysis says about a glide, and music from a seed.

use anyhow::Result;
use warpsmith_report::Facts;

use super::{glide, music};
use crate::project::report::job::Job;

pub(in crate::project::report) fn collect(_: &Job, facts: &mut Facts) -> Result<Option<String>> {
    facts.sounds.push(glide::sound()?);
    facts.sounds.push(music::sound()?);
    Ok(None)
}
