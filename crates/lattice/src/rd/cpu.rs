//! Runs on the CPU: plain, vectorised, on threads, and several steps per pass over memory.
//!
//! Temporal blocking is a wavefront along z: as soon as planes z−1, z and z+1 have taken step s,
//! plane z takes step s+1, while all three are still in the cache. The two media alternate as
//! source and target, and step s+1 overwrites a plane that step s no longer needs, so it takes no
//! memory beyond that of a single step and does the same operations on the same numbers.

use rayon::prelude::*;
use warpsmith_device::CpuDevice;

use super::field::Field;
use super::rule::Rule;
use super::sweep;
use crate::error::LatticeError;
use crate::shape::Shape;
use warpsmith_lanes::InstructionSet;

/// How the CPU does it. Every form gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuForm {
    /// One cell after the other: the specification.
    Plain,
    /// Vectors on one thread, `depth` steps per pass over memory.
    Blocked {
        /// The instructions.
        set: InstructionSet,
        /// Steps per pass.
        depth: usize,
    },
    /// Vectors on every thread of the device.
    Threads {
        /// The instructions.
        set: InstructionSet,
    },
}

impl CpuForm {
    /// The fastest form on one thread: as many steps per pass as the planes of a wavefront fit into
    /// a private cache of `cache_bytes`.
    pub fn blocked_for(shape: Shape, cache_bytes: u64) -> Self {
        // A wavefront of depth k touches k + 2 planes of three arrays; half of the cache is left to
        // whatever else is there.
        let plane = 12 * shape.plane() as u64;
        let depth = (cache_bytes / 2 / plane).saturating_sub(2).clamp(1, 8);
        Self::Blocked {
            set: InstructionSet::widest(),
            depth: depth as usize,
        }
    }
}

/// A run on the CPU.
#[derive(Debug)]
pub struct CpuRun {
    rule: Rule,
    form: CpuForm,
    device: CpuDevice,
    field: Field,
    other: Vec<f32>,
    zeros: Vec<f32>,
}

/// Cells of a task: half a megabyte of traffic, some 50 µs.
const TASK_CELLS: usize = 1 << 15;

impl CpuRun {
    /// Takes a field over.
    pub fn new(
        device: &CpuDevice,
        rule: Rule,
        form: CpuForm,
        field: Field,
    ) -> Result<Self, LatticeError> {
        let expected = field.shape.cells();
        for (what, values) in [("the medium", &field.u), ("the memory", &field.e)] {
            if values.len() != expected {
                let found = values.len();
                return Err(LatticeError::Length {
                    what,
                    found,
                    expected,
                });
            }
        }
        Ok(Self {
            other: vec![0.0; expected],
            zeros: vec![0.0; field.shape.row()],
            device: device.clone(),
            rule,
            form,
            field,
        })
    }

    /// Takes `steps` steps.
    pub fn advance(&mut self, steps: usize) {
        match self.form {
            CpuForm::Plain => {
                for _ in 0..steps {
                    let Field { shape, u, e } = &mut self.field;
                    sweep::plain(&self.rule, *shape, u, e, &mut self.other);
                    std::mem::swap(u, &mut self.other);
                }
            }
            CpuForm::Blocked { set, depth } => {
                let mut left = steps;
                while left > 0 {
                    let taken = left.min(depth.max(1));
                    self.wavefront(set, taken);
                    left -= taken;
                }
            }
            CpuForm::Threads { set } => {
                for _ in 0..steps {
                    self.step_on_threads(set);
                }
            }
        }
    }

    fn wavefront(&mut self, set: InstructionSet, depth: usize) {
        let Self {
            rule,
            field: Field { shape, u, e },
            other,
            zeros,
            ..
        } = self;
        let (planes, rows, size) = (shape.extents()[0], shape.extents()[1], shape.plane());
        // At time t, step s is taken by plane t − s.
        for time in 0..planes + depth - 1 {
            for step in 0..depth.min(time + 1) {
                let plane = time - step;
                if plane >= planes {
                    continue;
                }
                let (from, to) = if step % 2 == 0 {
                    (&*u, &mut *other)
                } else {
                    (&*other, &mut *u)
                };
                let range = plane * size..(plane + 1) * size;
                let (e, to) = (&mut e[range.clone()], &mut to[range]);
                sweep::rows(set, rule, *shape, plane * rows, from, e, to, zeros);
            }
        }
        if depth % 2 == 1 {
            std::mem::swap(u, other);
        }
    }

    fn step_on_threads(&mut self, set: InstructionSet) {
        let Self {
            rule,
            field: Field { shape, u, e },
            other,
            zeros,
            device,
            ..
        } = self;
        let (nx, shape) = (shape.row(), *shape);
        // Tasks are rows, so that a plane is shared too; at least one row each.
        let rows = (TASK_CELLS / nx).clamp(1, shape.rows().div_ceil(device.threads()).max(1));
        let (u_old, zeros, rule) = (&*u, &*zeros, &*rule);
        device.run(|| {
            other
                .par_chunks_mut(rows * nx)
                .zip(e.par_chunks_mut(rows * nx))
                .enumerate()
                .for_each(|(task, (out, e))| {
                    sweep::rows(set, rule, shape, task * rows, u_old, e, out, zeros);
                });
        });
        std::mem::swap(u, other);
    }

    /// The state now.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The state now, to be changed from outside.
    pub fn field_mut(&mut self) -> &mut Field {
        &mut self.field
    }

    /// Ends the run.
    pub fn into_field(self) -> Field {
        self.field
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn every_form() -> Vec<CpuForm> {
        let mut forms = vec![CpuForm::Plain];
        for set in InstructionSet::present() {
            forms.push(CpuForm::Threads { set });
            forms.extend([1, 2, 3, 5].map(|depth| CpuForm::Blocked { set, depth }));
        }
        forms
    }

    fn run(form: CpuForm, field: &Field, steps: usize) -> Field {
        let device = CpuDevice::with_threads(3).unwrap();
        let rule = Rule::usual(field.shape);
        let mut run = CpuRun::new(&device, rule, form, field.clone()).unwrap();
        run.advance(steps);
        run.into_field()
    }

    /// The rule in `f64`, written down a second time.
    fn oracle(field: &Field, steps: usize) -> (Vec<f64>, Vec<f64>) {
        let shape = field.shape;
        let mut u: Vec<f64> = field.u.iter().map(|&value| f64::from(value)).collect();
        let mut e: Vec<f64> = field.e.iter().map(|&value| f64::from(value)).collect();
        for _ in 0..steps {
            let old = u.clone();
            for index in 0..shape.cells() {
                let neighbours: f64 = shape
                    .neighbours(shape.cell(index))
                    .map(|cell| old[shape.index(cell)])
                    .sum();
                let v = old[index];
                let lap = neighbours - 2.0 * shape.dimensions() as f64 * v;
                let mut reaction = 0.05 * v * (1.0 - v) * (v - 0.3);
                if e[index] > 0.5 {
                    reaction *= 0.8;
                }
                u[index] = (v + 0.1 * lap + reaction).clamp(0.0, 1.0);
                e[index] = 0.9 * e[index] + 0.1 * lap.abs();
            }
        }
        (u, e)
    }

    fn relative_error(actual: &[f32], expected: &[f64]) -> f64 {
        let square = |value: f64| value * value;
        let pairs = actual.iter().zip(expected);
        let difference: f64 = pairs.map(|(&a, &b)| square(f64::from(a) - b)).sum();
        let norm: f64 = expected.iter().map(|&b| square(b)).sum();
        (difference / norm.max(f64::MIN_POSITIVE)).sqrt()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_form_gives_the_same_bits(
            extents in prop::collection::vec(1usize..40, 1..=3),
            seed in 0u64..1000,
            steps in 0usize..7,
        ) {
            let shape = Shape::new(&extents).unwrap();
            let mut field = Field::noise(shape, seed).unwrap();
            // Some memory above one half, so that both rates are used.
            field.e.iter_mut().step_by(3).for_each(|value| *value = 0.7);
            let expected = run(CpuForm::Plain, &field, steps);
            for form in every_form() {
                let actual = run(form, &field, steps);
                prop_assert_eq!(actual.digest(), expected.digest(), "{:?} on {}", form, shape);
            }
        }
    }

    #[test]
    fn a_hundred_steps_stay_within_the_bound_of_the_oracle() {
        for extents in [&[13, 14, 15][..], &[40, 33], &[200]] {
            let field = Field::noise(Shape::new(extents).unwrap(), 7).unwrap();
            let actual = run(CpuForm::Plain, &field, 100);
            let (u, e) = oracle(&field, 100);
            // Errors of half an ULP per operation are damped by diffusion, not amplified.
            assert!(relative_error(&actual.u, &u) < 2e-6, "{extents:?}");
            assert!(relative_error(&actual.e, &e) < 5e-6, "{extents:?}");
            assert!(actual.u.iter().all(|value| (0.0..=1.0).contains(value)));
        }
    }

    #[test]
    fn a_full_medium_far_from_the_boundary_stays_full() {
        let shape = Shape::cube(9).unwrap();
        let mut field = Field::noise(shape, 1).unwrap();
        field.u.fill(1.0);
        let after = run(CpuForm::Plain, &field, 3);
        let middle = shape.parse_cell("4,4,4").unwrap();
        assert_eq!(after.u[shape.index(middle)], 1.0);
        assert!(after.u[0] < 1.0);
    }

    #[test]
    fn coefficients_that_would_blow_up_are_refused() {
        let shape = Shape::cube(4).unwrap();
        for (diffusion, reaction, threshold) in [
            (0.0, 0.05, 0.3),
            (-0.1, 0.05, 0.3),
            (0.2, 0.05, 0.3),
            (f32::NAN, 0.05, 0.3),
            (0.1, 0.0, 0.3),
            (0.1, f32::INFINITY, 0.3),
            (0.1, 0.05, 1.5),
        ] {
            let error = Rule::new(shape, diffusion, reaction, threshold).unwrap_err();
            assert!(error.to_string().contains("must be above 0"), "{error}");
        }
        assert_eq!(
            Rule::new(shape, 0.1, 0.05, 0.3).unwrap(),
            Rule::usual(shape)
        );
    }
}
