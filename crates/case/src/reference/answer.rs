//! What a reference says about one run.

/// The right contents of every output, in the order of the outputs.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) outputs: Vec<Truth>,
    /// Whether it was computed in float64, so that the reference's own rounding does not count.
    pub(crate) wide: bool,
    /// What the user should know about it.
    pub(crate) note: Option<String>,
}

/// The right contents of one output.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    /// The values; whole numbers beyond 2⁵³ are in `whole`.
    pub(crate) values: Vec<f64>,
    /// Whole numbers, exactly.
    pub(crate) whole: Option<Vec<i64>>,
    /// What the same formula gives in the type of the inputs: the yardstick for rounding.
    pub(crate) plain: Option<Vec<f64>>,
    /// How much the value moves when every input moves by one part in 2²³, where that was asked.
    pub(crate) spread: Option<Vec<f64>>,
    /// How far adding one term after the other, in the inputs' own type, is from adding in pairs: equal terms
    /// round the same way each time, and their errors add up. Known where `spread` is.
    pub(crate) in_turn: Option<Vec<f64>>,
    /// How many input elements decide one output element.
    pub(crate) fan_in: f64,
}

impl Answer {
    /// Whether more could be said about how far rounding reaches.
    pub(crate) fn lacks_spread(&self) -> bool {
        let lacks = |truth: &Truth| truth.spread.is_none() && truth.whole.is_none();
        self.wide && self.outputs.iter().any(lacks)
    }
}
