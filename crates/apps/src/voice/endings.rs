//! What the ending of a file's name says about the sound in it.

use std::path::Path;

use warpsmith_voice::SignalError;

/// Endings of files that are read: their headers say what is in them.
pub(super) const READ: [&str; 28] = [
    "aac", "adts", "aif", "aifc", "aiff", "au", "bw64", "caf", "flac", "m4a", "m4b", "m4r", "m4v",
    "mka", "mkv", "mov", "mp3", "mp4", "oga", "ogg", "opus", "rf64", "snd", "w64", "wav", "wave",
    "weba", "webm",
];

/// Endings of samples without a header.
const RAW: [&str; 12] = [
    "alaw", "f32", "f32le", "pcm", "raw", "s16", "s16be", "s16le", "sln", "sln16", "ulaw", "mulaw",
];

/// Endings of audio, or of films with it, that another program has to convert.
const FOREIGN: [&str; 50] = [
    "3gp", "8svx", "aa3", "ac3", "adx", "amr", "ape", "avi", "awb", "dff", "dsf", "dss", "dts",
    "eac3", "flv", "g722", "g723", "g726", "g729", "gsm", "htk", "ircam", "m2a", "mp1", "mp2",
    "mpa", "mpc", "mpeg", "mpg", "nist", "nsp", "oma", "ra", "rm", "sd2", "shn", "siren14",
    "siren7", "sph", "spx", "tak", "thd", "tta", "voc", "vox", "vqf", "wma", "wmv", "wv", "xwma",
];

/// How a file is to be read, as far as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Read,
    Raw,
    Foreign,
    /// Not a name of audio.
    Other,
}

impl Ending {
    pub(super) fn of(name: &Path) -> Self {
        let ending = name.extension().and_then(|ending| ending.to_str());
        let ending = ending.unwrap_or_default().to_ascii_lowercase();
        let is_in = |endings: &[&str]| endings.contains(&ending.as_str());
        match () {
            () if is_in(&READ) => Self::Read,
            () if is_in(&RAW) => Self::Raw,
            () if is_in(&FOREIGN) => Self::Foreign,
            () => Self::Other,
        }
    }

    /// What reads files that end like `name`, where it is not this program as it was called.
    pub(super) fn remedy(self, name: &Path) -> Option<String> {
        let ending = name.extension().unwrap_or_default().display();
        match self {
            Self::Read | Self::Other => None,
            Self::Raw => Some(
                "`--raw s16le,16000,1` reads samples without a header, with their coding, rate and channels"
                    .into(),
            ),
            Self::Foreign => Some(format!("convert first: `ffmpeg -i IN.{ending} OUT.wav`")),
        }
    }
}

/// What reads a file that was taken for audio and is of another kind.
pub(super) fn remedy_for(path: &Path, error: &SignalError) -> Option<String> {
    if !error.is_of_unknown_kind() {
        return None;
    }
    Ending::of(path).remedy(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_its_file_is_read() {
        let of = |name: &str| Ending::of(Path::new(name));
        assert_eq!(of("a.WAV"), Ending::Read);
        assert_eq!(of("b/take.1.m4b"), Ending::Read);
        assert_eq!(of("a.raw"), Ending::Raw);
        assert_eq!(of("a.G722"), Ending::Foreign);
        assert_eq!(of("README.txt"), Ending::Other);
        assert_eq!(of("wav"), Ending::Other);
        let remedy = of("a.gsm").remedy(Path::new("a.gsm")).unwrap();
        assert!(remedy.contains("ffmpeg -i IN.gsm"), "{remedy}");
    }

    #[test]
    fn an_ending_stands_in_one_list() {
        let mut all: Vec<&str> = [&READ[..], &RAW, &FOREIGN].concat();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
