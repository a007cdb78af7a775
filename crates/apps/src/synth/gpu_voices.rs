//! Voices from a GPU for `synth render`, and how long it takes until the first of them are there.

use std::time::Instant;

use anyhow::{Result, bail};
use serde::Serialize;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_synth::{CudaVoices, DryEngine, DryRequest, Stream};

/// From nothing to the first sound, in parts.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WarmUp {
    device: String,
    /// Driver and context.
    context_ms: f64,
    /// Loading the kernels.
    kernels_ms: f64,
    /// The first second of music: notes, voices, copy, effects.
    first_render_ms: Option<f64>,
}

impl WarmUp {
    pub(super) fn describe(&self) -> String {
        let first = self.first_render_ms.unwrap_or(0.0);
        format!(
            "voices on {}: context {:.1} ms, kernels {:.1} ms, first second {first:.1} ms, {:.1} ms in \
             all\n",
            self.device,
            self.context_ms,
            self.kernels_ms,
            self.context_ms + self.kernels_ms + first
        )
    }
}

/// A GPU that renders the voices of one stream.
pub(super) struct GpuVoices {
    engine: CudaVoices,
    request: [DryRequest; 1],
    pub(super) warm_up: WarmUp,
}

impl GpuVoices {
    /// Opens the GPU and lets it render `stream`, of which nothing was rendered yet.
    pub(super) fn open(choice: DeviceChoice, stream: &mut Stream) -> Result<Self> {
        let begun = Instant::now();
        let device = Device::open(choice)?;
        let context_ms = begun.elapsed().as_secs_f64() * 1e3;
        let Some(gpu) = device.cuda() else {
            bail!("`--device cuda` opened {}", device.name());
        };
        if !stream.send_away() {
            bail!(
                "a GPU renders the click-free formulas alone; leave `--original` to `--device cpu`"
            );
        }
        let engine = CudaVoices::new(gpu)?;
        Ok(Self {
            request: [DryRequest::default()],
            warm_up: WarmUp {
                device: engine.name(),
                context_ms,
                kernels_ms: begun.elapsed().as_secs_f64() * 1e3 - context_ms,
                first_render_ms: None,
            },
            engine,
        })
    }

    /// The next frames of `stream`, left and right alternating.
    pub(super) fn render_into(&mut self, stream: &mut Stream, out: &mut [i16]) -> Result<()> {
        let begun = Instant::now();
        stream.ask(out.len() / 2, &mut self.request[0]);
        self.engine.render(&mut self.request)?;
        stream.render_dry_into(&self.request[0], out);
        let elapsed = begun.elapsed().as_secs_f64() * 1e3;
        self.warm_up.first_render_ms.get_or_insert(elapsed);
        Ok(())
    }
}
