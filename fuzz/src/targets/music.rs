//! Presets that listeners share.

use warpsmith_synth::compose;
use warpsmith_synth::preset_file::{parse_preset, preset_text};

use super::{Target, text};

pub(super) const PRESET: Target = Target {
    name: "preset",
    run: |data| {
        text(data, |text| {
            if let Ok(params) = parse_preset(text) {
                // What can be read can be played and written.
                let _ = compose(1, &params, 8_000, 8_000 * 60);
                assert_eq!(parse_preset(&preset_text(&params)), Ok(params));
            }
        });
    },
    dictionary: &[
        "base = \"sleep\"\n",
        "key = \"F#\"\n",
        "mode = \"harmonic-minor\"\n",
        "scale = [0, 204, 386, 702]\n",
        "scale = [0, 30, 60]\n",
        "bpm = 60\n",
        "intensity = 1.0\n",
        "trim = -3.5\n",
        "[parts]\n",
        "kicks = false\n",
        "nan",
        "inf",
        "1e308",
    ],
};
