//! Where pYIN on the GPU and on the CPU part, and whether rounding explains it.

use warpsmith_device::CudaDevice;
use warpsmith_voice::{Framing, Padding, PitchRange, PyinAudit, PyinSettings, audit_pyin_on_cuda};
use warpsmith_workload::random::Random;

/// Every frame whose candidates differ between GPU and CPU, with the decision that rounding turned. A frame
/// without such a decision, and a state off the best path, are errors.
pub(crate) fn audited(
    gpu: &CudaDevice,
    rate: u32,
    framing: Framing,
    signals: &[&[f32]],
) -> Result<(PyinAudit, String), Box<dyn std::error::Error>> {
    let (range, settings) = (PitchRange::VOICE, PyinSettings::default());
    let audit = audit_pyin_on_cuda(gpu, rate, framing, range, settings, signals)?;
    let mut lines = format!(
        "audit {rate} Hz pYIN: {} frames on the best path, {} of {} pieces walked again; {} frames that \
         rounding decides\n",
        audit.frames,
        audit.repaired,
        audit.pieces,
        audit.undecided.len()
    );
    for frame in audit.undecided.iter().take(6) {
        let close = frame.close;
        lines.push_str(&format!(
            "  signal {} frame {}: {:?} at lag {}, margin {:.1e} of {:.1e}; on the GPU {:?}, on the CPU \
             {:?}\n",
            frame.signal,
            frame.frame,
            close.decision,
            close.lag,
            close.margin,
            close.bound,
            frame.on_gpu,
            frame.on_cpu
        ));
    }
    Ok((audit, lines))
}

/// pYIN of noise, of long silence, of pauses and of a minute of voice, frame by frame.
pub(crate) fn of_long_signals(gpu: &CudaDevice) -> Result<String, Box<dyn std::error::Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = Random::seeded(now.subsec_nanos().into());
    let mut lines = String::new();
    for rate in [16_000u32, 44_100] {
        let seconds = |count: usize| count * rate as usize;
        let noise: Vec<f32> = (0..seconds(20))
            .map(|_| random.unit() as f32 - 0.5)
            .collect();
        let mut phase = 0.0f64;
        let voice: Vec<f32> = (0..seconds(60))
            .map(|n| {
                let t = n as f64 / f64::from(rate);
                phase += (150.0 + 60.0 * (0.7 * t).sin()) / f64::from(rate);
                let angle = std::f64::consts::TAU * phase;
                let tone: f64 = (1..9)
                    .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                    .sum();
                let loud = if t % 2.3 < 1.6 { 0.3 } else { 0.0005 };
                (loud * tone + 0.002 * (random.unit() - 0.5)) as f32
            })
            .collect();
        let mut silence = voice.clone();
        silence[seconds(5)..seconds(35)].fill(0.0);
        let framing = Framing {
            length: if rate > 16_000 { 2048 } else { 1024 },
            hop: rate as usize / 100,
            padding: Padding::CentredZero,
        };
        for (name, signal) in [("noise", &noise), ("voice", &voice), ("silence", &silence)] {
            let (_, line) = audited(gpu, rate, framing, &[signal])?;
            lines.push_str(&format!("{name}: {line}"));
        }
    }
    Ok(lines)
}
