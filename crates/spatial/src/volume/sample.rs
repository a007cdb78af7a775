//! Values between voxels, and how they change: in the precision of the voxels, with weights of single precision,
//! added up in Warp's order.

use super::{MOST_NUMBERS, Volume, Voxel};
use warpsmith_ir::types::Scalar;

/// The numbers of a value, or of its gradients along each axis, as bits.
pub type Bits = [u64; MOST_NUMBERS];

/// The precision of a volume's numbers.
trait Real: Copy {
    const ZERO: Self;
    fn of(weight: f32) -> Self;
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn single(self) -> f32;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    fn of(weight: f32) -> Self {
        weight
    }
    fn from_bits(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn single(self) -> f32 {
        self
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    fn of(weight: f32) -> Self {
        Self::from(weight)
    }
    fn from_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn single(self) -> f32 {
        self as f32
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
}

/// One of the eight voxels around a place: its share, how that changes along each axis, and how these changes do.
struct Corner {
    ijk: [i32; 3],
    weight: f32,
    slope: [f32; 3],
    bend: [[f32; 3]; 3],
}

/// The voxels around a place, in Warp's order.
fn corners(uvw: [f32; 3]) -> impl Iterator<Item = Corner> {
    let low = uvw.map(f32::floor);
    let first = low.map(|x| x as i32);
    let shares = [0, 1, 2].map(|axis| {
        let part = uvw[axis] - low[axis];
        [1.0 - part, part]
    });
    (0..8_usize).map(move |corner| {
        let at = [corner >> 2, corner >> 1 & 1, corner & 1];
        let [x, y, z] = [0, 1, 2].map(|axis| shares[axis][at[axis]]);
        let [up, right, on] = at.map(|step| if step == 1 { 1.0_f32 } else { -1.0 });
        Corner {
            ijk: [0, 1, 2].map(|axis| first[axis].wrapping_add(at[axis] as i32)),
            weight: x * y * z,
            slope: [up * y * z, right * x * z, on * x * y],
            bend: [
                [0.0, right * up * z, on * up * y],
                [up * right * z, 0.0, on * right * x],
                [up * on * y, right * on * x, 0.0],
            ],
        }
    })
}

/// What one of the voxels around a place has to do with it.
#[derive(Debug)]
pub struct Part {
    /// Its number among those that are stored, -1 where it is none of them.
    pub index: i32,
    /// Its share.
    pub share: f32,
    /// How that changes along each axis.
    pub slope: [f32; 3],
    /// How these changes do.
    pub bend: [[f32; 3]; 3],
}

impl Volume {
    /// One of the eight voxels around a place; where values are not mixed the first is the nearest, and all there is.
    pub fn part(&self, uvw: [f32; 3], linear: bool, number: u8) -> Part {
        let mut around = corners(uvw);
        match around.nth(number.into()) {
            Some(corner) if linear => Part {
                index: self.index(corner.ijk),
                share: corner.weight,
                slope: corner.slope,
                bend: corner.bend,
            },
            _ => Part {
                index: match number {
                    0 => self.index(uvw.map(|x| x.round() as i32)),
                    _ => -1,
                },
                share: 1.0,
                slope: [0.0; 3],
                bend: [[0.0; 3]; 3],
            },
        }
    }

    fn numbers<T: Real>(&self, voxel: Voxel, ijk: [i32; 3]) -> [T; MOST_NUMBERS] {
        self.look_up(voxel, ijk).map(T::from_bits)
    }

    /// The value between voxels.
    pub fn linear(&self, voxel: Voxel, uvw: [f32; 3]) -> Bits {
        match voxel.scalar() {
            Scalar::F32 => self.sum::<f32>(voxel, uvw),
            Scalar::F64 => self.sum::<f64>(voxel, uvw),
            scalar => [self.whole(voxel, scalar, uvw), 0, 0, 0],
        }
    }

    fn sum<T: Real>(&self, voxel: Voxel, uvw: [f32; 3]) -> Bits {
        let mut sum = [T::ZERO; MOST_NUMBERS];
        for corner in corners(uvw) {
            let weight = T::of(corner.weight);
            for (sum, value) in sum.iter_mut().zip(self.numbers::<T>(voxel, corner.ijk)) {
                *sum = sum.plus(weight.times(value));
            }
        }
        sum.map(T::bits)
    }

    /// Shares become whole numbers, too: the value is that of the voxel that has all of it, or zero.
    fn whole(&self, voxel: Voxel, scalar: Scalar, uvw: [f32; 3]) -> u64 {
        let sum = corners(uvw).fold(0_u64, |sum, corner| {
            let value = self.look_up(voxel, corner.ijk)[0];
            sum.wrapping_add(value.wrapping_mul(corner.weight as u64))
        });
        match scalar {
            Scalar::I64 => sum,
            _ => u64::from(sum as u32),
        }
    }

    /// How each number between voxels changes along each axis.
    pub fn slopes(&self, voxel: Voxel, uvw: [f32; 3]) -> [[u64; 3]; MOST_NUMBERS] {
        match voxel.scalar() {
            Scalar::F32 => self.sum_of_slopes::<f32>(voxel, uvw),
            Scalar::F64 => self.sum_of_slopes::<f64>(voxel, uvw),
            _ => [[0; 3]; MOST_NUMBERS],
        }
    }

    fn sum_of_slopes<T: Real>(&self, voxel: Voxel, uvw: [f32; 3]) -> [[u64; 3]; MOST_NUMBERS] {
        let mut sums = [[T::ZERO; 3]; MOST_NUMBERS];
        for corner in corners(uvw) {
            for (sums, value) in sums.iter_mut().zip(self.numbers::<T>(voxel, corner.ijk)) {
                for (sum, slope) in sums.iter_mut().zip(corner.slope) {
                    *sum = sum.plus(value.times(T::of(slope)));
                }
            }
        }
        sums.map(|sums| sums.map(T::bits))
    }

    /// What a place receives of the gradient of the value there, and of those of its slopes.
    pub fn place_gradient(
        &self,
        voxel: Voxel,
        uvw: [f32; 3],
        value: &[u64],
        slopes: Option<&[u64]>,
    ) -> [f32; 3] {
        match voxel.scalar() {
            Scalar::F32 => self.sum_at_place::<f32>(voxel, uvw, value, slopes),
            Scalar::F64 => self.sum_at_place::<f64>(voxel, uvw, value, slopes),
            _ => [0.0; 3],
        }
    }

    fn sum_at_place<T: Real>(
        &self,
        voxel: Voxel,
        uvw: [f32; 3],
        value: &[u64],
        slopes: Option<&[u64]>,
    ) -> [f32; 3] {
        let mut sum = [0.0; 3];
        for corner in corners(uvw) {
            let numbers = self.numbers::<T>(voxel, corner.ijk);
            let numbers = &numbers[..voxel.length()];
            let products = numbers.iter().zip(value);
            // Of two numbers Warp's product is one of single precision, of vectors it is their own.
            let along = match voxel.length() {
                1 => T::of(numbers[0].single() * T::from_bits(value[0]).single()),
                _ => total(products.map(|(number, bits)| number.times(T::from_bits(*bits)))),
            };
            for (sum, slope) in sum.iter_mut().zip(corner.slope) {
                *sum += along.times(T::of(slope)).single();
            }
            let Some(slopes) = slopes else { continue };
            let row = [0, 1, 2].map(|axis| {
                let products = numbers.iter().enumerate();
                total(products.map(|(n, number)| number.times(T::from_bits(slopes[3 * n + axis]))))
            });
            for (axis, sum) in sum.iter_mut().enumerate() {
                let products = row.iter().zip(&corner.bend);
                let bent = total(products.map(|(part, bend)| part.times(T::of(bend[axis]))));
                *sum += bent.single();
            }
        }
        sum
    }
}

/// The sum of numbers, in their order.
fn total<T: Real>(mut numbers: impl Iterator<Item = T>) -> T {
    let first = numbers.next().unwrap_or(T::ZERO);
    numbers.fold(first, T::plus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::block;
    use warpsmith_ir::types::Type;

    #[test]
    fn a_place_receives_of_the_gradients_of_slopes() {
        let (scalar, length) = (Scalar::F64, 3);
        for ty in [Type::Scalar(scalar), Type::Vector { length, scalar }] {
            let voxel = Voxel::of_type(ty).unwrap();
            // The product of the first two coordinates, so that each changes how the other's slope does.
            let bytes = block(voxel, 0.0, |n, part| {
                ((n >> 6) * (n >> 3 & 7) * (part + 1)) as f32
            });
            let volume = Volume::new(bytes).unwrap();
            let place = [1.5, 2.25, 3.5];
            let slopes = volume.slopes(voxel, place)[0].map(f64::from_bits);
            assert_eq!(slopes, [2.25, 1.5, 0.0]);
            let mut given = [0; 9];
            given[0] = 2.0_f64.to_bits();
            let none = [0; 3];
            let gradient = volume.place_gradient(voxel, place, &none, Some(&given));
            assert_eq!(gradient, [0.0, 2.0, 0.0]);
        }
    }
}
