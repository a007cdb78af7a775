//! Sound over plain HTTP, for players that know nothing of WebSockets.
//!
//! An endless file keeps the player's buffer two seconds ahead of the clock; a file of a given
//! length comes as fast as it is taken.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};
use warpsmith_formats::wav::WavFormat;
use warpsmith_http::{Answer, write_within};
use warpsmith_synth::Stream;

use crate::metrics::Metrics;
use crate::response;
use crate::server::PATIENCE;

/// What a player may have ahead of the clock.
const AHEAD: Duration = Duration::from_secs(2);
/// Bytes of a frame of 16-bit stereo.
const FRAME_BYTES: u64 = WavFormat::pcm16(48_000, 2).frame_bytes() as u64;
/// The longest RIFF file; players take it for one without an end.
const ENDLESS_FRAMES: u64 = (u32::MAX as u64 - 36) / FRAME_BYTES;

/// A file to send.
pub(crate) struct WavFile {
    pub(crate) stream: Stream,
    /// How long; without an end where it is absent.
    pub(crate) frames: Option<u64>,
    /// Its place among the listeners or renders.
    pub(crate) place: OwnedSemaphorePermit,
    /// Counts it for as long as it is sent.
    pub(crate) sending: Sending,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Files that are being sent.
#[derive(Debug, Default)]
pub(crate) struct WavFiles {
    now: AtomicUsize,
    /// The most at once since somebody last wanted to know.
    most: AtomicUsize,
}

impl WavFiles {
    /// One more, until it is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Sending {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        Sending(Arc::clone(self))
    }

    pub(crate) fn count(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// The most that were sent at once since this was last called.
    pub(crate) fn most_since(&self) -> usize {
        let now = self.count();
        self.most.swap(now, Ordering::Relaxed).max(now)
    }
}

/// A file that is being sent.
pub(crate) struct Sending(Arc<WavFiles>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WavFile {
    /// The answer's head.
    pub(crate) fn head(&self) -> Answer {
        let answer = response::streamed("audio/wav");
        let Some(frames) = self.frames else {
            return answer;
        };
        let head = WavFormat::pcm16(self.stream.settings().sample_rate, 2).head(frames);
        let length = head.len() as u64 + frames * FRAME_BYTES;
        answer.with_computed("content-length", length.to_string())
    }
}

/// Sends the file; ends with it, with the client or with the server.
pub(crate) async fn send(mut socket: TcpStream, file: WavFile) -> io::Result<()> {
    let WavFile {
        mut stream,
        frames,
        place,
        sending,
        metrics,
        mut stopping,
    } = file;
    let rate = stream.settings().sample_rate;
    let mut bytes = WavFormat::pcm16(rate, 2).head(frames.unwrap_or(ENDLESS_FRAMES));
    let mut samples = vec![0i16; 2 * (rate as usize / 50)];
    let begun = Instant::now();
    loop {
        let left = frames.map_or(u64::MAX, |frames| frames - stream.position());
        let count = left.min(samples.len() as u64 / 2) as usize;
        stream.render_into(&mut samples[..2 * count]);
        bytes.extend_from_slice(bytemuck::cast_slice(&samples[..2 * count]));
        tokio::select! {
            written = write_within(&mut socket, &bytes, PATIENCE) => written?,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        }
        metrics.wav_bytes.add(bytes.len() as u64);
        bytes.clear();
        if left == count as u64 {
            break;
        }
        if frames.is_none() {
            let played = Duration::from_secs_f64(stream.position() as f64 / f64::from(rate));
            tokio::select! {
                () = sleep_until(begun + played.saturating_sub(AHEAD)) => {}
                _ = stopping.wait_for(|stopping| *stopping) => break,
            }
        }
    }
    drop((place, sending));
    Ok(())
}
