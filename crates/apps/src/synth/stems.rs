//! The parts of a piece, a file each: played together they are the piece again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warpsmith_synth::{Params, Parts, Stream, StreamSettings};

use super::sound_file::SoundFile;

/// Each part that sounds, by name, alone.
fn parts(whole: Parts) -> Vec<(&'static str, Parts)> {
    let alone = |name: &&'static str| {
        let (mut whole, mut alone) = (whole, Parts::NONE);
        let sounds = *whole.of_mut(name).ok()?;
        *alone.of_mut(name).ok()? = sounds;
        sounds.then_some((*name, alone))
    };
    Parts::NAMES.iter().filter_map(alone).collect()
}

/// The files that [`write`] makes in `folder`.
pub(super) fn paths(folder: &Path, params: &Params, ending: &str) -> Vec<PathBuf> {
    let name = |(name, _): (&str, Parts)| folder.join(format!("{name}.{ending}"));
    parts(params.parts).into_iter().map(name).collect()
}

/// Renders every part by itself into `folder`, which is made where it is missing.
///
/// Effects are the same for the sum as for the parts, and chances are drawn part by part; only a
/// limiter that works would tell them apart, and at the usual volume it sleeps.
pub(super) fn write(
    folder: &Path,
    ending: &str,
    seed: u64,
    params: &Params,
    settings: &StreamSettings,
    frames: u64,
) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let paths = paths(folder, params, ending);
    for ((_, alone), path) in parts(params.parts).into_iter().zip(&paths) {
        let params = Params {
            parts: alone,
            ..*params
        };
        let mut stream = Stream::with_settings(seed, params, *settings)?;
        let mut file = SoundFile::create(path, settings.sample_rate, frames)?;
        let mut block = vec![0i16; 2 * settings.sample_rate as usize];
        let mut done = 0;
        while done < frames {
            let count = (frames - done).min(u64::from(settings.sample_rate)) as usize;
            stream.render_into(&mut block[..2 * count]);
            file.add(&block[..2 * count])?;
            done += count as u64;
        }
        file.finish()?;
    }
    Ok(paths)
}
