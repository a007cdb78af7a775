//! Short shapes that a melody states, repeats and varies.

use warpsmith_workload::random::Random;

/// Notes of a motif at most.
const MOST: usize = 8;

/// One note of a motif.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Move {
    /// Scale steps above where the motif begins.
    pub(crate) step: i32,
    /// Length in eighths.
    pub(crate) eighths: u32,
}

/// Four to seven notes over one or two bars; its contour is kept in scale steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Motif {
    moves: [Move; MOST],
    count: usize,
}

/// Beginnings and ends of rhythms, in eighths: a bar, then a bar or half of one.
const HEADS: [&[u32]; 8] = [
    &[3, 1, 4],
    &[2, 2, 4],
    &[4, 2, 2],
    &[2, 1, 1, 4],
    &[6, 2],
    &[2, 2, 2, 2],
    &[3, 1, 2, 2],
    &[1, 1, 2, 4],
];
const TAILS: [&[u32]; 5] = [&[4, 4], &[2, 6], &[8], &[2, 2, 4], &[3, 1, 4]];

/// Scale steps from one note to the next, with weights: steps fall, leaps rise.
const STEPS: [(i32, f64); 11] = [
    (0, 8.0),
    (1, 23.0),
    (-1, 26.0),
    (2, 13.0),
    (-2, 13.0),
    (3, 7.0),
    (-3, 4.0),
    (4, 5.0),
    (-4, 2.0),
    (5, 1.0),
    (7, 0.5),
];

/// Steps that a motif goes from its beginning at most.
const WIDEST: i32 = 5;

/// One of `choices`, by weight.
pub(crate) fn choose<T: Copy>(choices: &[(T, f64)], random: &mut Random) -> T {
    let mut left = random.unit() * choices.iter().map(|choice| choice.1).sum::<f64>();
    for (value, weight) in choices {
        left -= weight;
        if left < 0.0 {
            return *value;
        }
    }
    choices[choices.len() - 1].0
}

impl Motif {
    pub(crate) fn moves(&self) -> &[Move] {
        &self.moves[..self.count]
    }

    /// Length in eighths.
    pub(crate) fn eighths(&self) -> u32 {
        self.moves().iter().map(|m| m.eighths).sum()
    }

    fn push(&mut self, step: i32, eighths: u32) {
        if self.count < MOST {
            self.moves[self.count] = Move { step, eighths };
            self.count += 1;
        }
    }

    /// A motif of its own.
    pub(crate) fn new(random: &mut Random) -> Self {
        let head = HEADS[random.below(HEADS.len())];
        let tail = TAILS[random.below(TAILS.len())];
        let mut motif = Self::default();
        let (mut at, mut owed) = (0i32, 0);
        for (index, eighths) in head.iter().chain(tail).enumerate() {
            if index > 0 {
                let mut by = if owed != 0 {
                    owed
                } else {
                    choose(&STEPS, random)
                };
                if (at + by).abs() > WIDEST {
                    by = -at.signum();
                }
                // A leap is answered by a step the other way.
                owed = if by.abs() >= 3 { -by.signum() } else { 0 };
                at += by;
            }
            motif.push(at, *eighths);
        }
        motif
    }

    /// The same motif, told otherwise.
    pub(crate) fn varied(&self, random: &mut Random) -> Self {
        let mut other = *self;
        match random.below(4) {
            // Upside down.
            0 => {
                for m in &mut other.moves {
                    m.step = -m.step;
                }
            }
            // Its head, slower.
            1 => {
                other.count = other.count.min(4);
                if other.eighths() <= 8 {
                    for m in &mut other.moves[..other.count] {
                        m.eighths *= 2;
                    }
                }
            }
            // Its head, then two steps down.
            2 if self.count > 4 => {
                other.count = 3;
                let from = self.moves[2].step;
                for (down, m) in (1..).zip(&self.moves[self.count - 2..self.count]) {
                    other.push(from - down, m.eighths);
                }
            }
            // Another end, by step.
            _ if self.count > 1 => {
                let by = if random.unit() < 0.5 { -1 } else { 1 };
                let before = other.moves[other.count - 2].step;
                other.moves[other.count - 1].step = before + by;
            }
            _ => (),
        }
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_motif_keeps_its_measures_whatever_is_done_to_it() {
        let mut random = Random::seeded(5);
        for _ in 0..2_000 {
            let motif = Motif::new(&mut random);
            let mut varied = motif;
            for _ in 0..3 {
                varied = varied.varied(&mut random);
            }
            for motif in [motif, varied] {
                let notes = motif.moves().len();
                assert!((2..=7).contains(&notes), "{motif:?}");
                assert!((3..=16).contains(&motif.eighths()), "{motif:?}");
                assert!(motif.moves().iter().all(|m| m.step.abs() <= WIDEST + 3));
            }
        }
    }

    #[test]
    fn leaps_turn_back_by_step() {
        let mut random = Random::seeded(6);
        for _ in 0..2_000 {
            let motif = Motif::new(&mut random);
            let steps: Vec<i32> = motif
                .moves()
                .windows(2)
                .map(|m| m[1].step - m[0].step)
                .collect();
            for pair in steps.windows(2).filter(|pair| pair[0].abs() >= 3) {
                assert_eq!(pair[1], -pair[0].signum(), "{steps:?}");
            }
        }
    }
}
