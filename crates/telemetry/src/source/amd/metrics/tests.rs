use proptest::prelude::*;

use super::layout::{of_version, size};
use super::*;

/// Every published version with the sizes of its table.
const SIZES: [(u8, u8, &[usize]); 17] = [
    (1, 0, &[80]),
    (1, 1, &[96]),
    (1, 2, &[104]),
    (1, 3, &[120]),
    (1, 4, &[288]),
    (1, 5, &[360]),
    (1, 6, &[1664, 384]),
    (1, 7, &[2208]),
    (1, 8, &[3872]),
    (2, 0, &[120]),
    (2, 1, &[120]),
    (2, 2, &[128]),
    (2, 3, &[152]),
    (2, 4, &[168]),
    (3, 0, &[264]),
    (3, 1, &[]),
    (4, 0, &[]),
];

/// A table of all ones, as the driver begins with, and these fields by their places.
fn table(version: (u8, u8), size: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0xff; size];
    let length = u16::try_from(size).unwrap().to_le_bytes();
    bytes[..4].copy_from_slice(&[length[0], length[1], version.0, version.1]);
    for (at, value) in fields {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    bytes
}

fn u16s(value: u16) -> [u8; 2] {
    value.to_le_bytes()
}

fn read(version: (u8, u8), size: usize, fields: &[(usize, &[u8])]) -> GpuMetrics {
    GpuMetrics::of_bytes(&table(version, size, fields)).unwrap()
}

#[test]
fn tables_are_as_long_as_the_kernels_structures() {
    for (format, content, sizes) in SIZES {
        let own: Vec<usize> = of_version(format, content)
            .iter()
            .map(|l| size(l))
            .collect();
        assert_eq!(own, sizes, "{format}.{content}");
    }
}

#[test]
fn a_table_of_all_ones_says_nothing() {
    for (format, content, sizes) in SIZES {
        for size in sizes {
            let metrics = read((format, content), *size, &[]);
            let nothing = GpuMetrics {
                version: (format, content),
                ..GpuMetrics::default()
            };
            assert_eq!(metrics, nothing);
        }
    }
}

/// Places as a C compiler gives them for the kernel's `struct gpu_metrics_v1_3`.
#[test]
fn a_radeon_says_everything_in_one_table() {
    let metrics = read(
        (1, 3),
        120,
        &[
            (4, &u16s(54)),
            (6, &u16s(71)),
            (8, &u16s(66)),
            (16, &u16s(97)),
            (18, &u16s(41)),
            (20, &u16s(3)),
            (22, &u16s(303)),
            (32, &7_000_000_000_u64.to_le_bytes()),
            (54, &u16s(2482)),
            (58, &u16s(1249)),
            (72, &u16s(1450)),
            (74, &u16s(16)),
            (76, &u16s(160)),
            (112, &(1_u64 | (1 << 36)).to_le_bytes()),
        ],
    );
    let expected = GpuMetrics {
        version: (1, 3),
        edge_c: Some(54),
        hotspot_c: Some(71),
        memory_c: Some(66),
        busy_percent: Some(97),
        memory_busy_percent: Some(41),
        media_percent: Some(3),
        power_mw: Some(303_000),
        time_ns: Some(7_000_000_000),
        gfx_clock_mhz: Some(2482),
        memory_clock_mhz: Some(1249),
        fan_rpm: Some(1450),
        pcie_width: Some(16),
        pcie_generation: Some(4),
        throttle: Throttle::Independent(1 | (1 << 36)),
        ..GpuMetrics::default()
    };
    assert_eq!(metrics, expected);
}

/// The oldest version has bytes for its link, and its time first.
#[test]
fn the_first_version_has_its_own_order() {
    let fields: &[(usize, &[u8])] = &[
        (8, &5_u64.to_le_bytes()),
        (16, &u16s(40)),
        (28, &u16s(12)),
        (34, &u16s(90)),
        (54, &u16s(800)),
        (74, &[8, 80]),
    ];
    let metrics = read((1, 0), 80, fields);
    assert_eq!((metrics.time_ns, metrics.edge_c), (Some(5), Some(40)));
    assert_eq!(metrics.busy_percent, Some(12));
    assert_eq!(metrics.power_mw, Some(90_000));
    assert_eq!(metrics.gfx_clock_mhz, Some(800));
    assert_eq!(
        (metrics.pcie_width, metrics.pcie_generation),
        (Some(8), Some(3))
    );
}

/// Places of energy, replays, the first graphics clock and the memory's, and of the residencies.
#[test]
fn an_instinct_counts_energy_and_rounds() {
    for ((format, content), size, energy, replays, clock, memory, rounds) in [
        ((1, 4), 288, 24, 88, 240, 280, None),
        ((1, 5), 360, 88, 152, 312, 352, None),
        ((1, 6), 1664, 16, 104, 264, 304, Some(32)),
        ((1, 6), 384, 88, 176, 336, 376, Some(104)),
        ((1, 7), 2208, 24, 112, 296, 336, Some(40)),
        ((1, 8), 3872, 24, 112, 296, 336, Some(40)),
    ] {
        let mut fields: Vec<(usize, Vec<u8>)> = vec![
            (4, u16s(48).into()),
            (6, u16s(39).into()),
            (10, u16s(742).into()),
            (12, u16s(100).into()),
            (energy, (65_536_u64 * 3600).to_le_bytes().into()),
            (replays, 5_u64.to_le_bytes().into()),
            (clock, u16s(132).into()),
            (clock + 14, u16s(2100).into()),
            (memory, u16s(1300).into()),
        ];
        if let Some(rounds) = rounds {
            for (nth, value) in [1000_u32, 1, 250, 7, 2, 3].into_iter().enumerate() {
                fields.push((rounds + 4 * nth, value.to_le_bytes().into()));
            }
        }
        let fields: Vec<(usize, &[u8])> = fields.iter().map(|(at, b)| (*at, &b[..])).collect();
        let metrics = read((format, content), size, &fields);
        let version = format!("{format}.{content} of {size} bytes");
        assert_eq!(metrics.hotspot_c, Some(48), "{version}");
        assert_eq!(metrics.memory_c, Some(39), "{version}");
        assert_eq!(metrics.power_instant_mw, Some(742_000), "{version}");
        assert_eq!(metrics.busy_percent, Some(100), "{version}");
        assert_eq!(metrics.energy_mj, Some(3_600_000), "{version}");
        assert_eq!(metrics.pcie_replays, Some(5), "{version}");
        assert_eq!(
            metrics.gfx_clock_mhz,
            Some(2100),
            "the fastest part, {version}"
        );
        assert_eq!(metrics.memory_clock_mhz, Some(1300), "{version}");
        let residency = Residency {
            rounds: Some(1000),
            power: 250,
            heat: 7 + 3,
            signal: 2 + 1,
        };
        let throttle = rounds.map_or(Throttle::Unknown, |_| Throttle::Residency(residency));
        assert_eq!(metrics.throttle, throttle, "{version}");
    }
}

#[test]
fn links_between_gpus_add_up() {
    let one = 10_u64.to_le_bytes();
    let metrics = read((1, 4), 288, &[(104, &one), (160, &one), (168, &one)]);
    assert_eq!(metrics.xgmi_read_kb, Some(20), "two of eight links");
    assert_eq!(metrics.xgmi_written_kb, Some(10));
}

#[test]
fn an_apu_says_what_has_a_published_unit() {
    let clocks = |size, content| {
        let (mean, now) = (u16s(400), u16s(1600));
        let (heat, power) = (u16s(4400), u16s(9000));
        let base = if content == 0 { 68 } else { 64 };
        let fields: &[(usize, &[u8])] =
            &[(4, &heat), (40, &power), (base, &mean), (base + 12, &now)];
        read((2, content), size, fields)
    };
    for (content, size) in [(0, 120), (1, 120), (2, 128), (3, 152)] {
        let metrics = clocks(size, content);
        assert_eq!(metrics.gfx_clock_mhz, Some(1600), "2.{content}");
        assert_eq!((metrics.edge_c, metrics.power_mw), (None, None));
    }
    let metrics = clocks(168, 4);
    assert_eq!((metrics.edge_c, metrics.power_mw), (Some(44), Some(9000)));

    let metrics = read(
        (3, 0),
        264,
        &[
            (42, &u16s(63)),
            (44, &u16s(5)),
            (112, &28_400_u32.to_le_bytes()),
            (174, &u16s(1980)),
            (186, &u16s(2000)),
            (228, &[0; 28]),
            (236, &9_u32.to_le_bytes()),
        ],
    );
    assert_eq!(
        (metrics.busy_percent, metrics.media_percent),
        (Some(63), Some(5))
    );
    assert_eq!(metrics.power_mw, Some(28_400));
    assert_eq!(metrics.gfx_clock_mhz, Some(1980));
    assert_eq!(metrics.memory_clock_mhz, Some(2000));
    let residency = Residency {
        power: 9,
        ..Residency::default()
    };
    assert_eq!(metrics.throttle, Throttle::Residency(residency));
}

/// An attribute of version 1.9: unit, type, number, count.
fn attribute(kind: u64, id: u64, values: &[&[u8]]) -> Vec<u8> {
    let description = (kind << 20) | (id << 10) | values.len() as u64;
    let mut bytes = description.to_le_bytes().to_vec();
    values
        .iter()
        .for_each(|value| bytes.extend_from_slice(value));
    bytes
}

pub(crate) fn attributes(list: &[Vec<u8>]) -> Vec<u8> {
    let body: Vec<u8> = list.concat();
    let size = u16::try_from(8 + body.len()).unwrap().to_le_bytes();
    let count = u32::try_from(list.len()).unwrap().to_le_bytes();
    [&[size[0], size[1], 1, 9][..], &count, &body].concat()
}

#[test]
fn attributes_may_come_in_any_order() {
    let bytes = attributes(&[
        attribute(2, 33, &[&u16s(132), &u16s(2100), &u16s(0xffff)]),
        // Nobody knows this one; it is as long as it says.
        attribute(6, 900, &[&[7; 8], &[7; 8]]),
        attribute(2, 0, &[&u16s(51)]),
        attribute(6, 7, &[&(65_536_u64 * 2).to_le_bytes()]),
        attribute(4, 11, &[&77_u32.to_le_bytes()]),
        attribute(4, 9, &[&1000_u32.to_le_bytes()]),
    ]);
    let metrics = GpuMetrics::of_bytes(&bytes).unwrap();
    assert_eq!(metrics.hotspot_c, Some(51));
    assert_eq!(metrics.gfx_clock_mhz, Some(2100));
    assert_eq!(metrics.energy_mj, Some(2000));
    let residency = Residency {
        rounds: Some(1000),
        power: 77,
        ..Residency::default()
    };
    assert_eq!(metrics.throttle, Throttle::Residency(residency));
    // A type that nobody knows ends the list.
    let bytes = attributes(&[
        attribute(2, 0, &[&u16s(51)]),
        attribute(9, 1, &[&u16s(4)]),
        attribute(2, 1, &[&u16s(4)]),
    ]);
    let metrics = GpuMetrics::of_bytes(&bytes).unwrap();
    assert_eq!((metrics.hotspot_c, metrics.memory_c), (Some(51), None));
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let said = |bytes: &[u8]| GpuMetrics::of_bytes(bytes).unwrap_err().to_string();
    assert_eq!(
        said(&[]),
        "gpu_metrics has 0 bytes, which is less than its header"
    );
    assert_eq!(
        said(&table((7, 3), 120, &[])),
        "gpu_metrics version 7.3 is not known to this program"
    );
    assert_eq!(
        said(&table((1, 3), 112, &[])),
        "gpu_metrics version 1.3 says that it has 112 bytes, which is no size of this version"
    );
    assert_eq!(
        said(&table((1, 3), 120, &[])[..100]),
        "gpu_metrics version 1.3 has 120 bytes and ends after 100"
    );
}

/// Every value is one that the quantity can have.
fn is_sane(metrics: &GpuMetrics) {
    let within = |value: Option<i64>, low, high| {
        assert!(
            value.is_none_or(|value| (low..=high).contains(&value)),
            "{metrics:?}"
        );
    };
    for degrees in [metrics.edge_c, metrics.hotspot_c, metrics.memory_c] {
        within(degrees, 0, 199);
    }
    for percent in [
        metrics.busy_percent,
        metrics.memory_busy_percent,
        metrics.media_percent,
    ] {
        within(percent, 0, 100);
    }
    within(metrics.power_mw, 0, u32::MAX.into());
    within(metrics.power_instant_mw, 0, 100_000_000);
    within(metrics.gfx_clock_mhz, 0, 20_000);
    within(metrics.pcie_generation, 1, 7);
    within(metrics.energy_mj, 0, i64::MAX);
}

fn any_table() -> impl Strategy<Value = Vec<u8>> {
    let sizes: Vec<(u8, u8, usize)> = SIZES
        .iter()
        .flat_map(|(format, content, sizes)| sizes.iter().map(|size| (*format, *content, *size)))
        .chain([(1, 9, 700)])
        .collect();
    proptest::sample::select(sizes).prop_flat_map(|(format, content, size)| {
        proptest::collection::vec(any::<u8>(), size).prop_map(move |mut bytes| {
            let length = u16::try_from(size).unwrap().to_le_bytes();
            bytes[..4].copy_from_slice(&[length[0], length[1], format, content]);
            bytes
        })
    })
}

proptest! {
    #[test]
    fn any_table_is_read_or_refused(bytes in any_table()) {
        if let Ok(metrics) = GpuMetrics::of_bytes(&bytes) {
            is_sane(&metrics);
        }
    }

    #[test]
    fn a_damaged_table_is_read_or_refused(
        mut bytes in any_table(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok(metrics) = GpuMetrics::of_bytes(&bytes) {
            is_sane(&metrics);
        }
    }
}

/// A million mutated tables: the nightly version of the two above.
#[test]
#[ignore = "ten seconds: `cargo test -p warpsmith-telemetry --lib -- --ignored a_million`"]
fn a_million_damaged_tables() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut read, mut refused) = (0_u32, 0_u32);
    for nth in 0..1_000_000_usize {
        let (format, content, sizes) = SIZES[nth % SIZES.len()];
        let size = sizes.first().copied().unwrap_or(64);
        let mut bytes = table((format, content), size, &[]);
        for _ in 0..random() % 64 {
            let at = random() as usize % bytes.len();
            bytes[at] = random() as u8;
        }
        if random() % 4 == 0 {
            bytes.truncate(random() as usize % (bytes.len() + 1));
        }
        match GpuMetrics::of_bytes(&bytes) {
            Ok(metrics) => {
                is_sane(&metrics);
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert_eq!(read + refused, 1_000_000);
    assert!(
        read > 100_000 && refused > 100_000,
        "{read} read, {refused} refused"
    );
}
