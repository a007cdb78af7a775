//! Reads a case from its text: every mistake names its file, line and key.

use std::fs;
use std::path::{Path, PathBuf};

use warpsmith_core::Tolerance;
use warpsmith_measure::kernel_file::{Direction, Scalar};

use crate::description::{
    Argument, ArgumentKind, Callable, Case, CostExpressions, Fill, Launch, Reference,
    ReferenceKind, Sizes, Source, StatedTolerance, Tunable, TunableValue,
};
use crate::document::{CaseError, Item, Place, Value, parse};
use crate::expression::{Expression, Scope};

/// More sizes than this are a mistake.
const MOST_SIZES: usize = 10_000;
/// More points than this of one tunable, or arguments of a kernel, are a mistake.
const MOST_VALUES: usize = 4096;

const TOP: &[&str] = &[
    "source",
    "kernel",
    "sizes",
    "tails",
    "constraints",
    "arguments",
    "launch",
    "compile",
    "reference",
    "tolerance",
    "tunables",
    "cost",
];

impl Case {
    /// Reads the case of a file.
    pub fn open(path: &Path) -> Result<Self, CaseError> {
        let unreadable = |problem: String| CaseError {
            file: path.to_owned(),
            line: 1,
            key: String::new(),
            problem,
        };
        let text = fs::read_to_string(path)
            .map_err(|error| unreadable(format!("cannot read the case: {error}")))?;
        Self::parse(path, &text)
    }

    /// Reads a case; `file` is what messages call it, and paths in it are relative to its folder.
    pub fn parse(file: &Path, text: &str) -> Result<Self, CaseError> {
        let mut table = parse(file, text)?;
        let reader = Reader { file };
        let whole = Place {
            line: 1,
            key: "source".into(),
        };
        let Some(source) = table.take("source") else {
            return Err(whole.error(file, "missing: the file that holds the kernel"));
        };
        let source_place = source.place.clone();
        let source = reader.source(&source)?;
        let kernel = match table.take("kernel") {
            Some(item) => Some(item.text(file)?),
            None => None,
        };
        let tunables = reader.tunables(table.take("tunables"))?;
        let mut sizes = reader.sizes(table.take("sizes"))?;
        if let Some(item) = table.take("tails") {
            sizes.tails = item.truth(file)?;
        }
        let constraints = match table.take("constraints") {
            None => Vec::new(),
            Some(item) => item
                .list()
                .iter()
                .map(|item| Ok((item.place.clone(), item.expression(file)?)))
                .collect::<Result<_, CaseError>>()?,
        };
        let arguments = match table.take("arguments") {
            None => Vec::new(),
            Some(item) => reader.arguments(item)?,
        };
        let launch = reader.launch(table.take("launch"), &source, &source_place)?;
        let (defines, flags) = reader.compile(table.take("compile"))?;
        let reference = table
            .take("reference")
            .map(|item| reader.reference(item, &source))
            .transpose()?;
        let tolerance = table
            .take("tolerance")
            .map(|item| reader.tolerance(item))
            .transpose()?;
        let cost = reader.cost(table.take("cost"))?;
        table.finish(file, TOP)?;
        let case = Self {
            file: file.to_owned(),
            source,
            kernel,
            sizes,
            constraints,
            arguments,
            launch,
            defines,
            flags,
            reference,
            tolerance,
            tunables,
            cost,
        };
        case.check()?;
        Ok(case)
    }
}

struct Reader<'a> {
    file: &'a Path,
}

impl Reader<'_> {
    fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(name)
    }

    fn source(&self, item: &Item) -> Result<Source, CaseError> {
        let text = item.text(self.file)?;
        if let Some(callable) = self.callable(&text) {
            return Ok(Source::Callable(callable));
        }
        let path = self.beside(&text);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("cu") => Ok(Source::Cuda(path)),
            Some("ptx") => Ok(Source::Ptx(path)),
            Some("cubin") => Ok(Source::Cubin(path)),
            Some("py") => Ok(Source::Warp(path)),
            _ => Err(item.error(
                self.file,
                format!(
                    "cannot tell what `{text}` is: a `.cu`, `.ptx`, `.cubin` or Warp-style `.py` file, \
                     or `file.py:function` for a Python function"
                ),
            )),
        }
    }

    /// `file.py:function`, or `module:function` for `module.py` beside the case.
    fn callable(&self, text: &str) -> Option<Callable> {
        let (file, function) = text.rsplit_once(':')?;
        let name = |text: &str| {
            let mut letters = text.chars();
            letters
                .next()
                .is_some_and(|first| first.is_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        if !name(function) || file.is_empty() {
            return None;
        }
        let file = match file.ends_with(".py") {
            true => self.beside(file),
            false if file.split('.').all(name) => self.beside(&(file.replace('.', "/") + ".py")),
            false => return None,
        };
        Some(Callable {
            file,
            function: function.to_owned(),
        })
    }

    fn sizes(&self, item: Option<Item>) -> Result<Sizes, CaseError> {
        let mut sizes = Sizes {
            tails: true,
            ..Sizes::default()
        };
        let Some(item) = item else {
            sizes.listed.push(Scope::new());
            return Ok(sizes);
        };
        sizes.place = Some(item.place.clone());
        let place = item.place.clone();
        match item.value {
            Value::Table(mut table) => {
                let mut listed = vec![Scope::new()];
                for (name, item) in table.take_all() {
                    self.name(&item.place, &name)?;
                    let values = self.dimension(item)?;
                    if listed.len().saturating_mul(values.len()) > MOST_SIZES {
                        return Err(place.error(
                            self.file,
                            format!("more than {MOST_SIZES} combinations; list them as `sizes = [{{…}}, …]`"),
                        ));
                    }
                    listed = listed
                        .iter()
                        .flat_map(|scope| {
                            values.iter().map(|value| {
                                let mut scope = scope.clone();
                                scope.insert(name.clone(), *value);
                                scope
                            })
                        })
                        .collect();
                    sizes.names.push(name);
                }
                sizes.listed = listed;
            }
            Value::List(items) => {
                if items.len() > MOST_SIZES {
                    return Err(place.error(self.file, format!("more than {MOST_SIZES} sizes")));
                }
                for item in items {
                    let (place, mut table) = item.table(self.file)?;
                    let mut scope = Scope::new();
                    for (name, item) in table.take_all() {
                        self.name(&item.place, &name)?;
                        scope.insert(name, self.size(&item)?);
                    }
                    let names: Vec<String> = scope.keys().cloned().collect();
                    if sizes.names.is_empty() {
                        sizes.names = names;
                    } else if sizes.names != names {
                        return Err(place.error(
                            self.file,
                            format!(
                                "every size names the same dimensions: {}",
                                sizes.names.join(", ")
                            ),
                        ));
                    }
                    sizes.listed.push(scope);
                }
                if sizes.listed.is_empty() {
                    return Err(place.error(self.file, "it lists no size"));
                }
            }
            other => {
                return Err(place.error(
                    self.file,
                    format!("a table of dimensions expected, this is {}", other.kind()),
                ));
            }
        }
        Ok(sizes)
    }

    fn name(&self, place: &Place, name: &str) -> Result<(), CaseError> {
        let good = name
            .chars()
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        match good {
            true => Ok(()),
            false => Err(place.error(
                self.file,
                "a name is letters, digits and `_`, and begins with no digit",
            )),
        }
    }

    fn size(&self, item: &Item) -> Result<i64, CaseError> {
        match item.integer(self.file)? {
            size @ 0.. => Ok(size),
            size => Err(item.error(self.file, format!("{size} is not a size"))),
        }
    }

    fn dimension(&self, item: Item) -> Result<Vec<i64>, CaseError> {
        let place = item.place.clone();
        let values = item
            .list()
            .iter()
            .map(|item| self.size(item))
            .collect::<Result<Vec<_>, _>>()?;
        match values.len() {
            1..=MOST_VALUES => Ok(values),
            0 => Err(place.error(self.file, "it lists no size")),
            _ => Err(place.error(self.file, format!("more than {MOST_VALUES} sizes"))),
        }
    }

    fn arguments(&self, item: Item) -> Result<Vec<Argument>, CaseError> {
        let place = item.place.clone();
        let Value::List(items) = item.value else {
            return Err(place.error(
                self.file,
                "write every argument under its own `[[arguments]]`",
            ));
        };
        if items.len() > MOST_VALUES {
            return Err(place.error(self.file, "too many arguments"));
        }
        items.into_iter().map(|item| self.argument(item)).collect()
    }

    fn argument(&self, item: Item) -> Result<Argument, CaseError> {
        let file = self.file;
        let (place, mut table) = item.table(file)?;
        let missing = |key: &str, what: &str| {
            let place = Place {
                line: place.line,
                key: format!("{}.{key}", place.key),
            };
            place.error(file, format!("missing: {what}"))
        };
        let name = match table.take("name") {
            Some(item) => {
                let name = item.text(file)?;
                self.name(&item.place, &name)?;
                name
            }
            None => return Err(missing("name", "the name that references know it by")),
        };
        let Some(ty) = table.take("type") else {
            return Err(missing("type", "f32, i32, f16 and so on"));
        };
        let scalar = Scalar::named(&ty.text(file)?).ok_or_else(|| {
            ty.error(
                file,
                "there is no such type; there are u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64",
            )
        })?;
        let float = matches!(
            scalar,
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64
        );
        let kind = if let Some(value) = table.take("value") {
            for other in ["direction", "shape", "fill"] {
                if let Some(item) = table.take(other) {
                    return Err(item.error(file, "a number by `value` has no such key"));
                }
            }
            match value.value {
                Value::Float(number) if float => ArgumentKind::Real(number),
                Value::Integer(number) if float => ArgumentKind::Real(number as f64),
                _ => ArgumentKind::Whole(value.expression(file)?),
            }
        } else {
            let Some(direction) = table.take("direction") else {
                return Err(missing(
                    "direction",
                    "`in`, `out` or `inout` for an array, or `value` for a number",
                ));
            };
            let direction = match direction.text(file)?.as_str() {
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                other => {
                    return Err(
                        direction.error(file, format!("`{other}` is neither in, out nor inout"))
                    );
                }
            };
            let Some(shape) = table.take("shape") else {
                return Err(missing(
                    "shape",
                    "the dimensions, e.g. `[\"rows\", \"cols\"]`",
                ));
            };
            let shape = shape
                .list()
                .iter()
                .map(|item| item.expression(file))
                .collect::<Result<Vec<_>, _>>()?;
            let fill = match table.take("fill") {
                Some(item) if direction == Direction::Out => {
                    return Err(
                        item.error(file, "what the kernel only writes is poisoned, not filled")
                    );
                }
                Some(item) => self.fill(item)?,
                None if float => Fill::Natural,
                None => Fill::Integers(0, 99),
            };
            ArgumentKind::Array {
                direction,
                shape,
                fill,
            }
        };
        table.finish(
            file,
            &["name", "type", "direction", "shape", "fill", "value"],
        )?;
        Ok(Argument {
            name,
            scalar,
            kind,
            place,
        })
    }

    fn fill(&self, item: Item) -> Result<Fill, CaseError> {
        let file = self.file;
        const WORDS: &str = "normal, uniform, integers, sorted, special, zeros, ones, iota, \
                             `{ normal = [mean, deviation] }`, `{ uniform = [low, high] }`, \
                             `{ integers = [low, high] }` or `{ npy = \"file.npy\" }`";
        let place = item.place.clone();
        match item.value {
            Value::Text(word) => Ok(match word.as_str() {
                "normal" => Fill::Normal(0.0, 1.0),
                "uniform" => Fill::Uniform(0.0, 1.0),
                "integers" => Fill::Integers(0, 99),
                "sorted" => Fill::Sorted,
                "special" => Fill::Special,
                "zeros" => Fill::Zeros,
                "ones" => Fill::Ones,
                "iota" => Fill::Iota,
                other => {
                    return Err(place.error(file, format!("`{other}` is no fill: write {WORDS}")));
                }
            }),
            Value::Table(mut table) => {
                let mut given = table.take_all();
                let (Some((word, item)), true) = (given.pop(), given.is_empty()) else {
                    return Err(place.error(file, format!("one fill expected: {WORDS}")));
                };
                let place = item.place.clone();
                if word == "npy" {
                    return Ok(Fill::Npy(self.beside(&item.text(file)?)));
                }
                let numbers = item.list();
                let [low, high] = &numbers[..] else {
                    return Err(place.error(file, "two numbers expected, e.g. `[-1, 1]`"));
                };
                match word.as_str() {
                    "normal" => Ok(Fill::Normal(low.float(file)?, high.float(file)?)),
                    "uniform" => Ok(Fill::Uniform(low.float(file)?, high.float(file)?)),
                    "integers" => match (low.integer(file)?, high.integer(file)?) {
                        (low, high) if low <= high => Ok(Fill::Integers(low, high)),
                        _ => Err(place.error(file, "the first number is the lower one")),
                    },
                    other => Err(place.error(file, format!("`{other}` is no fill: write {WORDS}"))),
                }
            }
            other => Err(place.error(file, format!("this is {}: write {WORDS}", other.kind()))),
        }
    }

    fn launch(
        &self,
        item: Option<Item>,
        source: &Source,
        source_place: &Place,
    ) -> Result<Launch, CaseError> {
        let file = self.file;
        let place = Place {
            line: source_place.line,
            key: "launch".into(),
        };
        let Some(item) = item else {
            return match source {
                Source::Callable(_) => Ok(Launch::Itself),
                Source::Warp(_) => {
                    Err(place.error(file, "missing: `[launch]` with `dim`, the threads"))
                }
                _ => Err(place.error(file, "missing: `[launch]` with `grid` and `block`")),
            };
        };
        let (place, mut table) = item.table(file)?;
        let launch = match source {
            Source::Callable(_) => {
                return Err(place.error(
                    file,
                    "a Python function launches by itself: leave `[launch]` out",
                ));
            }
            Source::Warp(_) => {
                let Some(dim) = table.take("dim") else {
                    return Err(
                        place.error(file, "missing: `dim`, the threads of a Warp-style kernel")
                    );
                };
                let dims = dim.clone().list();
                if dims.is_empty() || dims.len() > 4 {
                    return Err(dim.error(file, "one to four dimensions"));
                }
                let dims = dims.iter().map(|item| item.expression(file));
                Launch::Threads(dims.collect::<Result<_, _>>()?)
            }
            _ => {
                let grid = self.three(&place, table.take("grid"), "grid")?;
                let block = self.three(&place, table.take("block"), "block")?;
                let shared = match table.take("shared") {
                    Some(item) => item.expression(file)?,
                    None => 0.into(),
                };
                Launch::Grid {
                    grid,
                    block,
                    shared,
                }
            }
        };
        table.finish(file, &["grid", "block", "shared", "dim"])?;
        Ok(launch)
    }

    fn three(
        &self,
        place: &Place,
        item: Option<Item>,
        key: &str,
    ) -> Result<[Expression; 3], CaseError> {
        let Some(item) = item else {
            return Err(place.error(self.file, format!("missing: `{key}`")));
        };
        let place = item.place.clone();
        let items = item.list();
        if items.is_empty() || items.len() > 3 {
            return Err(place.error(self.file, "one to three dimensions"));
        }
        let mut three: [Expression; 3] = [1.into(), 1.into(), 1.into()];
        for (slot, item) in three.iter_mut().zip(&items) {
            *slot = item.expression(self.file)?;
        }
        Ok(three)
    }

    #[allow(clippy::type_complexity)] // Defines and flags, read once.
    fn compile(
        &self,
        item: Option<Item>,
    ) -> Result<(Vec<(String, String)>, Vec<String>), CaseError> {
        let (mut defines, mut flags) = (Vec::new(), Vec::new());
        let Some(item) = item else {
            return Ok((defines, flags));
        };
        let (_, mut table) = item.table(self.file)?;
        if let Some(item) = table.take("defines") {
            let (_, mut table) = item.table(self.file)?;
            for (name, item) in table.take_all() {
                self.name(&item.place, &name)?;
                let value = match &item.value {
                    Value::Integer(value) => value.to_string(),
                    Value::Float(value) => format!("{value:?}"),
                    Value::Truth(value) => i64::from(*value).to_string(),
                    _ => item.text(self.file)?,
                };
                defines.push((name, value));
            }
        }
        if let Some(item) = table.take("flags") {
            flags = item.texts(self.file)?;
        }
        table.finish(self.file, &["defines", "flags"])?;
        Ok((defines, flags))
    }

    fn reference(&self, item: Item, source: &Source) -> Result<Reference, CaseError> {
        let file = self.file;
        if let Value::Text(text) = &item.value {
            let callable = self.callable(text).ok_or_else(|| {
                item.error(
                    file,
                    "write `reference = \"file.py:function\"`, or a table `[reference]`",
                )
            })?;
            return Ok(Reference {
                kind: ReferenceKind::Function(callable),
                seconds: 60.0,
                memory: 8 << 30,
                place: item.place,
            });
        }
        let (place, mut table) = item.table(file)?;
        let mut kinds = Vec::new();
        if let Some(item) = table.take("function") {
            let callable = self
                .callable(&item.text(file)?)
                .ok_or_else(|| item.error(file, "write `file.py:function`"))?;
            kinds.push(ReferenceKind::Function(callable));
        }
        if let Some(item) = table.take("kernel") {
            let text = item.text(file)?;
            let (path, kernel) = match text.rsplit_once(':') {
                Some((path, kernel)) => (path.to_owned(), Some(kernel.to_owned())),
                None => (text, None),
            };
            let other = Item {
                value: Value::Text(path),
                ..item
            };
            let other = self.source(&other)?;
            let launch = match table.take("launch") {
                Some(item) => Some(self.launch(Some(item), &other, &place)?),
                None => None,
            };
            kinds.push(ReferenceKind::Kernel {
                source: other,
                kernel,
                launch,
            });
        }
        if let Some(item) = table.take("npy") {
            let (_, mut files) = item.table(file)?;
            let files = files.take_all().into_iter().map(|(name, item)| {
                let path = self.beside(&item.text(file)?);
                Ok((name, path))
            });
            kinds.push(ReferenceKind::Npy(files.collect::<Result<_, CaseError>>()?));
        }
        if let Some(item) = table.take("interpreter")
            && item.truth(file)?
        {
            if !matches!(source, Source::Warp(_)) {
                return Err(item.error(file, "the interpreter runs Warp-style `.py` kernels alone"));
            }
            kinds.push(ReferenceKind::Interpreter);
        }
        let seconds = match table.take("seconds") {
            Some(item) => match item.float(file)? {
                seconds if seconds > 0.0 && seconds <= 86_400.0 => seconds,
                seconds => return Err(item.error(file, format!("{seconds} is no time limit"))),
            },
            None => 60.0,
        };
        let memory = match table.take("memory") {
            Some(item) => u64::try_from(item.integer(file)?)
                .map_err(|_| item.error(file, "a number of bytes, e.g. \"4G\""))?,
            None => 8 << 30,
        };
        table.finish(
            file,
            &[
                "function",
                "kernel",
                "npy",
                "interpreter",
                "launch",
                "seconds",
                "memory",
            ],
        )?;
        match (kinds.pop(), kinds.is_empty()) {
            (Some(kind), true) => Ok(Reference {
                kind,
                seconds,
                memory,
                place,
            }),
            _ => Err(place.error(
                file,
                "one of `function`, `kernel`, `npy` and `interpreter` expected",
            )),
        }
    }

    fn tolerance(&self, item: Item) -> Result<StatedTolerance, CaseError> {
        let file = self.file;
        let (place, mut table) = item.table(file)?;
        let mut bounds = Tolerance::EXACT;
        for (key, bound) in [("abs", &mut bounds.abs), ("rel", &mut bounds.rel)] {
            if let Some(item) = table.take(key) {
                *bound = item.float(file)?;
                if !(0.0..=f64::MAX).contains(bound) {
                    return Err(item.error(file, format!("{bound} is no bound")));
                }
            }
        }
        if let Some(item) = table.take("ulp") {
            bounds.ulp = u64::try_from(item.integer(file)?)
                .map_err(|_| item.error(file, "a count of representable numbers, from 0"))?;
        }
        let because = match table.take("because") {
            Some(item) => item.text(file)?,
            None => {
                return Err(place.error(file, "missing: `because`, the reason for these bounds"));
            }
        };
        table.finish(file, &["abs", "rel", "ulp", "because"])?;
        Ok(StatedTolerance { bounds, because })
    }

    fn tunables(&self, item: Option<Item>) -> Result<Vec<Tunable>, CaseError> {
        let Some(item) = item else {
            return Ok(Vec::new());
        };
        let (_, mut table) = item.table(self.file)?;
        let mut tunables = Vec::new();
        for (name, item) in table.take_all() {
            if !name.starts_with('-') {
                self.name(&item.place, &name)?;
            }
            let place = item.place.clone();
            let values = item
                .list()
                .into_iter()
                .map(|item| match item.value {
                    Value::Integer(value) => Ok(TunableValue::Whole(value)),
                    Value::Truth(value) => Ok(TunableValue::Whole(i64::from(value))),
                    _ => Ok(TunableValue::Word(item.text(self.file)?)),
                })
                .collect::<Result<Vec<_>, CaseError>>()?;
            if values.is_empty() || values.len() > MOST_VALUES {
                return Err(place.error(self.file, "it lists no value, or too many"));
            }
            tunables.push(Tunable { name, values });
        }
        Ok(tunables)
    }

    fn cost(&self, item: Option<Item>) -> Result<CostExpressions, CaseError> {
        let mut cost = CostExpressions::default();
        let Some(item) = item else {
            return Ok(cost);
        };
        let (_, mut table) = item.table(self.file)?;
        for (key, slot) in [("bytes", &mut cost.bytes), ("flops", &mut cost.flops)] {
            if let Some(item) = table.take(key) {
                *slot = Some(item.expression(self.file)?);
            }
        }
        table.finish(self.file, &["bytes", "flops"])?;
        Ok(cost)
    }
}

impl Case {
    /// What no single key shows: names that are used and not defined, names that are there twice.
    fn check(&self) -> Result<(), CaseError> {
        let top = Place {
            line: 1,
            key: "arguments".into(),
        };
        let mut known: Vec<&str> = self.sizes.names.iter().map(String::as_str).collect();
        for tunable in &self.tunables {
            if known.contains(&tunable.name.as_str()) {
                let place = self.sizes.place.as_ref().unwrap_or(&top);
                return Err(self.error(
                    place,
                    format!("`{}` is a dimension and a tunable", tunable.name),
                ));
            }
            known.push(&tunable.name);
        }
        let mut names: Vec<&str> = Vec::new();
        for argument in &self.arguments {
            if names.contains(&argument.name.as_str()) {
                let problem = format!("there are two arguments `{}`", argument.name);
                return Err(self.error(&argument.place, problem));
            }
            names.push(&argument.name);
            let shape: &[Expression] = match &argument.kind {
                ArgumentKind::Array { shape, .. } => shape,
                ArgumentKind::Whole(value) => std::slice::from_ref(value),
                ArgumentKind::Real(_) => &[],
            };
            for expression in shape {
                self.known(&known, &argument.place, expression)?;
            }
        }
        for (place, expression) in &self.constraints {
            self.known(&known, place, expression)?;
        }
        let place = Place {
            line: 1,
            key: "launch".into(),
        };
        match &self.launch {
            Launch::Grid {
                grid,
                block,
                shared,
            } => {
                for expression in block {
                    self.known(&known, &place, expression)?;
                }
                let mut with_block = known.clone();
                with_block.extend(["block_x", "block_y", "block_z"]);
                for expression in grid.iter().chain([shared]) {
                    self.known(&with_block, &place, expression)?;
                }
            }
            Launch::Threads(dims) => {
                for expression in dims {
                    self.known(&known, &place, expression)?;
                }
            }
            Launch::Itself => {}
        }
        if let Some(Reference {
            kind: ReferenceKind::Npy(files),
            place,
            ..
        }) = &self.reference
        {
            for (name, _) in files {
                if !self.outputs().any(|output| output.name == *name) {
                    return Err(self.error(place, format!("there is no output `{name}`")));
                }
            }
        }
        Ok(())
    }

    fn known(
        &self,
        known: &[&str],
        place: &Place,
        expression: &Expression,
    ) -> Result<(), CaseError> {
        for name in expression.names() {
            if !known.contains(&name) {
                let there = match known.is_empty() {
                    true => "`[sizes]` names none".to_owned(),
                    false => format!("there are {}", known.join(", ")),
                };
                return Err(self.error(
                    place,
                    format!("`{expression}`: there is no dimension or tunable `{name}`; {there}"),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const SOFTMAX: &str = r#"source = "softmax.cu"
kernel = "softmax"
reference = "softmax.py:softmax"
constraints = ["BLOCK % 32 == 0"]

[sizes]
rows = [1, 64]
cols = ["1K", 4096]

[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = ["rows", "cols"]
fill = { normal = [0, 2] }

[[arguments]]
name = "out"
direction = "out"
type = "f32"
shape = ["rows", "cols"]

[[arguments]]
name = "n"
type = "i32"
value = "cols"

[launch]
grid = "rows"
block = "BLOCK"
shared = "4 * block_x"

[compile]
defines = { MODE = "fast", LIMIT = 3 }
flags = ["--use_fast_math"]

[tolerance]
rel = 1e-5
because = "sums of 4096 terms"

[tunables]
BLOCK = [64, 128, 256]
"--maxrregcount" = [32, 64]

[cost]
bytes = "8 * rows * cols"
"#;

    fn read(text: &str) -> Result<Case, CaseError> {
        Case::parse(Path::new("kernels/softmax.toml"), text)
    }

    #[test]
    fn a_case_is_read_whole() {
        let case = read(SOFTMAX).unwrap();
        assert_eq!(case.source, Source::Cuda("kernels/softmax.cu".into()));
        assert_eq!(case.sizes.names, ["rows", "cols"]);
        assert_eq!(case.sizes.listed.len(), 4);
        assert_eq!(case.sizes.listed[0]["cols"], 1024);
        assert_eq!(case.arguments.len(), 3);
        assert_eq!(case.defines[1], ("LIMIT".into(), "3".into()));
        assert_eq!(case.tunables[1].name, "--maxrregcount");
        assert_eq!(case.name(), "softmax");
        assert_eq!(case.outputs().count(), 1);
        let Some(Reference {
            kind: ReferenceKind::Function(callable),
            ..
        }) = &case.reference
        else {
            panic!();
        };
        assert_eq!(callable.function, "softmax");
    }

    #[test]
    fn sizes_may_be_listed_one_by_one() {
        let text = "source = \"a.py\"\nsizes = [{ n = 1, m = 2 }, { m = 5, n = 3 }]\n[launch]\ndim = \"n\"\n";
        let case = read(text).unwrap();
        assert_eq!(case.sizes.listed.len(), 2);
        assert_eq!(case.sizes.listed[1]["m"], 5);
        let uneven = text.replace(", { m = 5, n = 3 }", ", { n = 3 }");
        assert!(
            read(&uneven)
                .unwrap_err()
                .problem
                .contains("same dimensions")
        );
    }

    /// One line of the case exchanged, and what is then said.
    #[test]
    fn mistakes_name_line_and_key() {
        for (from, to, said) in [
            ("source = \"softmax.cu\"", "", ":1: `source`: missing"),
            (
                "softmax.cu",
                "softmax.c",
                ":1: `source`: cannot tell what `softmax.c` is",
            ),
            (
                "rows = [1, 64]",
                "rows = [-1]",
                ":7: `sizes.rows[0]`: -1 is not a size",
            ),
            (
                "rows = [1, 64]",
                "rows = []",
                ":7: `sizes.rows`: it lists no size",
            ),
            (
                "\"1K\"",
                "\"1X\"",
                ":8: `sizes.cols[0]`: `1X` is not a whole number",
            ),
            (
                "type = \"f32\"\nshape = [\"rows\", \"cols\"]\nfill",
                "type = \"f33\"\nshape = [\"rows\", \"cols\"]\nfill",
                ":13: `arguments[0].type`: there is no such type",
            ),
            (
                "direction = \"out\"",
                "direction = \"output\"",
                ":19: `arguments[1].direction`: `output` is neither",
            ),
            ("name = \"out\"", "", "`arguments[1].name`: missing"),
            (
                "shape = [\"rows\", \"cols\"]\nfill",
                "shape = [\"row\", \"cols\"]\nfill",
                "`row`: there is no dimension or tunable `row`; there are rows, cols, BLOCK",
            ),
            (
                "{ normal = [0, 2] }",
                "{ normal = [0] }",
                ":15: `arguments[0].fill.normal`: two numbers expected",
            ),
            (
                "{ normal = [0, 2] }",
                "\"gauss\"",
                ":15: `arguments[0].fill`: `gauss` is no fill",
            ),
            (
                "grid = \"rows\"",
                "grid = \"rows +\"",
                ":29: `launch.grid`: `rows +`: it ends too early",
            ),
            ("block = \"BLOCK\"", "", ":28: `launch`: missing: `block`"),
            (
                "because = \"sums of 4096 terms\"",
                "",
                ":37: `tolerance`: missing: `because`",
            ),
            (
                "rel = 1e-5",
                "rel = -1",
                ":38: `tolerance.rel`: -1 is no bound",
            ),
            (
                "flags = [",
                "flag = [",
                ":35: `compile.flag`: there is no such key (did you mean `flags`?)",
            ),
            (
                "value = \"cols\"",
                "value = \"cols\"\nfill = \"ones\"",
                "`arguments[2].fill`: a number by `value`",
            ),
            (
                "BLOCK = [64, 128, 256]",
                "rows = [64]",
                "`rows` is a dimension and a tunable",
            ),
            (
                "name = \"n\"",
                "name = \"x\"",
                "there are two arguments `x`",
            ),
            ("\"BLOCK % 32 == 0\"", "\"BLOCK % 0\"", ""),
            ("[cost]", "[cots]", "`cots`: there is no such key"),
        ] {
            let text = SOFTMAX.replacen(from, to, 1);
            assert_ne!(text, SOFTMAX, "{from}");
            match (read(&text), said) {
                (Ok(_), "") => {}
                (Ok(_), said) => panic!("`{to}` was read; expected: {said}"),
                (Err(error), said) => {
                    let error = error.to_string();
                    assert!(
                        error.starts_with("kernels/softmax.toml:") && error.contains(said),
                        "{error}"
                    );
                }
            }
        }
    }

    #[test]
    fn products_of_sizes_are_bounded() {
        let list = format!("{:?}", (1..=200).collect::<Vec<_>>());
        let text =
            format!("source = \"a.py\"\n[sizes]\na = {list}\nb = {list}\n[launch]\ndim = \"a\"\n");
        assert!(read(&text).unwrap_err().problem.contains("combinations"));
    }
}
