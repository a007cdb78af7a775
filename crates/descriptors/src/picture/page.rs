//! One HTML file with the picture and the sound: it plays, a cursor moves with it, and a click goes there.

use std::io;

use warpsmith_formats::wav::WavFormat;
use warpsmith_formats::{base64, html};

use super::Picture;

/// Most samples of a page: 16 bits each, a third more as text, is what browsers still take.
const MOST_SAMPLES: usize = 100_000_000;

const STYLE: &str = "body{font-family:sans-serif;margin:1.5em;color:#222;background:#fff}\
audio{width:100%;max-width:60em;display:block;margin:.8em 0}\
.picture{position:relative;overflow-x:auto}\
svg{display:block;cursor:crosshair}\
#time{font-variant-numeric:tabular-nums}";

/// Moves the cursor with the sound, and the sound with clicks and arrow keys.
const SCRIPT: &str = include_str!("page.js");

impl Picture {
    /// A page that shows the picture of `signal` and plays it. It needs nothing else, and no network.
    ///
    /// # Errors
    /// Where the recording is too long for a page, or an image larger than PNG allows.
    pub fn page(&self, signal: &[f32], sample_rate: u32) -> io::Result<String> {
        if signal.len() > MOST_SAMPLES {
            let seconds = MOST_SAMPLES / sample_rate.max(1) as usize;
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a page can hold {seconds} s of sound at {sample_rate} Hz; write `.svg` or `.png`"
                ),
            ));
        }
        let (left, columns) = self.axis;
        let body = format!(
            "<h1>{}</h1>\n<audio controls preload=\"auto\" src=\"data:audio/wav;base64,{}\"></audio>\n\
             <p><span id=\"time\">0.00 s</span> of {:.2} s. Click into the picture to go there.</p>\n\
             <div class=\"picture\" data-axis='{{\"left\":{left},\"columns\":{columns},\
             \"seconds\":{},\"height\":{}}}'>\n{}</div>\n<script>{SCRIPT}</script>",
            html::escape(&self.title),
            base64::encode(&wav(signal, sample_rate)),
            self.seconds,
            self.seconds,
            self.height,
            self.svg()?
        );
        Ok(html::page(&self.title, STYLE, &body))
    }
}

/// A WAV file of 16-bit integers, which every browser plays.
fn wav(signal: &[f32], sample_rate: u32) -> Vec<u8> {
    let mut bytes = WavFormat::pcm16(sample_rate, 1).head(signal.len() as u64);
    for x in signal {
        let value = (x.clamp(-1.0, 1.0) * 32_767.0).round() as i16;
        bytes.extend(value.to_le_bytes());
    }
    bytes
}
