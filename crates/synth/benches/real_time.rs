//! Figures of one core: the reference phrase, streams with their effects, and pads in real time.
//! `-- streams` measures the streams alone.

#![allow(clippy::print_stdout)] // a program whose output is its purpose

use std::hint::black_box;
use std::time::Instant;

use warpsmith_measure::cpu::thread_usage::ThreadUsage;
use warpsmith_synth::{
    Formulas, InstructionSet, Note, Params, Patch, Phrase, PhraseRenderer, Saw, Stream,
    StreamSettings, Voice,
};

/// The shortest of several runs and their median, in seconds of CPU time where the system counts it
/// per thread: on a busy machine the wall clock times the neighbours.
fn time(mut work: impl FnMut()) -> (f64, f64) {
    work();
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let (start, cpu) = (Instant::now(), ThreadUsage::read());
            work();
            let wall = start.elapsed();
            match (cpu, ThreadUsage::read()) {
                (Some(before), Some(after)) => after.cpu_time - before.cpu_time,
                _ => wall,
            }
            .as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn phrase_times(name: &str, settings: StreamSettings, effects: Option<Params>) {
    let mut renderer = PhraseRenderer::new(Phrase::reference(), settings, effects).unwrap();
    let mut out = vec![0i16; 2 * renderer.phrase().frames];
    let (shortest, median) = time(|| renderer.render_pcm16(black_box(&mut out)));
    println!(
        "  {name:44} {:7.2} ms  median {:7.2} ms  {:6.0} x real time",
        shortest * 1e3,
        median * 1e3,
        renderer.phrase().seconds() / shortest
    );
}

fn voices(name: &str, settings: StreamSettings) {
    let notes: Vec<Note> = (0..64)
        .map(|index| Note {
            voice: Voice::Pad,
            start: 0,
            length: 1_209_600,
            pitch: 40.0 + index as f32 * 0.5,
            velocity: 0.01,
            pan: index as f32 / 32.0 - 1.0,
            seed: 0,
            patch: Patch::Usual,
        })
        .collect();
    let phrase = Phrase {
        sample_rate: 44_100,
        frames: 1_209_600 / 4,
        notes,
    };
    let mut renderer = PhraseRenderer::new(phrase, settings, None).unwrap();
    let mut out = vec![0i16; 2 * renderer.phrase().frames];
    let (shortest, median) = time(|| renderer.render_pcm16(black_box(&mut out)));
    let count = |seconds: f64| 64.0 * renderer.phrase().seconds() / seconds;
    println!(
        "  {name:44} {:9.0}  median {:9.0}",
        count(shortest),
        count(median)
    );
}

/// `count` streams, a block of each in turn: with a thousand of them none finds its state in the
/// cache, as in a server.
fn streams(count: u64) {
    let mut streams: Vec<Stream> = (0..count)
        .map(|seed| Stream::new(seed, Params::default()).unwrap())
        .collect();
    let mut block = vec![0i16; 2 * 4_800];
    let rounds = (2_000 / count).max(1);
    for _ in 0..(100 / rounds).max(1) {
        for stream in &mut streams {
            stream.render_into(&mut block);
        }
    }
    let (shortest, median) = time(|| {
        for _ in 0..rounds {
            for stream in &mut streams {
                stream.render_into(black_box(&mut block));
            }
        }
    });
    let voices: usize = streams.iter().map(Stream::sounding_voices).sum();
    let each = |seconds: f64| seconds / (count * rounds) as f64 * 1e6;
    println!(
        "  {count:4} in turn, {:4.1} voices each {:9.1} us  median {:9.1} us",
        voices as f64 / count as f64,
        each(shortest),
        each(median)
    );
}

fn main() {
    println!(
        "one core, {}, shortest of 15 runs",
        InstructionSet::widest()
    );
    println!("streams of their own with all effects, 100 ms at 48 kHz");
    for count in [1, 16, 1_000] {
        streams(count);
    }
    if std::env::args().any(|argument| argument == "streams") {
        return;
    }
    let style = |formulas, saw| StreamSettings {
        formulas,
        saw,
        ..StreamSettings::default()
    };
    println!("reference phrase, 27.4 s, 16-bit stereo in memory");
    phrase_times(
        "original formulas, naive saw, dry",
        style(Formulas::Original, Saw::Naive),
        None,
    );
    phrase_times(
        "original formulas, spline saw, dry",
        style(Formulas::Original, Saw::Spline),
        None,
    );
    phrase_times(
        "click-free, spline saw, dry",
        style(Formulas::ClickFree, Saw::Spline),
        None,
    );
    let effects = Some(Params::default());
    phrase_times(
        "original formulas, spline saw, effects",
        style(Formulas::Original, Saw::Spline),
        effects,
    );
    phrase_times(
        "click-free, spline saw, effects",
        style(Formulas::ClickFree, Saw::Spline),
        effects,
    );
    println!("held pads in real time, envelope and tremolo of their own");
    for simd in InstructionSet::present() {
        for saw in [Saw::Naive, Saw::PolyBlep, Saw::Spline] {
            for formulas in [Formulas::Original, Formulas::ClickFree] {
                let settings = StreamSettings {
                    simd,
                    ..style(formulas, saw)
                };
                let channels = if formulas == Formulas::Original {
                    "mono"
                } else {
                    "panned"
                };
                voices(&format!("{simd}, {saw:?}, {channels}"), settings);
            }
        }
    }
}
