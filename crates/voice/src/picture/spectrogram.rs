//! A log-mel spectrogram with the pitch drawn over it and speech marked under it.
//!
//! The vertical axis is mel, so that a pitch has its place on it; time goes to the right, a pixel to
//! a frame, or to several where the picture would be too wide.

use std::fmt::Write as _;
use std::io::{self, Write};

use warpsmith_formats::{base64, html, png};
use warpsmith_signal::Result;

use crate::mel::Layout;
use crate::mel::MelFeature;
use crate::mel::MelScale;
use crate::mel::{Preset, Sizes, Stage};
use crate::pitch::{HqPitch, PitchRange};
use crate::vad::{Segment, StatisticalSettings, StatisticalVad, segments};

/// Widest picture, pixels.
const WIDEST: usize = 2000;
/// Pixels of a mel band, and of the strip that marks speech.
const BAND_PIXELS: usize = 4;
const STRIP_PIXELS: usize = 10;
/// Levels further below the loudest are black, dB.
const RANGE_DB: f32 = 80.0;
/// The least that the loudest level is taken for, dB.
const QUIET_DB: f32 = -20.0;
/// Colours of the pitch and of speech.
const PITCH: [u8; 3] = [80, 255, 255];
const SPEECH: [u8; 3] = [90, 200, 90];

const PAGE_STYLE: &str = "body{font-family:sans-serif;margin:2em;background:#fff}\
svg{max-width:100%;height:auto}";

/// What is drawn.
#[derive(Clone, Debug)]
pub struct SpectrogramPicture {
    width: usize,
    bands: usize,
    /// Levels of `[column, band]`, 0 to 1.
    levels: Vec<f32>,
    /// Row of each column's pitch from the top of the spectrogram, where there is one.
    pitch: Vec<Option<f32>>,
    speech: Vec<Segment>,
    seconds: f64,
    highest_hz: f64,
}

impl SpectrogramPicture {
    /// Analyses `signal` at `sample_rate`.
    pub fn new(signal: &[f32], sample_rate: u32) -> Result<Self> {
        let sizes = Sizes::for_speech(sample_rate);
        let mut settings = Preset::Htk.feature(sample_rate, sizes, Stage::LogMel);
        settings.layout = Layout::FramesFirst;
        let mut feature = MelFeature::new(settings)?;
        let (bands, frames) = feature.shape(signal.len());
        let values = feature.compute(signal)?;
        let per_column = frames.div_ceil(WIDEST).max(1);
        let width = frames.div_ceil(per_column).max(1);
        // A silent file is dark: nothing below this level is taken for the loudest.
        let loudest = values.iter().copied().fold(QUIET_DB, f32::max);
        let mut levels = vec![0.0f32; width * bands];
        for (frame, row) in values.chunks_exact(bands).enumerate() {
            let column = frame / per_column;
            for (slot, value) in levels[column * bands..].iter_mut().zip(row) {
                // The loudest frame of a column, so that a click stays visible.
                let level = 1.0 + (value - loudest) / RANGE_DB;
                *slot = slot.max(level.clamp(0.0, 1.0));
            }
        }
        let range = PitchRange {
            high_hz: PitchRange::VOICE.high_hz.min(f64::from(sample_rate) / 2.0),
            ..PitchRange::VOICE
        };
        let track = HqPitch::new(sample_rate, sizes.hop, range)?.track(signal);
        let highest_hz = f64::from(sample_rate) / 2.0;
        let top = MelScale::Htk.mel(highest_hz);
        let height = (bands * BAND_PIXELS) as f64;
        let mut pitch = vec![None; width];
        // Frames are a hop apart. Rounding each time of its own would, where times lie between two
        // columns, put two frames into one column and none into the next.
        let start = track.seconds.first().copied().unwrap_or(0.0);
        let first = (start * f64::from(sample_rate) / sizes.hop as f64).round() as usize;
        for (index, hz) in track.frequency.iter().enumerate() {
            let column = (first + index) / per_column;
            if let Some(slot) = pitch.get_mut(column).filter(|_| *hz > 0.0) {
                let share = MelScale::Htk.mel(f64::from(*hz)) / top;
                *slot = Some((height * (1.0 - share)) as f32);
            }
        }
        let mut vad = StatisticalVad::new(sample_rate, StatisticalSettings::default())?;
        Ok(Self {
            width,
            bands,
            levels,
            pitch,
            speech: segments(&vad.decide(signal)?, 0.01),
            seconds: signal.len() as f64 / f64::from(sample_rate.max(1)),
            highest_hz,
        })
    }

    /// Width and height, pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.bands * BAND_PIXELS + STRIP_PIXELS)
    }

    /// The spectrogram alone, row by row from the top.
    fn spectrogram(&self) -> Vec<[u8; 3]> {
        let mut pixels = Vec::with_capacity(self.width * self.bands * BAND_PIXELS);
        for row in 0..self.bands * BAND_PIXELS {
            let band = self.bands - 1 - row / BAND_PIXELS;
            for column in 0..self.width {
                pixels.push(colour(self.levels[column * self.bands + band]));
            }
        }
        pixels
    }

    /// A PNG file with everything drawn into it.
    pub fn write_png(&self, out: &mut impl Write) -> io::Result<()> {
        let mut pixels = self.spectrogram();
        let height = self.bands * BAND_PIXELS;
        for (column, row) in self.pitch.iter().enumerate() {
            let Some(row) = row.map(|row| row as usize) else {
                continue;
            };
            for row in row.saturating_sub(1)..=(row + 1).min(height - 1) {
                pixels[row * self.width + column] = PITCH;
            }
        }
        let mut strip = vec![[30u8; 3]; self.width];
        for segment in &self.speech {
            let (from, to) = (self.column(segment.start), self.column(segment.end));
            strip[from..to].fill(SPEECH);
        }
        for _ in 0..STRIP_PIXELS {
            pixels.extend_from_slice(&strip);
        }
        out.write_all(&png::encode_rgb(self.width, &pixels)?)
    }

    fn column(&self, seconds: f64) -> usize {
        let share = seconds / self.seconds.max(f64::MIN_POSITIVE);
        ((share * self.width as f64) as usize).min(self.width)
    }

    /// An SVG document: the spectrogram as an image, pitch and speech as lines over it.
    pub fn svg(&self) -> io::Result<String> {
        let (width, height) = self.size();
        let spectrogram = height - STRIP_PIXELS;
        let image = png::encode_rgb(self.width, &self.spectrogram())?;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\">\n<title>{:.2} s, 0 to {} Hz</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#1e1e1e\"/>\n\
             <image width=\"{width}\" height=\"{spectrogram}\" \
             href=\"data:image/png;base64,{}\"/>\n",
            self.seconds,
            self.highest_hz,
            base64::encode(&image),
        );
        for segment in &self.speech {
            let (from, to) = (self.column(segment.start), self.column(segment.end));
            let _ = writeln!(
                text,
                "<rect x=\"{from}\" y=\"{spectrogram}\" width=\"{}\" \
                 height=\"{STRIP_PIXELS}\" fill=\"#5ac85a\"><title>speech {:.2} to {:.2} \
                 s</title></rect>",
                to - from,
                segment.start,
                segment.end,
            );
        }
        for run in self.pitch_runs() {
            let points: Vec<String> = run
                .iter()
                .map(|(column, row)| format!("{:.1},{row:.1}", *column as f64 + 0.5))
                .collect();
            let _ = writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"#50ffff\" \
                 stroke-width=\"2\"/>",
                points.join(" "),
            );
        }
        text.push_str("</svg>\n");
        Ok(text)
    }

    /// Unbroken stretches of pitch.
    fn pitch_runs(&self) -> Vec<Vec<(usize, f32)>> {
        let mut runs: Vec<Vec<(usize, f32)>> = Vec::new();
        let mut open = false;
        for (column, row) in self.pitch.iter().enumerate() {
            match row {
                Some(row) if open => {
                    if let Some(run) = runs.last_mut() {
                        run.push((column, *row));
                    }
                }
                Some(row) => runs.push(vec![(column, *row)]),
                None => {}
            }
            open = row.is_some();
        }
        runs
    }

    /// A page with the picture and what its colours mean.
    pub fn html(&self, title: &str) -> io::Result<String> {
        let body = format!(
            "<h1>{}</h1>\n{}<p>{:.2} s; mel axis from 0 to {} Hz; the line is the pitch, the bar \
             under the spectrogram is speech.</p>\n",
            html::escape(title),
            self.svg()?,
            self.seconds,
            self.highest_hz,
        );
        Ok(html::page(title, PAGE_STYLE, &body))
    }
}

/// Black over violet and orange to white: as bright as the level, for eyes that see no hue too.
fn colour(level: f32) -> [u8; 3] {
    let stops: [[f32; 3]; 5] = [
        [0.0, 0.0, 4.0],
        [81.0, 18.0, 124.0],
        [183.0, 55.0, 121.0],
        [252.0, 137.0, 97.0],
        [252.0, 253.0, 191.0],
    ];
    let place = level.clamp(0.0, 1.0) * 4.0;
    let low = (place as usize).min(3);
    let share = place - low as f32;
    let mut out = [0u8; 3];
    for (channel, slot) in out.iter_mut().enumerate() {
        let value = stops[low][channel] + share * (stops[low + 1][channel] - stops[low][channel]);
        *slot = value.round() as u8;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> SpectrogramPicture {
        let signal: Vec<f32> = (0..32_000)
            .map(|n| {
                let phase = std::f32::consts::TAU * 200.0 * n as f32 / 16_000.0;
                let on = (8000..24_000).contains(&n);
                let voice: f32 = (1..8).map(|k| (k as f32 * phase).sin() / k as f32).sum();
                let hiss = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                0.001 * hiss + if on { 0.2 * voice } else { 0.0 }
            })
            .collect();
        SpectrogramPicture::new(&signal, 16_000).unwrap()
    }

    #[test]
    fn the_pitch_is_drawn_where_it_is_heard() {
        let picture = picture();
        assert_eq!(picture.size(), (201, 330));
        // 200 Hz is 283 of 2840 mel: a tenth of the way up.
        let row = picture.pitch[100].unwrap();
        assert!((row - 320.0 * (1.0 - 283.2 / 2840.0)).abs() < 1.0, "{row}");
        assert!(picture.pitch[10].is_none());
        let tone = &picture.pitch[55..145];
        let heard = tone.iter().flatten().filter(|at| (*at - row).abs() < 1.0);
        assert_eq!(heard.count(), tone.len(), "{tone:?}");
        assert!(!picture.speech.is_empty());
        let mut bytes = Vec::new();
        picture.write_png(&mut bytes).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
        let svg = picture.svg().unwrap();
        assert!(svg.contains("<polyline") && svg.contains("data:image/png;base64,iVBOR"));
        assert!(picture.html("a<b").unwrap().contains("<h1>a&lt;b</h1>"));
    }

    #[test]
    fn emptiness_and_silence_can_be_drawn() {
        for signal in [&[][..], &[0.0; 100][..], &[0.0; 9000][..]] {
            let picture = SpectrogramPicture::new(signal, 16_000).unwrap();
            assert!(picture.write_png(&mut Vec::new()).is_ok());
            assert!(picture.svg().unwrap().ends_with("</svg>\n"));
        }
    }
}
