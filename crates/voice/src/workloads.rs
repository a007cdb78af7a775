//! The list of this crate's workloads.

use warpsmith_workload::Workload;

use crate::chroma::CHROMA;
use crate::constant_q::CONSTANT_Q;
use crate::contrast::CONTRAST;
use crate::effect::GriffinLimWorkload;
use crate::formants::FORMANTS;
use crate::host::Host;
use crate::mel::{MEL, MFCC};
use crate::net::NET;
use crate::onset::ONSET;
use crate::pitch::{CrepePath, CrepeProbabilities, HQ, PRAAT, PYIN, SWIPE, YIN};
use crate::resample::RESAMPLE;
use crate::spectrum::{IstftWorkload, SPECTROGRAM};
use crate::statistics::STATISTICS;
use crate::vad::{PERIODICITY, SpeechProbabilities};

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(MEL),
        Box::new(MFCC),
        Box::new(SPECTROGRAM),
        Box::new(IstftWorkload),
        Box::new(GriffinLimWorkload),
        Box::new(RESAMPLE),
        Box::new(YIN),
        Box::new(PYIN),
        Box::new(PRAAT),
        Box::new(HQ),
        Box::new(NET),
        Box::new(PERIODICITY),
        Box::new(SpeechProbabilities),
        Box::new(SWIPE),
        Box::new(CrepeProbabilities),
        Box::new(CrepePath),
        Box::new(FORMANTS),
        Box::new(CONTRAST),
        Box::new(CONSTANT_Q),
        Box::new(STATISTICS),
        Box::new(CHROMA),
        Box::new(ONSET),
        Box::new(Host),
    ]
}
