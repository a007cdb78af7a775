//! A frame's bits depend on its samples alone: not on chunks, not on its place, not on neighbours.

use proptest::prelude::*;
use warpsmith_voice::{
    CONTRAST_BANDS, Chroma, ChromaStream, ContrastSettings, ContrastStream, FeatureSettings,
    FrameMillis, Framing, Layout, LevelStream, Levels, LoudestLevels, MelFeature, MelStream,
    OnsetDetector, OnsetStream, PITCH_CLASSES, Padding, PitchRange, Preset, Pyin, PyinSettings,
    PyinStream, PyinTrack, Sizes, SpectralContrast, SpectralShape, SpectralStatistics, Stage,
    StatisticsStream, Stft, StftStream, WebrtcMode, WebrtcStream, WebrtcVad, Yin, YinStream,
};

fn signal(samples: usize, seed: u32) -> Vec<f32> {
    (0..samples)
        .map(|n| {
            let noise = (n as u32 ^ seed).wrapping_mul(2_654_435_761) >> 8;
            (n as f32 * 0.06).sin() * 0.4 + noise as f32 / 16_777_216.0 * 0.1
        })
        .collect()
}

fn streamable(preset: Preset, stage: Stage) -> FeatureSettings {
    let sizes = Sizes {
        transform: 512,
        hop: 160,
        filters: 40,
    };
    FeatureSettings {
        dynamic_range: None,
        layout: Layout::FramesFirst,
        ..preset.feature(16_000, sizes, stage)
    }
}

#[test]
fn a_second_look_gives_the_bits_of_the_whole_with_its_dynamic_range() {
    let mut signal = signal(9000, 5);
    // So quiet that the range cuts most of it off.
    signal[4000..].iter_mut().for_each(|x| *x *= 1e-5);
    for stage in [Stage::LogMel, Stage::Cepstrum { coefficients: 13 }] {
        let settings = FeatureSettings {
            dynamic_range: Some(40.0),
            ..streamable(Preset::Librosa, stage)
        };
        let whole = MelFeature::new(settings).unwrap().compute(&signal).unwrap();
        let run = |mut stream: MelStream| {
            let mut values = Vec::new();
            for chunk in signal.chunks(700) {
                stream.process(chunk, &mut values).unwrap();
            }
            stream.finish(&mut values).unwrap();
            values
        };
        let powers = run(MelStream::first_look(settings).unwrap());
        let largest = powers.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let found = run(MelStream::second_look(settings, largest).unwrap());
        assert_eq!(bits(&found), bits(&whole));
    }
}

const FRAMING: Framing = Framing {
    length: 1024,
    hop: 160,
    padding: Padding::CentredZero,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_chunking_gives_the_bits_of_the_whole(
        samples in 0usize..9000,
        seed in any::<u32>(),
        chunks in proptest::collection::vec(1usize..2000, 1..20),
        stage in 0usize..3,
        preset in 0usize..4,
        bulk in any::<bool>(),
        hop in 0usize..2,
    ) {
        // A hop of whole blocks of lags, and one that is left to transforms.
        let framing = Framing { hop: [160, 150][hop], ..FRAMING };
        let signal = signal(samples, seed);
        let stage = [Stage::Mel, Stage::LogMel, Stage::Cepstrum { coefficients: 13 }][stage];
        // The last two mirror the ends, and Whisper drops the last frame.
        let presets = [Preset::Kaldi, Preset::Librosa, Preset::Torchaudio, Preset::Whisper];
        let settings = streamable(presets[preset], stage);
        let whole = MelFeature::new(settings).unwrap().compute(&signal).unwrap();
        let mut stream = MelStream::new(settings).unwrap();
        let mut yin = YinStream::new(16_000, framing, PitchRange::VOICE, 0.1).unwrap();
        if bulk {
            stream = MelStream::in_bulk(settings).unwrap();
            yin = YinStream::in_bulk(16_000, framing, PitchRange::VOICE, 0.1).unwrap();
        }
        let (mut streamed, mut pitches) = (Vec::new(), Vec::new());
        let mut rest = &signal[..];
        for length in chunks.iter().cycle() {
            let (chunk, after) = rest.split_at((*length).min(rest.len()));
            stream.process(chunk, &mut streamed).unwrap();
            yin.process(chunk, &mut pitches).unwrap();
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        stream.finish(&mut streamed).unwrap();
        yin.finish(&mut pitches).unwrap();
        prop_assert_eq!(bits(&streamed), bits(&whole));
        let mut tracker = Yin::new(16_000, framing, PitchRange::VOICE, 0.1).unwrap();
        prop_assert_eq!(bits(&pitches), bits(&tracker.track(&signal).unwrap()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn spectra_statistics_levels_and_decisions_do_not_depend_on_chunks(
        samples in 0usize..6000,
        seed in any::<u32>(),
        chunks in proptest::collection::vec(1usize..1500, 1..20),
        padding in 0usize..2,
        blocks in 0usize..3,
    ) {
        let signal = signal(samples, seed);
        let integers: Vec<i16> = signal.iter().map(|x| (x * 32_768.0).round() as i16).collect();
        let mut spectrum = streamable(Preset::Librosa, Stage::Mel).spectrum;
        spectrum.framing.padding = [Padding::CentredZero, Padding::Inside][padding];
        let length = [FrameMillis::Ten, FrameMillis::Twenty, FrameMillis::Thirty][blocks];
        let mut spectra = StftStream::new(spectrum).unwrap();
        let mut shapes = StatisticsStream::new(spectrum, 16_000).unwrap();
        let mut bulk = StatisticsStream::in_bulk(spectrum, 16_000).unwrap();
        let mut look = ContrastStream::new(spectrum, 16_000, ContrastSettings::default()).unwrap();
        let mut loudest = LoudestLevels::default();
        let mut levels = LevelStream::new(spectrum.framing).unwrap();
        let mut vad = WebrtcStream::new(16_000, WebrtcMode::Quality, length).unwrap();
        let (mut bins, mut shape) = (Vec::new(), SpectralStatistics::default());
        let (mut level, mut speech) = (Levels::default(), Vec::new());
        let mut bulk_shape = SpectralStatistics::default();
        let mut at = 0;
        for length in chunks.iter().cycle() {
            let end = (at + length).min(samples);
            spectra.process(&signal[at..end], &mut bins).unwrap();
            shapes.process(&signal[at..end], &mut shape);
            bulk.process(&signal[at..end], &mut bulk_shape);
            look.look(&signal[at..end], &mut loudest).unwrap();
            levels.process(&signal[at..end], &mut level);
            vad.process(&integers[at..end], &mut speech).unwrap();
            at = end;
            if at == samples {
                break;
            }
        }
        spectra.finish(&mut bins).unwrap();
        shapes.finish(&mut shape);
        bulk.finish(&mut bulk_shape);
        look.finish_look(&mut loudest).unwrap();
        levels.finish(&mut level);
        let mut stft = Stft::new(spectrum).unwrap();
        let (rows, frames) = stft.shape(samples);
        let mut whole = vec![[0.0; 2]; rows * frames];
        stft.complex(&signal, &mut whole).unwrap();
        prop_assert_eq!(bins.len(), whole.len());
        for (place, bin) in bins.iter().enumerate() {
            let same = whole[place % rows * frames + place / rows];
            prop_assert_eq!(bin.map(f32::to_bits), same.map(f32::to_bits));
        }
        let measured = SpectralShape::new(spectrum, 16_000).unwrap().measure(&signal);
        prop_assert_eq!(&shape, &measured);
        prop_assert_eq!(bulk_shape, measured);
        let mut contrast = ContrastStream::new(spectrum, 16_000, ContrastSettings::default()).unwrap();
        let mut bands = Vec::new();
        for piece in signal.chunks(chunks[0]) {
            contrast.process(piece, loudest, &mut bands).unwrap();
        }
        contrast.finish(loudest, &mut bands).unwrap();
        let whole = SpectralContrast::new(spectrum, 16_000).unwrap().compute(&signal).unwrap();
        prop_assert_eq!(bands.len(), whole.len());
        for (place, band) in bands.iter().enumerate() {
            let same = whole[place % CONTRAST_BANDS * frames + place / CONTRAST_BANDS];
            prop_assert_eq!(band.to_bits(), same.to_bits());
        }
        prop_assert_eq!(level, Levels::measure(&signal, spectrum.framing).unwrap());
        let mut detector = WebrtcVad::new(16_000, WebrtcMode::Quality).unwrap();
        let frame = 160 * (blocks + 1);
        let decisions: Vec<bool> = integers
            .chunks_exact(frame)
            .map(|frame| detector.process(frame).unwrap())
            .collect();
        prop_assert_eq!(speech, decisions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn chroma_onset_strength_and_pyin_do_not_depend_on_chunks(
        samples in 0usize..30_000,
        seed in any::<u32>(),
        chunks in proptest::collection::vec(1usize..3000, 1..20),
    ) {
        let mut signal = signal(samples, seed);
        // Voice and pauses in turn.
        for (n, x) in signal.iter_mut().enumerate() {
            if n / 5000 % 2 == 1 {
                *x *= 0.001;
            }
        }
        let spectrum = streamable(Preset::Librosa, Stage::Mel).spectrum;
        let (range, settings) = (PitchRange::VOICE, PyinSettings::default());
        let mut chroma = ChromaStream::new(spectrum, 16_000).unwrap();
        let mut onset = OnsetStream::new(16_000, 512, 160).unwrap();
        let mut pyin = PyinStream::new(16_000, FRAMING, range, settings).unwrap();
        let mut bulk = PyinStream::in_bulk(16_000, FRAMING, range, settings).unwrap();
        let mut bulk_track = PyinTrack::default();
        let (mut classes, mut strength, mut track) =
            (Vec::new(), Vec::new(), PyinTrack::default());
        let mut rest = &signal[..];
        for length in chunks.iter().cycle() {
            let (chunk, after) = rest.split_at((*length).min(rest.len()));
            chroma.process(chunk, &mut classes).unwrap();
            onset.process(chunk, &mut strength).unwrap();
            pyin.process(chunk, &mut track);
            bulk.process(chunk, &mut bulk_track);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        chroma.finish(&mut classes).unwrap();
        onset.finish(&mut strength).unwrap();
        pyin.finish(&mut track);
        bulk.finish(&mut bulk_track);
        prop_assert_eq!(&bulk_track, &track);
        let whole = Chroma::new(spectrum, 16_000).unwrap().compute(&signal).unwrap();
        let frames = whole.len() / PITCH_CLASSES;
        prop_assert_eq!(classes.len(), frames);
        for (frame, classes) in classes.iter().enumerate() {
            for (class, value) in classes.iter().enumerate() {
                prop_assert_eq!(value.to_bits(), whole[class * frames + frame].to_bits());
            }
        }
        let mut detector = OnsetDetector::unlimited(16_000, 512, 160).unwrap();
        prop_assert_eq!(bits(&strength), bits(&detector.strength(&signal).unwrap()));
        let mut tracker = Pyin::new(16_000, FRAMING, range, settings).unwrap();
        prop_assert_eq!(track, tracker.track(&signal));
    }
}

#[test]
fn a_pyin_stream_waits_no_longer_than_its_bound_in_silence() {
    let settings = PyinSettings::default();
    let mut stream = PyinStream::new(16_000, FRAMING, PitchRange::VOICE, settings).unwrap();
    let mut track = PyinTrack::default();
    let (mut most, silence) = (0, [0.0f32; 1600]);
    for _ in 0..150 {
        stream.process(&silence, &mut track);
        most = most.max(stream.waiting());
    }
    stream.finish(&mut track);
    assert!(most <= 512 + 32, "{most} frames waited");
    assert_eq!(track.voiced.len(), 1501);
    assert_eq!(track.probability.len(), 1501);
    assert!(track.voiced.iter().all(|voiced| !voiced));
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_bad_sample_touches_only_the_frames_that_hold_it() {
    let clean = signal(8000, 1);
    let mut dirty = clean.clone();
    dirty[4000] = f32::NAN;
    let settings = streamable(Preset::Librosa, Stage::LogMel);
    let mut feature = MelFeature::new(settings).unwrap();
    let (clean, dirty) = (
        feature.compute(&clean).unwrap(),
        feature.compute(&dirty).unwrap(),
    );
    for (frame, (a, b)) in clean.chunks(40).zip(dirty.chunks(40)).enumerate() {
        let reach = (frame * 160) as i64 - 256..(frame * 160) as i64 + 256;
        if reach.contains(&4000) {
            assert!(b.iter().all(|value| value.is_nan()), "frame {frame}");
        } else {
            assert_eq!(a, b, "frame {frame}");
        }
    }
}

#[test]
fn silence_impulse_and_emptiness_are_finite_and_defined() {
    let settings = streamable(Preset::Librosa, Stage::LogMel);
    let mut feature = MelFeature::new(settings).unwrap();
    let silence = feature.compute(&[0.0; 4000]).unwrap();
    assert!(silence.iter().all(|value| (*value + 100.0).abs() < 1e-4));
    assert!(feature.compute(&[]).unwrap().is_empty());
    assert_eq!(feature.compute(&[1.0]).unwrap().len(), 40);
    let mut impulse = vec![0.0; 4000];
    impulse[2000] = 1.0;
    assert!(
        feature
            .compute(&impulse)
            .unwrap()
            .iter()
            .all(|value| value.is_finite())
    );
}

#[test]
fn a_stream_refuses_what_needs_the_whole_signal() {
    let sizes = Sizes::for_speech(16_000);
    assert!(MelStream::new(Preset::Librosa.feature(16_000, sizes, Stage::LogMel)).is_err());
    assert!(MelStream::new(Preset::Whisper.feature(16_000, sizes, Stage::LogMel)).is_err());
}
