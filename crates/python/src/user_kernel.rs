//! A user's own kernel from Python: comparison with the truth, the search of `tune`, and its race.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_case::{ArrayTruth, Space, compare_arrays};
use warpsmith_core::Tolerance;

use crate::json;

/// How a result compares with the truth, as JSON. Truths are bytes of float64.
#[pyfunction]
#[pyo3(signature = (name, scalar, shape, actual, values, plain, spread, fan_in, wide, tolerance))]
#[allow(
    clippy::too_many_arguments,
    reason = "plain values; the package gives them names"
)]
pub(crate) fn compare_output(
    name: &str,
    scalar: &str,
    shape: Vec<usize>,
    actual: &[u8],
    values: &[u8],
    plain: Option<&[u8]>,
    spread: Option<&[u8]>,
    fan_in: f64,
    wide: bool,
    tolerance: Option<(f64, f64)>,
) -> PyResult<String> {
    let floats = |bytes: &[u8]| -> Vec<f64> {
        let words = bytes.as_chunks().0.iter();
        words.map(|word| f64::from_le_bytes(*word)).collect()
    };
    let truth = ArrayTruth {
        values: floats(values),
        plain: plain.map(floats),
        spread: spread.map(floats),
        fan_in,
        wide,
    };
    let tolerance = tolerance.map(|(abs, rel)| Tolerance { abs, rel, ulp: 0 });
    let compared = compare_arrays(name, scalar, &shape, actual, truth, tolerance);
    json(&compared.map_err(PyValueError::new_err)?)
}

/// The search over combinations of values.
#[pyclass]
pub(crate) struct Search {
    space: Space,
    search: warpsmith_case::Search,
}

#[pymethods]
impl Search {
    #[new]
    #[pyo3(signature = (named, allowed, share, seed))]
    fn new(
        named: Vec<(String, usize)>,
        allowed: Option<&Bound<'_, PyAny>>,
        share: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let mut raised = None;
        let mut allows = |ordinals: &[usize]| -> bool {
            let Some(allowed) = allowed else {
                return true;
            };
            if raised.is_some() {
                return false;
            }
            let answer = allowed
                .call1((ordinals.to_vec(),))
                .and_then(|answer| answer.is_truthy());
            answer.unwrap_or_else(|error| {
                raised = Some(error);
                false
            })
        };
        let space = Space::of_counts(&named, &mut allows).map_err(PyValueError::new_err)?;
        if let Some(error) = raised {
            return Err(error);
        }
        let search = warpsmith_case::Search::new(&space, share, seed);
        Ok(Self { space, search })
    }

    #[getter]
    fn points(&self) -> usize {
        self.space.len()
    }

    #[getter]
    fn budget(&self) -> usize {
        self.search.budget()
    }

    /// The positions of a point's values.
    fn ordinals(&self, point: usize) -> PyResult<Vec<usize>> {
        let found = self.space.ordinals().get(point).cloned();
        found.ok_or_else(|| PyValueError::new_err("there is no such point"))
    }

    /// The next points to measure; none when the search is over.
    fn propose(&mut self) -> Vec<usize> {
        self.search.propose(&self.space, 1)
    }

    /// What a point took; nothing where it was refused.
    #[pyo3(signature = (point, seconds))]
    fn tell(&mut self, point: usize, seconds: Option<f64>) {
        self.search.tell(point, seconds);
    }

    /// How much of the spread each name explains by itself.
    fn importance(&self, measured: Vec<(usize, f64)>) -> Vec<(String, f64)> {
        self.space.importance(&measured)
    }
}

/// Samples of every candidate of a race, and whether it left.
#[pyfunction]
pub(crate) fn race(
    count: usize,
    first: usize,
    most: usize,
    equal: f64,
    seed: u64,
    sample: &Bound<'_, PyAny>,
) -> PyResult<Vec<(Vec<f64>, bool)>> {
    let lanes = warpsmith_case::race(count, first, most, equal, seed, &mut |at| {
        sample.call1((at,))?.extract::<f64>()
    })?;
    Ok(lanes
        .into_iter()
        .map(|lane| (lane.seconds, lane.out))
        .collect())
}
