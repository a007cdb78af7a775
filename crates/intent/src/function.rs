//! The vocabulary of functions of one number, and the chains of them that differ in what they compute.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::expression::Expression;

/// A function of one number `x`, in words and as a formula. Constants are exact in binary, so that single
/// and double precision mean the same number.
pub(crate) struct Function {
    /// As a part of a kernel's name.
    pub(crate) name: &'static str,
    pub(crate) formula: &'static str,
    /// What to do with a value.
    pub(crate) verb: &'static str,
    /// What the result is; `{}` is the value.
    pub(crate) noun: &'static str,
    /// Whether it grows faster than its argument: a chain has at most one of these, so that single
    /// precision does not overflow where double precision does not.
    grows: bool,
}

const fn function(
    name: &'static str,
    formula: &'static str,
    verb: &'static str,
    noun: &'static str,
) -> Function {
    Function {
        name,
        formula,
        verb,
        noun,
        grows: false,
    }
}

impl Function {
    const fn growing(self) -> Self {
        Self {
            grows: true,
            ..self
        }
    }
}

/// How many of the first functions are straight lines.
const STRAIGHT: usize = 7;

/// All functions.
#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[Function] = &[
    function("quarter", "0.25 * x", "multiply it by 0.25", "0.25 times {}"),
    function("scaled", "1.5 * x", "multiply it by 1.5", "1.5 times {}"),
    function("tripled", "3 * x", "multiply it by 3", "3 times {}"),
    function("negated", "-x", "negate it", "the negative of {}"),
    function("raised", "x + 0.5", "add 0.5", "{} plus 0.5"),
    function("lowered", "x - 1.25", "subtract 1.25", "{} minus 1.25"),
    function("mirrored", "2 - x", "subtract it from 2", "2 minus {}"),
    function("relu", "max(x, 0)", "replace it by 0 if it is negative", "the positive part of {}"),
    function("relu6", "clamp(x, 0, 6)", "limit it to the range from 0 to 6", "{} limited to the range from 0 to 6"),
    function("leaky_relu", "where(x > 0, x, 0.125 * x)", "multiply it by 0.125 if it is not positive", "the leaky ReLU (slope 0.125) of {}"),
    function("elu", "where(x > 0, x, exp(min(x, 0)) - 1)", "apply the exponential linear unit", "the exponential linear unit of {}"),
    function("clamped", "clamp(x, -1, 1)", "limit it to the range from -1 to 1", "{} limited to the range from -1 to 1"),
    function("clipped", "clamp(x, -0.5, 2)", "limit it to the range from -0.5 to 2", "{} limited to the range from -0.5 to 2"),
    function("at_least", "max(x, 0.25)", "raise it to 0.25 if it is smaller", "the larger of 0.25 and {}"),
    function("at_most", "min(x, 1.5)", "lower it to 1.5 if it is larger", "the smaller of 1.5 and {}"),
    function("absolute", "abs(x)", "take its absolute value", "the absolute value of {}"),
    function("squared", "x * x", "square it", "the square of {}").growing(),
    function("cubed", "x * x * x", "raise it to the third power", "the third power of {}").growing(),
    function("tanh", "tanh(x)", "take its hyperbolic tangent", "the hyperbolic tangent of {}"),
    function("sigmoid", "1 / (1 + exp(-x))", "apply the logistic sigmoid", "the logistic sigmoid of {}"),
    function("silu", "x / (1 + exp(-x))", "apply SiLU (x times its logistic sigmoid)", "the SiLU of {}"),
    function("gelu", "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))", "apply GELU in its tanh form", "the GELU (tanh form) of {}"),
    function("softplus", "max(x, 0) + log(1 + exp(-abs(x)))", "apply softplus, log(1 + exp(x))", "the softplus of {}"),
    function("softsign", "x / (1 + abs(x))", "apply softsign, x / (1 + |x|)", "the softsign of {}"),
    function("bell", "exp(-(x * x))", "apply the bell curve exp(-x * x)", "the bell curve exp(-x * x) of {}"),
    function("decay", "exp(-abs(x))", "take exp of minus its absolute value", "exp of minus the absolute value of {}"),
    function("lorentz", "1 / (1 + x * x)", "apply 1 / (1 + x * x)", "the Lorentz curve 1 / (1 + x * x) of {}"),
    function("root", "sqrt(abs(x))", "take the square root of its absolute value", "the square root of the absolute value of {}"),
    function("log_magnitude", "log(1 + abs(x))", "take log(1 + |x|)", "log(1 + |x|) of {}"),
    function("sine", "sin(x)", "take its sine", "the sine of {}"),
    function("cosine", "cos(x)", "take its cosine", "the cosine of {}"),
    function("arctangent", "atan(x)", "take its arctangent", "the arctangent of {}"),
    function("hard_swish", "x * clamp(x + 3, 0, 6) / 6", "apply hard swish, x * clamp(x + 3, 0, 6) / 6", "the hard swish of {}"),
    function("hard_sigmoid", "clamp(0.25 * x + 0.5, 0, 1)", "apply the hard sigmoid clamp(0.25 x + 0.5, 0, 1)", "the hard sigmoid clamp(0.25 x + 0.5, 0, 1) of {}"),
    function("huber", "where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5)", "apply the Huber loss with threshold 1", "the Huber loss (threshold 1) of {}").growing(),
    function("shrunk", "max(x - 0.5, 0) + min(x + 0.5, 0)", "shrink it towards 0 by 0.5", "{} shrunk towards 0 by 0.5"),
    function("tanh_shrunk", "x - tanh(x)", "subtract its hyperbolic tangent from it", "tanhshrink, x - tanh(x), of {}"),
];

/// Their formulas.
pub(crate) static FORMULAS: LazyLock<Vec<Expression>> = LazyLock::new(|| {
    let read = |function: &Function| Expression::read(function.formula);
    // A formula that cannot be read has no value, which a test looks for.
    let broken = |_| Expression::Number(f64::NAN);
    let formulas = FUNCTIONS.iter().map(read);
    formulas.map(|read| read.unwrap_or_else(broken)).collect()
});

/// Chains of one length that all compute different functions.
pub(crate) struct Chains {
    pub(crate) list: Vec<Vec<usize>>,
    numbers: HashMap<Vec<usize>, usize>,
}

impl Chains {
    /// The number of a chain; `None` where an earlier one computes the same.
    pub(crate) fn number(&self, chain: &[usize]) -> Option<usize> {
        self.numbers.get(chain).copied()
    }
}

pub(crate) static SINGLE: LazyLock<Chains> = LazyLock::new(|| distinct(1));
pub(crate) static DOUBLE: LazyLock<Chains> = LazyLock::new(|| distinct(2));

/// Where chains are compared: on both sides of every threshold above.
const POINTS: [f64; 16] = [
    -31.0, -7.3, -3.7, -2.1, -1.31, -0.83, -0.45, -0.21, 0.13, 0.31, 0.61, 1.17, 1.72, 2.6, 5.3,
    19.0,
];

/// A chain that differs from all earlier ones of its length, and from each of its own parts.
fn distinct(stages: u32) -> Chains {
    let count = FUNCTIONS.len();
    let print = |chain: &[usize]| -> Vec<i64> {
        let through = |x: f64| chain.iter().fold(x, |x, stage| FORMULAS[*stage].value(x));
        // Five digits: what differs by less is the same to single precision.
        let rounded = |y: f64| match y == 0.0 || y.abs() < 1e-9 {
            true => 0,
            false => {
                let scale = 10f64.powi(5 - y.abs().log10().ceil() as i32);
                (y * scale).round() as i64 + 1_000_000 * y.abs().log10().ceil() as i64
            }
        };
        POINTS.iter().map(|x| rounded(through(*x))).collect()
    };
    let mut seen: HashSet<Vec<i64>> = HashSet::from([print(&[])]);
    if stages > 1 {
        seen.extend((0..count).map(|one| print(&[one])));
    }
    let mut chains = Chains {
        list: Vec::new(),
        numbers: HashMap::new(),
    };
    for number in 0..count.pow(stages) {
        let chain: Vec<usize> = (0..stages)
            .map(|stage| number / count.pow(stage) % count)
            .collect();
        let growing = chain.iter().filter(|stage| FUNCTIONS[**stage].grows);
        // Two straight lines in a row are one.
        let straight = stages > 1 && chain.iter().all(|stage| *stage < STRAIGHT);
        let mark = print(&chain);
        // A constant is no function of its argument.
        let constant = mark.iter().all(|value| *value == mark[0]);
        if growing.count() <= 1 && !constant && !straight && seen.insert(mark) {
            chains.numbers.insert(chain.clone(), chains.list.len());
            chains.list.push(chain);
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_is_read_and_every_function_is_another() {
        for (function, formula) in FUNCTIONS.iter().zip(FORMULAS.iter()) {
            assert!(formula.value(0.7).is_finite(), "{}", function.name);
            assert_eq!(function.noun.matches("{}").count(), 1, "{}", function.name);
        }
        assert_eq!(SINGLE.list.len(), FUNCTIONS.len());
        let at = |name: &str| FUNCTIONS.iter().position(|one| one.name == name).unwrap();
        assert!(DOUBLE.number(&[at("sigmoid"), at("sine")]).is_some());
        // The positive part of an absolute value is the absolute value.
        assert!(DOUBLE.number(&[at("absolute"), at("relu")]).is_none());
        // These two commute: one of them is enough.
        let both = [[at("relu"), at("tripled")], [at("tripled"), at("relu")]];
        assert_eq!(both.iter().flat_map(|one| DOUBLE.number(one)).count(), 1);
        assert!(DOUBLE.list.len() > 900, "{}", DOUBLE.list.len());
    }
}
