//! The order of the effects: pads through the filter and the chorus, all into the room, and the mix.

use super::chorus::Chorus;
use super::control::Controls;
use super::filter::LowPass;
use super::room::Room;
use crate::params::Params;
use crate::sound::{Lane, QUANTUM};
use warpsmith_lanes::Task;

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

/// Gains of dry, delay and reverb over a quantum.
pub(crate) struct Gains {
    from: [f32; 3],
    slope: [f32; 3],
}

impl Gains {
    /// One of them at a sample of the quantum.
    #[inline(always)]
    pub(crate) fn at(&self, which: usize, sample: usize) -> f32 {
        self.from[which] + self.slope[which] * sample as f32
    }
}

/// All effects of one stream.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) controls: Controls,
    filter: LowPass,
    chorus: Chorus,
    room: Room,
    /// Quanta that have been mixed.
    quanta: u64,
    gains: [f32; 3],
}

impl Clone for Chain {
    fn clone(&self) -> Self {
        Self {
            filter: self.filter.clone(),
            chorus: self.chorus.clone(),
            quanta: self.quanta,
            room: self.room.clone(),
            controls: self.controls,
            gains: self.gains,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.filter.clone_from(&source.filter);
        self.chorus.clone_from(&source.chorus);
        self.quanta = source.quanta;
        self.room.clone_from(&source.room);
        self.controls = source.controls;
        self.gains = source.gains;
    }
}

impl Chain {
    pub(crate) fn new(params: &Params, sample_rate: u32) -> Self {
        let controls = Controls::new(params, sample_rate);
        Self {
            filter: LowPass::new(controls.cutoff.value, sample_rate),
            chorus: Chorus::new(sample_rate),
            quanta: 0,
            room: Room::new(params.bpm, controls.space.value, sample_rate),
            gains: mix_gains(controls.space.value, controls.volume.value),
            controls,
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
        let mut middle = [0.0; QUANTUM];
        for j in 0..QUANTUM {
            middle[j] = 0.5 * (plain[0][j] + plain[1][j]);
        }
        for channel in 0..2 {
            for j in 0..QUANTUM {
                plain[channel][j] += pads[channel][j];
            }
        }
        let space = chain.controls.space.value;
        let (from, to) = (chain.gains, mix_gains(space, chain.controls.volume.value));
        let slope = std::array::from_fn(|i| (to[i] - from[i]) / QUANTUM as f32);
        let gains = Gains { from, slope };
        chain.room.aim(params.bpm);
        let wet = chain.room.run(quantum, space, &gains, &middle, plain);
        for channel in 0..2 {
            for j in 0..QUANTUM {
                plain[channel][j] = gains.at(0, j) * plain[channel][j] + wet[channel][j];
            }
        }
        chain.gains = to;
    }
}
