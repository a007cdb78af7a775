//! Textures: numbers on a grid, which kernels sample between its points.
//!
//! Coordinates and weights are rounded as Warp's CPU rounds them.

use warpsmith_ir::half::half_to_f32;

/// What the numbers of a texture are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// From 0 to 1.
    U8,
    /// From 0 to 1.
    U16,
    /// From -1 to 1.
    I8,
    /// From -1 to 1.
    I16,
    /// As they are.
    U32,
    /// As they are.
    I32,
    /// As they are.
    F16,
    /// As they are.
    F32,
}

impl Texel {
    /// The kind with this number in `texture.h`.
    pub fn of(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    const ALL: [Self; 8] = [
        Self::U8,
        Self::U16,
        Self::F32,
        Self::I8,
        Self::I16,
        Self::F16,
        Self::U32,
        Self::I32,
    ];

    fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }

    fn value(self, bytes: &[u8]) -> f32 {
        let word = |bytes: &[u8]| bytes.first_chunk().copied().unwrap_or_default();
        let pair = |bytes: &[u8]| bytes.first_chunk().copied().unwrap_or_default();
        let byte = bytes.first().copied().unwrap_or_default();
        match self {
            Self::U8 => f32::from(byte) / 255.0,
            Self::U16 => f32::from(u16::from_le_bytes(pair(bytes))) / 65535.0,
            Self::I8 => (f32::from(byte.cast_signed()) / 127.0).max(-1.0),
            Self::I16 => (f32::from(i16::from_le_bytes(pair(bytes))) / 32767.0).max(-1.0),
            Self::U32 => u32::from_le_bytes(word(bytes)) as f32,
            Self::I32 => i32::from_le_bytes(word(bytes)) as f32,
            Self::F16 => half_to_f32(u16::from_le_bytes(pair(bytes))),
            Self::F32 => f32::from_le_bytes(word(bytes)),
        }
    }
}

/// What lies beside a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The same again.
    Wrap,
    /// What lies at its edge.
    Clamp,
    /// The same, mirrored.
    Mirror,
    /// Zero.
    Border,
}

impl Address {
    /// The way with this number in `texture.h`.
    pub fn of(code: u32) -> Option<Self> {
        [Self::Wrap, Self::Clamp, Self::Mirror, Self::Border]
            .get(code as usize)
            .copied()
    }

    fn repeats(self) -> bool {
        matches!(self, Self::Wrap | Self::Mirror)
    }

    /// The texel that stands for one beside the texture.
    fn index(self, at: i64, size: i64) -> i64 {
        match self {
            Self::Wrap => at.rem_euclid(size),
            Self::Clamp => at.clamp(0, size - 1),
            Self::Mirror => {
                let within = at.rem_euclid(2 * size);
                within.min(2 * size - 1 - within)
            }
            Self::Border => at,
        }
    }
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Between texels, instead of the nearest one.
    pub linear: bool,
    /// Coordinates from 0 to 1, instead of texels.
    pub normalized: bool,
    /// What lies beside it along each axis.
    pub address: [Address; 3],
}

/// A texture of one to three dimensions.
#[derive(Debug)]
pub struct Texture {
    /// Width, height and depth; 1 along axes that it has not.
    size: [i32; 3],
    channels: usize,
    texel: Texel,
    sampling: Sampling,
    bytes: Vec<u8>,
}

impl Texture {
    /// A texture; nothing where there are not as many bytes as texels need.
    pub fn new(
        size: [i32; 3],
        channels: usize,
        texel: Texel,
        sampling: Sampling,
        bytes: Vec<u8>,
    ) -> Option<Self> {
        let mut axes = size
            .iter()
            .map(|n| usize::try_from(*n).ok().filter(|n| *n > 0));
        let texel_bytes = channels.checked_mul(texel.bytes())?;
        let needed = axes.try_fold(texel_bytes, |needed, axis| needed.checked_mul(axis?));
        (needed == Some(bytes.len()) && (1..=4).contains(&channels)).then_some(Self {
            size,
            channels,
            texel,
            sampling,
            bytes,
        })
    }

    /// The texture in 4-byte words, as `texture.h` of the GPU's runtime reads it: three sizes, channels, the kind of
    /// texels, whether it is linear and normalized, what lies beside it along each axis; texels.
    pub fn flat(&self, out: &mut Vec<u8>) {
        let Sampling {
            linear,
            normalized,
            address,
        } = self.sampling;
        let kind = Texel::ALL.iter().position(|texel| *texel == self.texel);
        let words = self.size.map(i32::cast_unsigned).into_iter();
        let words = words.chain([
            self.channels as u32,
            kind.unwrap_or_default() as u32,
            u32::from(linear),
            u32::from(normalized),
        ]);
        let words = words.chain(address.map(|address| address as u32));
        out.extend(words.flat_map(u32::to_le_bytes));
        out.extend_from_slice(&self.bytes);
    }

    fn fetch(&self, at: [i64; 3], channel: usize) -> f32 {
        let inside = (0..3).all(|axis| (0..i64::from(self.size[axis])).contains(&at[axis]));
        if !inside || channel >= self.channels {
            return 0.0;
        }
        let [x, y, z] = at.map(|n| n as usize);
        let [width, height, _] = self.size.map(|n| n as usize);
        let element = ((z * height + y) * width + x) * self.channels + channel;
        let from = self.bytes.get(element * self.texel.bytes()..);
        self.texel.value(from.unwrap_or_default())
    }

    /// The texel that a coordinate lies in.
    fn nearest(&self, axis: usize, coordinate: f32) -> i64 {
        let (address, size) = (self.sampling.address[axis], self.size[axis]);
        let width = f64::from(size);
        let mut reduced = f64::from(coordinate);
        if address.repeats() {
            let period = if self.sampling.normalized { 1.0 } else { width };
            reduced %= if address == Address::Mirror {
                2.0 * period
            } else {
                period
            };
        }
        let texel = match self.sampling.normalized {
            true => reduced * width,
            false => reduced * width / width,
        };
        let texel = match address.repeats() {
            true => texel,
            false => texel.min(width).max(-1.0),
        };
        address.index(texel.floor() as i64, i64::from(size))
    }

    /// The texels on both sides of a coordinate, and how near it is to the second.
    fn between(&self, axis: usize, coordinate: f32) -> ([i64; 2], f32) {
        let (address, size) = (self.sampling.address[axis], self.size[axis]);
        let (normalized, width) = (self.sampling.normalized, size as f32);
        let mut reduced = coordinate;
        if address.repeats() {
            let once = if normalized { 1.0 } else { width };
            let period = if address == Address::Mirror {
                2.0 * once
            } else {
                once
            };
            reduced %= period;
            if reduced < 0.0 {
                reduced += period;
            }
        }
        let unit = if normalized { reduced } else { reduced / width };
        let texel = unit * width - 0.5;
        let texel = match address {
            Address::Clamp => texel.min((size - 1) as f32).max(0.0),
            Address::Border => texel.min(width).max(-2.0),
            Address::Wrap | Address::Mirror => texel,
        };
        let first = texel.floor() as i64;
        let both = [first, first.saturating_add(1)];
        let both = both.map(|at| address.index(at, i64::from(size)));
        (both, texel - first as f32)
    }

    /// One channel at a place of as many coordinates as the texture has dimensions.
    pub fn sample(&self, place: &[f32], channel: usize) -> f32 {
        if !self.sampling.linear {
            let mut at = [0; 3];
            for (axis, coordinate) in place.iter().enumerate().take(3) {
                at[axis] = self.nearest(axis, *coordinate);
            }
            return self.fetch(at, channel);
        }
        let mut sides = [([0; 2], 0.0); 3];
        for (axis, coordinate) in place.iter().enumerate().take(3) {
            sides[axis] = self.between(axis, *coordinate);
        }
        self.mix(&sides[..place.len().min(3)], [0; 3], channel)
    }

    /// The mean of both sides along the last axis of `sides`, of means along those before it.
    fn mix(&self, sides: &[([i64; 2], f32)], at: [i64; 3], channel: usize) -> f32 {
        let Some((([low, high], share), rest)) = sides.split_last() else {
            return self.fetch(at, channel);
        };
        let side = |index: i64| {
            let mut at = at;
            at[rest.len()] = index;
            self.mix(rest, at, channel)
        };
        side(*low) * (1.0 - share) + side(*high) * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(address: Address, linear: bool, normalized: bool) -> Texture {
        let sampling = Sampling {
            linear,
            normalized,
            address: [address; 3],
        };
        let bytes = [1.0_f32, 2.0, 4.0, 8.0].map(f32::to_le_bytes);
        let bytes = bytes.as_flattened().to_vec();
        Texture::new([4, 1, 1], 1, Texel::F32, sampling, bytes).unwrap()
    }

    #[test]
    fn what_lies_beside_a_texture() {
        for (address, before, behind) in [
            (Address::Wrap, 8.0, 1.0),
            (Address::Clamp, 1.0, 8.0),
            (Address::Mirror, 1.0, 8.0),
            (Address::Border, 0.0, 0.0),
        ] {
            let texture = row(address, false, false);
            assert_eq!(texture.sample(&[-0.5], 0), before, "{address:?}");
            assert_eq!(texture.sample(&[4.5], 0), behind, "{address:?}");
            assert_eq!(texture.sample(&[2.5], 0), 4.0);
            // Nothing is read outside, wherever the place is.
            for place in [f32::NAN, f32::INFINITY, -1e30, 1e30] {
                let _ = texture.sample(&[place], 0);
                let _ = row(address, true, true).sample(&[place], 0);
            }
        }
    }

    #[test]
    fn samples_lie_between_texels() {
        let texture = row(Address::Clamp, true, true);
        assert_eq!(texture.sample(&[0.125], 0), 1.0);
        assert_eq!(texture.sample(&[0.5], 0), 3.0);
        assert_eq!(texture.sample(&[0.5], 1), 0.0);
        let sampling = texture.sampling;
        let bytes = vec![0, 255, 51, 0, 0, 0, 255, 255];
        let square = Texture::new([2, 2, 1], 2, Texel::U8, sampling, bytes.clone()).unwrap();
        assert_eq!(square.sample(&[0.25, 0.25], 1), 1.0);
        assert_eq!(square.sample(&[0.75, 0.25], 0), 0.2);
        assert_eq!(square.sample(&[0.5, 0.75], 1), 0.5);
        assert!(Texture::new([3, 2, 1], 2, Texel::U8, sampling, bytes.clone()).is_none());
        assert!(Texture::new([0, 2, 1], 2, Texel::U8, sampling, bytes).is_none());
    }
}
