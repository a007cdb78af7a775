//! The large form: sections of minutes, in arches that arrive, stay and let go.

use warpsmith_workload::random::Random;

use super::motif::{Motif, choose};
use crate::params::Params;

/// Bars of a section at most.
pub(crate) const MOST_BARS: u32 = 192;
/// Minutes of an arch where the music has no end.
const ARCH_MINUTES: [f64; 2] = [16.0, 28.0];
/// Minutes of a section.
const SECTION_MINUTES: [f64; 2] = [2.4, 4.4];
/// A rest of an arch that is shorter than this joins the section before it.
const SHORTEST_MINUTES: f64 = 2.0;
/// A section that would become longer is halved instead.
const LONGEST_MINUTES: f64 = 5.5;

/// Minutes of music with one centre, density, register and pace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Section {
    pub(crate) bars: u32,
    /// Cents above the key, and those of the section after it.
    pub(crate) shift: i32,
    pub(crate) next_shift: i32,
    /// How likely the melody sounds, 0 to 1.
    pub(crate) density: f64,
    /// Cents that the melody lies above its usual place; chords follow half the way.
    pub(crate) register: i32,
    /// Bars to a chord.
    pub(crate) pace: u32,
    /// Loudness, up to 1.
    pub(crate) level: f64,
    /// Whether the music ends with it.
    pub(crate) last: bool,
    /// The section's own motif, a variant of it, and a stranger.
    pub(crate) motifs: [Motif; 3],
}

/// Plans section after section.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    random: Random,
    /// Length of an arch, where a listener wants a piece with an end.
    seconds: Option<f64>,
    arch_bars: u32,
    done_bars: u32,
    /// Sections since the beginning of the music.
    sections: u32,
    theme: Motif,
    shift: i32,
}

fn between([least, most]: [f64; 2], random: &mut Random) -> f64 {
    least + (most - least) * random.unit()
}

/// Bars of `minutes`.
fn bars(minutes: f64, params: &Params) -> f64 {
    minutes * f64::from(params.bpm) / 4.0
}

impl Form {
    pub(crate) fn new(random: Random, seconds: Option<f64>) -> Self {
        Self {
            random,
            seconds,
            arch_bars: 0,
            done_bars: 0,
            sections: 0,
            theme: Motif::default(),
            shift: 0,
        }
    }

    /// Whether a piece with an end has reached it.
    pub(crate) fn is_over(&self) -> bool {
        self.seconds.is_some() && self.sections > 0 && self.done_bars >= self.arch_bars
    }

    /// The section after the last one.
    pub(crate) fn next(&mut self, params: &Params) -> Section {
        let first = self.done_bars >= self.arch_bars;
        if first {
            let minutes = match self.seconds {
                Some(seconds) => seconds / 60.0,
                None => between(ARCH_MINUTES, &mut self.random),
            };
            self.arch_bars = (bars(minutes, params).round() as u32).max(1);
            self.done_bars = 0;
            self.theme = Motif::new(&mut self.random);
        }
        let left = self.arch_bars - self.done_bars;
        let count = self.length(left, params);
        let last = count >= left;
        let middle = f64::from(self.done_bars) + 0.5 * f64::from(count);
        let height = (std::f64::consts::PI * middle / f64::from(self.arch_bars)).sin();
        let height = height.max(0.0).powf(0.7);
        // Every second section is thin, high and slow: neighbours differ in more than one thing.
        let thin = self.sections % 2 == 1;
        let random = &mut self.random;
        let fullness = between(if thin { [0.3, 0.5] } else { [1.0, 1.35] }, random);
        let usual = 0.05 + f64::from(params.intensity);
        let lift = (5.0 * height * between([0.4, 1.0], random)).round() as i32 - 3;
        let slow = f64::from(u8::from(thin));
        let pace = choose(
            &[(1, 3.0 - 2.0 * slow), (2, 3.0), (4, 0.4 + 2.0 * slow)],
            random,
        );
        let own = if first || last {
            self.theme
        } else if thin {
            self.theme.varied(random)
        } else {
            Motif::new(random)
        };
        let motifs = [own, own.varied(random), Motif::new(random)];
        let shift = self.shift;
        self.done_bars += count;
        self.sections += 1;
        self.shift = self.next_shift(params);
        Section {
            bars: count,
            shift,
            next_shift: self.shift,
            density: (usual * (0.45 + 0.75 * height) * fullness).min(0.95),
            register: 100 * (lift + if thin { 6 } else { 0 }),
            // A bar of a fast piece is too short for a chord to open.
            pace: if params.bpm > 90.0 { 2 * pace } else { pace },
            level: 0.72 + 0.28 * height,
            last: last && self.seconds.is_some(),
            motifs,
        }
    }

    /// Bars of the next section where `left` are left of the arch.
    fn length(&mut self, left: u32, params: &Params) -> u32 {
        let drawn = bars(between(SECTION_MINUTES, &mut self.random), params);
        let count = (8 * (drawn / 8.0).round() as u32).clamp(8, MOST_BARS);
        let rest = f64::from(left) - f64::from(count);
        if rest >= bars(SHORTEST_MINUTES, params) {
            count
        } else if f64::from(left) <= bars(LONGEST_MINUTES, params) {
            left.min(MOST_BARS)
        } else {
            (left / 2).clamp(1, MOST_BARS)
        }
    }

    /// Where the section after this one has its centre: home at both ends of an arch, and never
    /// where this one has it. Without variety the key stays.
    fn next_shift(&mut self, params: &Params) -> i32 {
        const AWAY: [(i32, f64); 6] = [
            (700, 2.0),
            (500, 2.0),
            (200, 3.0),
            (-200, 3.0),
            (300, 2.0),
            (-300, 2.0),
        ];
        let left = self.arch_bars - self.done_bars.min(self.arch_bars);
        let ends = f64::from(left) <= bars(LONGEST_MINUTES, params);
        let moved = choose(&AWAY, &mut self.random);
        let stays = self.random.unit() >= 2.0 * f64::from(params.variety);
        if ends || stays {
            0
        } else if moved == self.shift {
            if self.shift == 700 { 500 } else { 700 }
        } else {
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_last_minutes_differ_from_their_neighbours_and_come_home() {
        for seed in 0..50 {
            let params = Params::default();
            let mut form = Form::new(Random::seeded(seed), None);
            let sections: Vec<Section> = (0..30).map(|_| form.next(&params)).collect();
            for pair in sections.windows(2) {
                assert_eq!(pair[0].next_shift, pair[1].shift);
                let denser = pair[0].density.max(pair[1].density);
                let thinner = pair[0].density.min(pair[1].density);
                assert!(denser > 1.1 * thinner);
            }
            assert!(sections.iter().all(|s| (24..=90).contains(&s.bars)));
            assert_eq!(sections[0].shift, 0);
            let away = sections.iter().filter(|s| s.shift != 0).count();
            assert!((8..27).contains(&away), "{away}");
        }
    }

    #[test]
    fn a_form_of_ten_minutes_ends_after_ten_minutes_at_home() {
        for seed in 0..50 {
            let params = Params::default();
            let mut form = Form::new(Random::seeded(seed), Some(600.0));
            let (mut bars, mut sections) = (0, Vec::new());
            while bars < 150 {
                let section = form.next(&params);
                bars += section.bars;
                sections.push(section);
            }
            assert_eq!(bars, 150);
            let [first, .., last] = &sections[..] else {
                panic!("one section in ten minutes");
            };
            assert_eq!((first.shift, last.shift, last.next_shift), (0, 0, 0));
            assert_eq!(first.motifs[0], last.motifs[0]);
            let loudest = sections.iter().map(|s| s.level).fold(0.0, f64::max);
            assert!(loudest > first.level || sections.len() == 2);
        }
    }

    #[test]
    fn the_shortest_form_and_the_fastest_tempo_are_planned_too() {
        let params = Params {
            bpm: 120.0,
            ..Params::default()
        };
        for seconds in [0.001, 1.0, 30.0, 604_800.0] {
            let mut form = Form::new(Random::seeded(1), Some(seconds));
            for _ in 0..50 {
                assert!((1..=MOST_BARS).contains(&form.next(&params).bars));
            }
        }
    }

    #[test]
    fn without_variety_the_key_stays() {
        let params = Params {
            variety: 0.0,
            ..Params::default()
        };
        let mut form = Form::new(Random::seeded(3), None);
        assert!((0..40).all(|_| form.next(&params).shift == 0));
    }
}
