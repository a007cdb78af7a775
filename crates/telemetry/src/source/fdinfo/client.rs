//! One client of a driver, from the text of one `fdinfo` file.

/// A longer file is not one of a graphics driver.
pub(super) const LIMIT: usize = 16 << 10;
/// Most engines and regions of memory that are kept.
const MOST: usize = 64;

/// An engine's work for a client, since the client began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// What the driver calls it: `gfx`, `render`, `rcs`, …
    pub name: String,
    /// Nanoseconds or cycles of work.
    pub busy: u64,
    /// Cycles that passed; absent where `busy` is in nanoseconds.
    pub cycles: Option<u64>,
    /// How many engines of this kind there are.
    pub capacity: u64,
}

/// What the kernel says about an open file of a graphics driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// PCI address of the card.
    pub device: String,
    /// The client's number, which files that were passed on share.
    pub id: u64,
    /// Work by engine.
    pub engines: Vec<Engine>,
    /// Bytes in the card's own memory; absent where the driver does not say.
    pub device_bytes: Option<u64>,
    /// Bytes in system memory.
    pub system_bytes: Option<u64>,
}

/// What is known of a region's bytes; what is in memory now is better than what was asked of it.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    resident: Option<u64>,
    memory: Option<u64>,
    total: Option<u64>,
}

impl Client {
    /// Reads a file; `None` where it is not one of a graphics card's.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut client = Self::default();
        let mut number = None;
        let mut regions: Vec<(&str, Region)> = Vec::new();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (Some(key), value) = (key.strip_prefix("drm-"), value.trim()) else {
                continue;
            };
            match key {
                "pdev" => value.clone_into(&mut client.device),
                "client-id" => number = value.parse().ok(),
                _ => {
                    client.take_engine(key, value);
                    take_region(&mut regions, key, value);
                }
            }
        }
        client.id = number?;
        if client.device.is_empty() {
            return None;
        }
        for (name, region) in regions {
            let known = region.resident.or(region.memory).or(region.total);
            let is_own = name.starts_with("vram") || name.starts_with("local");
            let sum = if is_own {
                &mut client.device_bytes
            } else {
                &mut client.system_bytes
            };
            if let Some(bytes) = known {
                *sum = Some(sum.unwrap_or(0).saturating_add(bytes));
            }
        }
        Some(client)
    }

    fn engine(&mut self, name: &str) -> Option<&mut Engine> {
        let known = self.engines.iter().position(|engine| engine.name == name);
        match known {
            Some(nth) => self.engines.get_mut(nth),
            None if self.engines.len() >= MOST => None,
            None => {
                self.engines.push(Engine {
                    name: name.to_owned(),
                    capacity: 1,
                    ..Engine::default()
                });
                self.engines.last_mut()
            }
        }
    }

    /// `engine-render: 123 ns`, `engine-capacity-video: 2`, `cycles-rcs: 5`, `total-cycles-rcs: 9`.
    fn take_engine(&mut self, key: &str, value: &str) {
        let number = value.split_whitespace().next().unwrap_or("").parse::<u64>();
        let Ok(number) = number else { return };
        if let Some(name) = key.strip_prefix("engine-capacity-") {
            if let Some(engine) = self.engine(name) {
                engine.capacity = number.max(1);
            }
        } else if let Some(name) = key.strip_prefix("engine-") {
            // Cycles say more than time where a driver gives both.
            if let Some(engine) = self.engine(name).filter(|engine| engine.cycles.is_none()) {
                engine.busy = number;
            }
        } else if let Some(name) = key.strip_prefix("total-cycles-") {
            if let Some(engine) = self.engine(name) {
                engine.cycles = Some(number);
            }
        } else if let Some(name) = key.strip_prefix("cycles-")
            && let Some(engine) = self.engine(name)
        {
            engine.busy = number;
        }
    }
}

/// `memory-vram: 12 KiB`, `total-vram0: …`, `resident-vram0: …`.
fn take_region<'t>(regions: &mut Vec<(&'t str, Region)>, key: &'t str, value: &str) {
    let kinds = ["resident-", "memory-", "total-"];
    let Some((kind, name)) = kinds
        .into_iter()
        .find_map(|kind| Some((kind, key.strip_prefix(kind)?)))
        .filter(|(_, name)| !name.starts_with("cycles-"))
    else {
        return;
    };
    let Some(bytes) = bytes(value) else { return };
    let known = regions.iter().position(|(known, _)| *known == name);
    let region = match known {
        Some(nth) => &mut regions[nth].1,
        None if regions.len() >= MOST => return,
        None => {
            regions.push((name, Region::default()));
            let last = regions.len() - 1;
            &mut regions[last].1
        }
    };
    let slot = match kind {
        "resident-" => &mut region.resident,
        "memory-" => &mut region.memory,
        _ => &mut region.total,
    };
    *slot = Some(bytes);
}

/// `12 KiB`; without a unit, bytes.
fn bytes(value: &str) -> Option<u64> {
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    number.checked_mul(match words.next() {
        None | Some("B") => 1,
        Some("KiB" | "kB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        Some(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(name: &str, busy: u64, cycles: Option<u64>, capacity: u64) -> Engine {
        Engine {
            name: name.into(),
            busy,
            cycles,
            capacity,
        }
    }

    #[test]
    fn amdgpu_says_nanoseconds_and_kibibytes() {
        let text = "pos:\t0\nflags:\t02100002\nmnt_id:\t25\nino:\t1157\ndrm-driver:\tamdgpu\n\
            drm-client-id:\t42\ndrm-pdev:\t0000:03:00.0\npasid:\t32770\n\
            drm-memory-vram:\t2048 KiB\ndrm-memory-gtt: \t512 KiB\ndrm-memory-cpu: \t0 KiB\n\
            amd-requested-vram:\t4096 KiB\ndrm-engine-gfx:\t5000 ns\ndrm-engine-compute:\t7 ns\n";
        let client = Client::of_text(text).unwrap();
        assert_eq!((client.device.as_str(), client.id), ("0000:03:00.0", 42));
        assert_eq!(client.device_bytes, Some(2 << 20));
        assert_eq!(client.system_bytes, Some(512 << 10));
        assert_eq!(
            client.engines,
            [engine("gfx", 5000, None, 1), engine("compute", 7, None, 1)]
        );
    }

    #[test]
    fn i915_has_several_engines_of_a_kind_and_regions_by_number() {
        let text = "drm-driver: i915\ndrm-client-id: 7\ndrm-pdev: 0000:00:02.0\n\
            drm-total-system0: 300 MiB\ndrm-shared-system0: 0\ndrm-resident-system0: 200 MiB\n\
            drm-total-local0: 64 MiB\ndrm-resident-local0: 0\n\
            drm-engine-render: 9000 ns\ndrm-engine-video: 100 ns\ndrm-engine-capacity-video: 2\n";
        let client = Client::of_text(text).unwrap();
        assert_eq!(client.system_bytes, Some(200 << 20));
        assert_eq!(client.device_bytes, Some(0), "known to be nothing");
        assert_eq!(
            client.engines,
            [
                engine("render", 9000, None, 1),
                engine("video", 100, None, 2)
            ]
        );
    }

    #[test]
    fn xe_says_cycles_of_cycles() {
        let text = "drm-driver: xe\ndrm-client-id: 9\ndrm-pdev: 0000:03:00.0\n\
            drm-total-vram0: 23992 KiB\ndrm-resident-vram0: 23992 KiB\ndrm-total-gtt: 192 KiB\n\
            drm-cycles-rcs: 28257900\ndrm-total-cycles-rcs: 7655183225\n\
            drm-cycles-vcs: 0\ndrm-total-cycles-vcs: 7655183225\ndrm-engine-capacity-vcs: 2\n";
        let client = Client::of_text(text).unwrap();
        assert_eq!(client.device_bytes, Some(23992 << 10));
        assert_eq!(
            client.engines,
            [
                engine("rcs", 28_257_900, Some(7_655_183_225), 1),
                engine("vcs", 0, Some(7_655_183_225), 2)
            ]
        );
    }

    #[test]
    fn what_is_no_clients_file_is_none_and_garbage_is_left_out() {
        assert_eq!(Client::of_text("pos: 0\nflags: 02\n"), None);
        assert_eq!(
            Client::of_text("drm-driver: amdgpu\ndrm-client-id: 4\n"),
            None
        );
        assert_eq!(Client::of_text("drm-pdev: 0000:03:00.0\n"), None);
        let text = "drm-pdev: a\ndrm-client-id: 1\ndrm-engine-gfx: many ns\n\
                    drm-memory-vram: 99999999999999999999 KiB\ndrm-memory-vram: 5 parsec\n\
                    drm-engine-capacity-gfx: 0\n:::\ndrm-:\n";
        let client = Client::of_text(text).unwrap();
        assert_eq!((client.device_bytes, client.system_bytes), (None, None));
        assert_eq!(client.engines, [engine("gfx", 0, None, 1)]);
    }
}
