//! Sound files and the weights of networks.

use std::path::Path;

use warpsmith_neural::Weights;
use warpsmith_signal::Audio;

use super::Target;
use crate::scratch;

pub(super) const AUDIO: Target = Target {
    name: "audio",
    run: |data| {
        // Both ways: a pipe may end anywhere, a file is as long as it says.
        let _ = Audio::read_stream(Path::new("input"), &mut &*data);
        scratch::file("input.wav", data, |path| {
            let _ = Audio::read(path);
        });
    },
    dictionary: &[
        "RIFF",
        "RF64",
        "ds64",
        "WAVE",
        "fmt ",
        "data",
        "LIST",
        "fact",
        "fLaC",
        "OggS",
        "ID3",
        "FORM",
        "AIFF",
        "COMM",
        "SSND",
        "\u{1}vorbis",
        "OpusHead",
        "OpusTags",
        "moov",
        "elst",
        "iTunSMPB",
        "A_OPUS",
    ],
};

pub(super) const WEIGHTS: Target = Target {
    name: "weights",
    run: |data| {
        scratch::file("weights.pth", data, |path| {
            let _ = Weights::read(path);
        });
    },
    dictionary: &[
        "PK\u{3}\u{4}",
        "PK\u{1}\u{2}",
        "PK\u{5}\u{6}",
        "archive/data.pkl",
        "archive/data/0",
        "ctorch._utils\n_rebuild_tensor_v2\n",
        "storage",
        "FloatStorage",
        "cpu",
        "ccollections\nOrderedDict\n",
    ],
};
