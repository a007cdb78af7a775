//! A band's quietest levels of the last hundred frames, smoothed: what noise is corrected towards.

const KEPT: usize = 16;
/// Stands for "nothing yet": above every level.
const EMPTY: i16 = 10_000;
const OLDEST: i16 = 100;

#[derive(Clone, Debug)]
pub(super) struct RunningMinimum {
    /// Smallest first.
    levels: [i16; KEPT],
    ages: [i16; KEPT],
    smoothed: i16,
}

impl RunningMinimum {
    pub(super) fn new() -> Self {
        Self {
            levels: [EMPTY; KEPT],
            ages: [0; KEPT],
            smoothed: 1600,
        }
    }

    /// Takes a level, `frames` after the start; returns the smoothed minimum, Q4.
    pub(super) fn update(&mut self, level: i16, frames: i32) -> i16 {
        self.grow_older();
        let place = self.levels.iter().filter(|kept| **kept <= level).count();
        if place < KEPT {
            self.levels.copy_within(place..KEPT - 1, place + 1);
            self.ages.copy_within(place..KEPT - 1, place + 1);
            self.levels[place] = level;
            self.ages[place] = 1;
        }
        let quiet = match frames {
            ..=0 => 1600,
            1..=2 => self.levels[0],
            _ => self.levels[2],
        };
        // Down at once (0.2 kept), up slowly (0.99 kept).
        let keep = match frames {
            ..=0 => 0,
            _ if quiet < self.smoothed => 6553,
            _ => 32_439,
        };
        let sum = (keep + 1) * i32::from(self.smoothed) + (32_767 - keep) * i32::from(quiet);
        self.smoothed = ((sum + 16_384) >> 15) as i16;
        self.smoothed
    }

    fn grow_older(&mut self) {
        if !self.ages.contains(&OLDEST) {
            for age in &mut self.ages {
                *age = age.saturating_add(1);
            }
            return;
        }
        let mut at = 0;
        while at < KEPT {
            if self.ages[at] == OLDEST {
                // What moves into the gap is passed over: it stays as young as it was.
                self.levels.copy_within(at + 1.., at);
                self.ages.copy_within(at + 1.., at);
                self.levels[KEPT - 1] = EMPTY;
                self.ages[KEPT - 1] = OLDEST + 1;
            } else {
                self.ages[at] = self.ages[at].saturating_add(1);
            }
            at += 1;
        }
    }
}
