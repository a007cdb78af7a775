//! The list of this crate's workloads.

use warpsmith_workload::Workload;

use crate::chroma::CHROMA;
use crate::constant_q::ConstantQWorkload;
use crate::contrast::CONTRAST;
use crate::effect::GriffinLimWorkload;
use crate::host::Host;
use crate::mel::Mel;
use crate::onset::ONSET;
use crate::pitch::{CrepePath, CrepeProbabilities, Hq, Praat, PyinPitch, SwipePitch, YinPitch};
use crate::quality::Formants;
use crate::resample::Resample;
use crate::spectrum::{IstftWorkload, Spectrogram};
use crate::statistics::STATISTICS;
use crate::vad::{PeriodicityTops, SpeechProbabilities};

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(Mel),
        Box::new(Spectrogram),
        Box::new(IstftWorkload),
        Box::new(GriffinLimWorkload),
        Box::new(Resample),
        Box::new(YinPitch),
        Box::new(PyinPitch),
        Box::new(Praat),
        Box::new(Hq),
        Box::new(PeriodicityTops),
        Box::new(SpeechProbabilities),
        Box::new(SwipePitch),
        Box::new(CrepeProbabilities),
        Box::new(CrepePath),
        Box::new(Formants),
        Box::new(CONTRAST),
        Box::new(ConstantQWorkload),
        Box::new(STATISTICS),
        Box::new(CHROMA),
        Box::new(ONSET),
        Box::new(Host),
    ]
}
