//! The order of the effects: pads through the filter and the chorus, all but pads into the delay, all
//! into the reverb, and the mix.

use super::chorus::Chorus;
use super::control::Controls;
use super::delay::Delay;
use super::filter::LowPass;
use super::reverb::Reverb;
use crate::params::Params;
use crate::sound::{Lane, QUANTUM};
use warpsmith_lanes::Task;

/// What of the dry sound goes into the reverb.
pub(crate) const SEND: f32 = 0.35;
/// Loudness of dry, delayed and reverberated sound at full `space`, relative to `1`, `0`, `0`.
pub(crate) const DRY_LOSS: f64 = 0.3;
pub(crate) const DELAY_MIX: f64 = 0.45;
pub(crate) const REVERB_MIX: f64 = 0.9;

/// Gains of dry, delay and reverb.
pub(crate) fn mix_gains(space: f64, volume: f64) -> [f32; 3] {
    [
        (volume * (1.0 - DRY_LOSS * space)) as f32,
        (volume * DELAY_MIX * space) as f32,
        (volume * REVERB_MIX * space) as f32,
    ]
}

/// All effects of one stream.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) controls: Controls,
    filter: LowPass,
    chorus: Chorus,
    delay: Delay,
    reverb: Reverb,
    /// Quanta that have been mixed.
    quanta: u64,
    gains: [f32; 3],
    sample_rate: u32,
}

impl Clone for Chain {
    fn clone(&self) -> Self {
        Self {
            filter: self.filter.clone(),
            chorus: self.chorus.clone(),
            quanta: self.quanta,
            delay: self.delay.clone(),
            reverb: self.reverb.clone(),
            controls: self.controls,
            gains: self.gains,
            sample_rate: self.sample_rate,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.filter.clone_from(&source.filter);
        self.chorus.clone_from(&source.chorus);
        self.quanta = source.quanta;
        self.delay.clone_from(&source.delay);
        self.reverb.clone_from(&source.reverb);
        self.controls = source.controls;
        self.gains = source.gains;
        self.sample_rate = source.sample_rate;
    }
}

impl Chain {
    pub(crate) fn new(params: &Params, sample_rate: u32) -> Self {
        let controls = Controls::new(params, sample_rate);
        Self {
            filter: LowPass::new(controls.cutoff.value, sample_rate),
            chorus: Chorus::new(sample_rate),
            quanta: 0,
            delay: Delay::new(params.bpm, sample_rate),
            reverb: Reverb::new(controls.space.value, sample_rate),
            gains: mix_gains(controls.space.value, controls.volume.value),
            controls,
            sample_rate,
        }
    }
}

/// Mixes a quantum of pads and of everything else into `plain`.
pub(crate) struct Mix<'a> {
    pub(crate) chain: &'a mut Chain,
    pub(crate) params: &'a Params,
    pub(crate) pads: &'a mut [Lane; 2],
    pub(crate) plain: &'a mut [Lane; 2],
}

impl Task for Mix<'_> {
    #[inline(always)]
    fn run(self) {
        let Self {
            chain,
            params,
            pads,
            plain,
        } = self;
        chain.controls.step();
        let quantum = chain.quanta;
        chain.quanta += 1;
        chain.filter.run(chain.controls.cutoff.value, pads);
        chain.chorus.run(quantum, pads);
        chain.delay.aim(params.bpm, chain.sample_rate);
        let mut to_delay = [0.0; QUANTUM];
        for j in 0..QUANTUM {
            to_delay[j] = 0.5 * (plain[0][j] + plain[1][j]);
        }
        let delayed = chain.delay.run(&to_delay);
        let mut to_reverb = [[0.0; QUANTUM]; 2];
        for channel in 0..2 {
            for j in 0..QUANTUM {
                plain[channel][j] += pads[channel][j];
                to_reverb[channel][j] = SEND * (plain[channel][j] + delayed[channel][j]);
            }
        }
        let space = chain.controls.space.value;
        let wet = chain.reverb.run(quantum, space, &to_reverb);
        let (from, to) = (chain.gains, mix_gains(space, chain.controls.volume.value));
        let slope: [f32; 3] = std::array::from_fn(|i| (to[i] - from[i]) / QUANTUM as f32);
        for channel in 0..2 {
            for j in 0..QUANTUM {
                let gain = |i: usize| from[i] + slope[i] * j as f32;
                plain[channel][j] = gain(0) * plain[channel][j]
                    + gain(1) * delayed[channel][j]
                    + gain(2) * wet[channel][j];
            }
        }
        chain.gains = to;
    }
}
