//! Trained networks on recordings, on the GPU and on the CPU.

use std::path::Path;

use warpsmith_device::CudaDevice;
use warpsmith_voice::{
    Audio, ChannelChoice, NeuralSettings, NeuralVad, SileroNetwork, Weights, neural_vad_on_cuda,
    speech_probabilities_on_cuda,
};

/// The probabilities and decisions of the trained network for a recording.
pub(crate) fn speech_agrees(
    gpu: &CudaDevice,
    path: &Path,
) -> Result<String, Box<dyn std::error::Error>> {
    let weights =
        std::env::var_os("WARPSMITH_SILERO").ok_or("$WARPSMITH_SILERO names no weights")?;
    let network = SileroNetwork::new(&Weights::read(Path::new(&weights))?)?;
    let audio = Audio::read(path)?;
    let (signal, rate) = (&audio.signal(ChannelChoice::Mix)?[..], audio.sample_rate);
    let settings = NeuralSettings::default();
    let mut vad = NeuralVad::new(&network, rate, settings)?;
    let decisions = neural_vad_on_cuda(gpu, &network, rate, settings, &[signal])?;
    if decisions != [vad.decide(signal)] {
        return Err("other decisions than the CPU's".into());
    }
    let mut line = format!("{} decisions are the CPU's", decisions[0].len());
    if rate == 16_000 {
        let theirs = vad.probabilities(signal);
        let ours = speech_probabilities_on_cuda(gpu, &network, &[signal])?;
        let apart = ours[0].iter().zip(&theirs).map(|(a, b)| (a - b).abs());
        let worst = apart.fold(0.0, f32::max);
        if ours[0].len() != theirs.len() || worst > 1e-4 {
            return Err(format!("probabilities differ by {worst:.1e}").into());
        }
        line.push_str(&format!(
            ", {} probabilities within {worst:.1e}",
            theirs.len()
        ));
    }
    Ok(line)
}
