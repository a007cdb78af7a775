//! One result for all instruction sets. A set that this machine does not have counts as ignored.

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_synth::{
    Formulas, InstructionSet, Params, Phrase, PhraseRenderer, Preset, Saw, StreamSettings, compose,
};

fn render(simd: InstructionSet) -> Result<Vec<[f32; 2]>, Failed> {
    let mut params = Params::preset(Preset::Bright);
    params.intensity = 0.9;
    let phrase = Phrase {
        sample_rate: 48_000,
        frames: 48_000 * 4,
        notes: compose(11, &params, 48_000, 48_000 * 4),
    };
    let settings = StreamSettings {
        sample_rate: 44_100,
        formulas: Formulas::ClickFree,
        saw: Saw::Spline,
        simd,
        ..StreamSettings::default()
    };
    let mut frames = vec![[0.0; 2]; phrase.frames];
    PhraseRenderer::new(phrase, settings, Some(Params::default()))?.render_f32(&mut frames);
    Ok(frames)
}

fn main() {
    let trials = ["avx2", "avx512"].map(|name| {
        let set = InstructionSet::present().find(|set| set.name() == name);
        Trial::test(format!("{name}_computes_the_portable_bits"), move || {
            let set = set.ok_or("this machine does not have it")?;
            match render(set)? == render(InstructionSet::Portable)? {
                true => Ok(()),
                false => Err("the sound differs".into()),
            }
        })
        .with_ignored_flag(set.is_none())
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}
