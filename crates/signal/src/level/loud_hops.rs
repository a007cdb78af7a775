//! Voice activity from level alone, over a noise floor that adapts: causal, so streams can use it.
//!
//! The floor is the least smoothed level of the last one to two seconds; speech is what stands
//! `margin_db` above it. Digital silence and anything below −70 dBFS is never speech.

use super::energy;

/// Levels below this are silence whatever the floor, dBFS.
const SILENCE_DB: f32 = -70.0;
/// Hops in one of the two blocks whose least level is the floor: 1 s of 10 ms hops.
const BLOCK_HOPS: usize = 100;
/// Hops that speech lasts after the level has fallen: 150 ms.
const HANG_HOPS: usize = 15;

/// The state of a detector that takes hops of any fixed length.
#[derive(Clone, Debug)]
pub struct EnergyVad {
    margin_db: f32,
    smoothed: Option<f32>,
    /// Least levels of the block before and of the running one.
    least: [f32; 2],
    in_block: usize,
    hang: usize,
}

impl EnergyVad {
    /// A detector that calls speech what is `margin_db` above the noise (6 is a good start).
    pub fn new(margin_db: f32) -> Self {
        Self {
            margin_db,
            smoothed: None,
            least: [f32::INFINITY; 2],
            in_block: 0,
            hang: 0,
        }
    }

    /// Takes the next hop (10 ms) and says whether it holds speech.
    pub fn process(&mut self, hop: &[f32]) -> bool {
        let mean = energy(hop) / hop.len().max(1) as f32;
        let level = 10.0 * mean.max(1e-12).log10();
        let smoothed = self.smoothed.map_or(level, |old| old + 0.3 * (level - old));
        self.smoothed = Some(smoothed);
        self.least[1] = self.least[1].min(smoothed);
        self.in_block += 1;
        if self.in_block == BLOCK_HOPS {
            self.least = [self.least[1], smoothed];
            self.in_block = 0;
        }
        let floor = self.least[0].min(self.least[1]).max(SILENCE_DB);
        if level > SILENCE_DB && smoothed > floor + self.margin_db {
            self.hang = HANG_HOPS;
            return true;
        }
        let hanging = self.hang > 0;
        self.hang = self.hang.saturating_sub(1);
        hanging
    }

    /// One decision to a full hop of `signal`, from a fresh state.
    pub fn decide(mut self, signal: &[f32], hop: usize) -> Vec<bool> {
        signal
            .chunks_exact(hop.max(1))
            .map(|hop| self.process(hop))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_after_noise_is_speech_and_silence_never_is() {
        let signal: Vec<f32> = (0..48_000u32)
            .map(|n| {
                let noise = (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
                let tone = (n as f32 * 0.1).sin() * if n / 16_000 == 1 { 0.2 } else { 0.0 };
                tone + 0.002 * noise
            })
            .collect();
        let decisions = EnergyVad::new(6.0).decide(&signal, 160);
        assert!(decisions[110..190].iter().all(|speech| *speech));
        assert!(
            decisions[..95]
                .iter()
                .chain(&decisions[230..])
                .all(|speech| !speech)
        );
        assert!(
            EnergyVad::new(6.0)
                .decide(&[0.0; 16_000], 160)
                .iter()
                .all(|speech| !speech)
        );
    }
}
