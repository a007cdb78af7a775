//! Clock levels, as `pp_dpm_sclk` and its like list them: `1: 1500Mhz *`, the current one with a star.

/// A clock's levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) current_mhz: Option<i64>,
    pub(super) highest_mhz: Option<i64>,
}

impl Levels {
    pub(super) fn of_text(text: &str) -> Self {
        let mut levels = Self::default();
        for line in text.lines() {
            let Some((_, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            let Some(mhz) = crate::source::sysfs::number_in(value.as_bytes()) else {
                continue;
            };
            if value.ends_with('*') {
                levels.current_mhz = Some(mhz);
            }
            levels.highest_mhz = levels.highest_mhz.max(Some(mhz));
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_star_marks_the_level_in_force() {
        let levels = Levels::of_text("0: 500Mhz *\n1: 1800Mhz\n2: 2482Mhz \n");
        assert_eq!(levels.current_mhz, Some(500));
        assert_eq!(levels.highest_mhz, Some(2482));
        // A sleeping level beside the numbered ones.
        let levels = Levels::of_text("S: 19Mhz *\n0: 615Mhz\n1: 2575Mhz\n");
        assert_eq!(levels.current_mhz, Some(19));
        assert_eq!(Levels::of_text("nothing\n0: *\n:\n"), Levels::default());
    }
}
