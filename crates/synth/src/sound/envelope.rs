//! Envelopes as at most five pieces of the form `level + scale·exp(−rate·k)`.
//!
//! Invariants: pieces are in order and cover `0..length`; click-free envelopes start and end at
//! zero and are continuous at every joint, which the original's are not.

use super::super::note::Formulas;

/// One piece: `level + scale·exp(−rate·(k − start))` from sample `start` on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Piece {
    /// First sample.
    pub start: u32,
    /// What it tends to.
    pub level: f64,
    /// How far from that it starts.
    pub scale: f64,
    /// Decay per sample.
    pub rate: f64,
}

impl Piece {
    /// From silence to full in so many samples.
    fn rise(steepness: f64, attack: u32) -> Self {
        let top = 1.0 / (1.0 - (-steepness).exp());
        Self {
            start: 0,
            level: top,
            scale: -top,
            rate: steepness / f64::from(attack),
        }
    }

    /// From what was reached to zero, which falls on the first sample after the end.
    fn fall(start: u32, reached: f64, release: u32) -> Self {
        let edge = 1.0 / (1.0 - (-EDGE).exp());
        Self {
            start,
            level: -reached * (edge - 1.0),
            scale: reached * edge,
            rate: EDGE / f64::from(release),
        }
    }
}

/// Attack, decay and release in seconds, sustain as a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adsr {
    /// Seconds from silence to full.
    pub attack: f64,
    /// Seconds from full to sustain.
    pub decay: f64,
    /// Level that is held.
    pub sustain: f64,
    /// Seconds from wherever it is to silence.
    pub release: f64,
}

/// Pieces that an envelope has at most.
pub const PIECES: usize = 5;

/// An envelope over a note's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Envelope {
    pieces: [Piece; PIECES],
    count: usize,
    length: u32,
}

/// Steepness of attack and release: `exp(−5)` is what is left at their end.
const EDGE: f64 = 5.0;
/// Steepness of the decay.
const DECAY: f64 = 3.0;
/// Steepness of what is struck: almost a straight line, so that a cubic follows it over a quantum
/// although it is short.
const STROKE: f64 = 0.1;
/// A mode that has fallen to a four-thousandth is over: in times of its fall to a thousandth.
const FADED: f64 = 1.2;

impl Envelope {
    fn empty(length: u32) -> Self {
        Self {
            pieces: [Piece::default(); PIECES],
            count: 0,
            length,
        }
    }

    fn push(&mut self, piece: Piece) {
        if piece.start < self.length && self.count < PIECES {
            self.pieces[self.count] = piece;
            self.count += 1;
        }
    }

    /// The envelope of a note whose key is held for `held` samples.
    pub fn adsr(shape: Adsr, held: u32, sample_rate: u32, formulas: Formulas) -> Self {
        match formulas {
            Formulas::ClickFree => Self::click_free(shape, held, sample_rate),
            Formulas::Original => Self::original(shape, held, sample_rate),
        }
    }

    /// Full level reached at the end of the attack, sustain at the end of the decay, zero at the end
    /// of the release, which begins where the key is let go, from whatever level there is.
    fn click_free(shape: Adsr, held: u32, sample_rate: u32) -> Self {
        let samples = |seconds: f64| (seconds * f64::from(sample_rate)).round().max(2.0) as u32;
        let (attack, decay) = (samples(shape.attack), samples(shape.decay));
        let release = samples(shape.release);
        let held = held.max(1);
        let mut envelope = Self::empty(held.saturating_add(release));
        envelope.push(Piece::rise(EDGE, attack));
        if held > attack {
            let reach = (1.0 - shape.sustain) / (1.0 - (-DECAY).exp());
            envelope.push(Piece {
                start: attack,
                level: 1.0 - reach,
                scale: reach,
                rate: DECAY / f64::from(decay),
            });
        }
        if held > attack.saturating_add(decay) {
            envelope.push(Piece {
                start: attack + decay,
                level: shape.sustain,
                ..Piece::default()
            });
        }
        let reached = envelope.at(held);
        envelope.push(Piece::fall(held, reached, release));
        envelope
    }

    /// Full after `attack` seconds, then a thousandth after every `seconds`; a damper ends it where
    /// the key is let go, else it ends where nothing is left to hear.
    pub(crate) fn struck(
        attack: f64,
        seconds: f64,
        damper: Option<f64>,
        held: u32,
        sample_rate: u32,
    ) -> Self {
        let rate = f64::from(sample_rate);
        let samples = |seconds: f64| (seconds * rate).round().max(2.0) as u32;
        let attack = samples(attack);
        let natural = attack.saturating_add(samples(FADED * seconds));
        let (held, release) = match damper {
            Some(damper) => (held.max(attack), samples(damper)),
            None => (natural, attack),
        };
        let (held, release) = if held < natural {
            (held, release)
        } else {
            (natural, release.min(attack))
        };
        let mut envelope = Self::empty(held.saturating_add(release));
        envelope.push(Piece::rise(STROKE, attack));
        let fall = 1_000f64.ln() / (seconds * rate);
        if held > attack {
            envelope.push(Piece {
                start: attack,
                level: 0.0,
                scale: 1.0,
                rate: fall,
            });
        }
        let reached = (-fall * f64::from(held - attack)).exp();
        envelope.push(Piece::fall(held, reached, release));
        envelope
    }

    /// The first engine's: parts that do not fit are left out, and the release overwrites the last
    /// samples whatever was there.
    fn original(shape: Adsr, length: u32, sample_rate: u32) -> Self {
        let samples = |seconds: f64| (seconds * f64::from(sample_rate)) as u32;
        let (attack, decay) = (samples(shape.attack), samples(shape.decay));
        let release = samples(shape.release);
        let per_sample = |steepness: f64, count: u32| match count {
            0 | 1 => 0.0,
            count => steepness / f64::from(count - 1),
        };
        let mut envelope = Self::empty(length);
        let released = 0 < release && release < length;
        let end = if released { length - release } else { length };
        let mut push = |piece: Piece| {
            if piece.start < end {
                envelope.push(piece);
            }
        };
        let decay_end = attack.saturating_add(decay).min(length);
        if 0 < attack && attack < length {
            push(Piece {
                start: 0,
                level: 1.0,
                scale: -1.0,
                rate: per_sample(EDGE, attack),
            });
        } else {
            push(Piece {
                level: 1.0,
                ..Piece::default()
            });
        }
        if decay_end > attack {
            push(Piece {
                start: attack,
                level: shape.sustain,
                scale: 1.0 - shape.sustain,
                rate: per_sample(DECAY, decay_end - attack),
            });
        }
        if length.saturating_sub(release) > decay_end {
            push(Piece {
                start: decay_end,
                level: shape.sustain,
                ..Piece::default()
            });
        }
        if released {
            envelope.push(Piece {
                start: length - release,
                level: 0.0,
                scale: shape.sustain,
                rate: per_sample(EDGE, release),
            });
        }
        envelope
    }

    /// A swell's: a quarter in, a half full, a quarter out.
    pub fn swell(length: u32, formulas: Formulas) -> Self {
        let (rise, full) = (length / 4, length / 2);
        let fall = length - rise - full;
        let mut envelope = Self::empty(length);
        let left = (-DECAY).exp();
        let (top, last) = match formulas {
            Formulas::ClickFree => (1.0 / (1.0 - left), 0.0),
            Formulas::Original => (1.0, 1.0),
        };
        let span = |count: u32| f64::from(count.max(2)) - last;
        envelope.push(Piece {
            start: 0,
            level: top,
            scale: -top,
            rate: DECAY / span(rise),
        });
        envelope.push(Piece {
            start: rise,
            level: 1.0,
            ..Piece::default()
        });
        envelope.push(Piece {
            start: rise + full,
            level: 1.0 - top,
            scale: top,
            rate: DECAY / span(fall),
        });
        envelope
    }

    /// Samples until it has ended.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces[..self.count]
    }

    /// Which piece sample `k` falls into.
    pub(crate) fn piece_at(&self, k: u32) -> usize {
        let after = self.pieces().iter().take_while(|piece| piece.start <= k);
        after.count().saturating_sub(1)
    }

    /// First sample after piece `index`.
    pub(crate) fn piece_end(&self, index: usize) -> u32 {
        match self.pieces().get(index + 1) {
            Some(next) => next.start,
            None => self.length,
        }
    }

    /// The level at sample `k`; what the last piece tends to where `k` is past the end.
    pub fn at(&self, k: u32) -> f64 {
        let piece = &self.pieces[self.piece_at(k)];
        piece.level + piece.scale * (-piece.rate * f64::from(k - piece.start.min(k))).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAD: Adsr = Adsr {
        attack: 2.5,
        decay: 3.0,
        sustain: 0.75,
        release: 3.0,
    };

    fn largest_step(envelope: &Envelope) -> f64 {
        let values: Vec<f64> = (0..envelope.length()).map(|k| envelope.at(k)).collect();
        let inside = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        inside.fold(values[0].max(*values.last().unwrap()), f64::max)
    }

    #[test]
    fn click_free_envelopes_have_no_step_at_any_length() {
        for held in [1, 20, 4_410, 110_250, 151_200, 242_550, 500_000] {
            let envelope = Envelope::adsr(PAD, held, 44_100, Formulas::ClickFree);
            // The steepest slope is the start of the attack: 5/(2.5 s) a second.
            let slope = 5.1 / (2.5 * 44_100.0) / (1.0 - (-5.0f64).exp());
            assert!(
                largest_step(&envelope) <= slope,
                "{held}: {}",
                largest_step(&envelope)
            );
            assert_eq!(envelope.at(0), 0.0);
            assert!(envelope.at(envelope.length()).abs() < 1e-12);
        }
    }

    #[test]
    fn the_original_steps_where_the_release_overwrites_the_attack() {
        // One bar at 70 BPM: the level climbs to 0.576 and jumps by 0.174.
        let envelope = Envelope::adsr(PAD, 151_200, 44_100, Formulas::Original);
        assert!((largest_step(&envelope) - 0.174).abs() < 1e-3);
        // A second holds none of the parts: constant, with a hard start.
        let second = Envelope::adsr(PAD, 44_100, 44_100, Formulas::Original);
        assert!((0..44_100).all(|k| second.at(k) == 1.0));
    }

    #[test]
    fn a_swell_comes_and_goes() {
        for formulas in [Formulas::ClickFree, Formulas::Original] {
            let envelope = Envelope::swell(40_000, formulas);
            assert_eq!(envelope.at(0), 0.0);
            assert_eq!(envelope.at(20_000), 1.0);
            assert!(envelope.at(39_999) < 0.06);
        }
        assert!(Envelope::swell(40_000, Formulas::ClickFree).at(39_999) < 1e-3);
    }
}
