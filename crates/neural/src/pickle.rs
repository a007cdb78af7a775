//! Tensors that PyTorch saved, as a state dictionary or a TorchScript module: a pickle in an archive says how
//! they lie in the files beside it.
//!
//! A pickle is a program. Of its instructions only those are known here that dictionaries of tensors need; the
//! names they may call are not called but recognised, and anything else is an error.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::archive::Archive;
use crate::weights::{Malformed, Tensor, number, part};

/// What lies on the stack.
#[derive(Clone)]
enum Value {
    Mark,
    Nothing,
    Number(usize),
    Text(Rc<str>),
    /// The name of a class or function.
    Name(Rc<str>),
    /// Values in a row, and how deep rows lie in it.
    Row(Rc<[Value]>, usize),
    /// The file of a storage.
    Storage(Rc<str>),
    Tensor(Rc<Layout>),
    /// A dictionary or an object: the tensors in it, those of its parts with names that have dots.
    Dict(Vec<(String, Rc<Layout>)>),
}

/// Where a tensor's numbers are.
#[derive(Clone)]
struct Layout {
    file: Rc<str>,
    /// The first of them.
    first: usize,
    shape: Vec<usize>,
}

/// Rows in rows, and tensors in a dictionary: more are not needed.
const DEEPEST: usize = 4;
const MOST_TENSORS: usize = 4096;

/// The tensors that a pickle names.
pub(crate) struct StateDict {
    /// The name of the pickle up to its last part, which the files beside it share.
    folder: String,
    layouts: BTreeMap<String, Rc<Layout>>,
}

impl StateDict {
    /// That of an archive, where it has one.
    pub(crate) fn find(archive: &Archive<'_>) -> Result<Option<Self>, Malformed> {
        const NAME: &str = "data.pkl";
        let Some(entry) = archive.find(|name| name.ends_with(NAME)) else {
            return Ok(None);
        };
        let pickle = archive.content(entry)?;
        Ok(Some(Self {
            folder: entry.name[..entry.name.len() - NAME.len()].to_owned(),
            layouts: Machine::default().run(&pickle)?,
        }))
    }

    pub(crate) fn tensors(
        &self,
        archive: &Archive<'_>,
    ) -> Result<BTreeMap<String, Tensor>, Malformed> {
        let mut tensors = BTreeMap::new();
        for (name, layout) in &self.layouts {
            let file = format!("{}data/{}", self.folder, layout.file);
            let missing = || Malformed::new(0, format!("`{file}` of tensor `{name}` is missing"));
            let entry = archive.find(|name| name == file).ok_or_else(missing)?;
            let bytes = archive.content(entry)?;
            let first = layout.first.saturating_mul(4).min(bytes.len());
            let tensor = Tensor::from_bytes(layout.shape.clone(), &bytes, first)?;
            tensors.insert(name.clone(), tensor);
        }
        Ok(tensors)
    }
}

#[derive(Default)]
struct Machine {
    stack: Vec<Value>,
    memo: BTreeMap<usize, Value>,
}

impl Machine {
    fn run(mut self, code: &[u8]) -> Result<BTreeMap<String, Rc<Layout>>, Malformed> {
        let mut at = 0;
        loop {
            let operation = part(code, at, 1)?[0];
            let wrong = |reason: &str| Malformed::new(at, format!("in the pickle: {reason}"));
            let taken = match operation {
                b'.' => {
                    let Some(Value::Dict(tensors)) = self.stack.pop() else {
                        return Err(wrong("it is not a dictionary"));
                    };
                    return Ok(tensors.into_iter().collect());
                }
                b'c' => {
                    let rest = &code[at + 1..];
                    let mut ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                    let end = ends.nth(1).ok_or_else(|| wrong("a name without end"))?.0;
                    let name = String::from_utf8_lossy(&rest[..end]).replace('\n', " ");
                    self.stack.push(known(&name).ok_or_else(|| wrong(&name))?);
                    1 + end
                }
                b'X' => {
                    let length = number(code, at + 1, 4)?;
                    let text = String::from_utf8_lossy(part(code, at + 5, length)?);
                    self.stack.push(Value::Text(text.into()));
                    4 + length
                }
                // The protocol's number.
                0x80 => 1,
                b'q' => self.put(number(code, at + 1, 1)?, 1),
                b'r' => self.put(number(code, at + 1, 4)?, 4),
                b'h' => self.get(number(code, at + 1, 1)?, 1),
                b'j' => self.get(number(code, at + 1, 4)?, 4),
                b'K' => self.push(number(code, at + 1, 1)?, 1),
                b'M' => self.push(number(code, at + 1, 2)?, 2),
                b'J' => self.push(number(code, at + 1, 4)?, 4),
                _ => {
                    let done = self.act(operation);
                    done.map_err(|reason| wrong(&reason))?;
                    0
                }
            };
            at += 1 + taken;
        }
    }

    fn put(&mut self, place: usize, taken: usize) -> usize {
        let value = self.stack.last().cloned().unwrap_or(Value::Nothing);
        self.memo.insert(place, value);
        taken
    }

    fn get(&mut self, place: usize, taken: usize) -> usize {
        let value = self.memo.get(&place).cloned();
        self.stack.push(value.unwrap_or(Value::Nothing));
        taken
    }

    fn push(&mut self, value: usize, taken: usize) -> usize {
        self.stack.push(Value::Number(value));
        taken
    }

    /// Instructions that take what they need from the stack.
    fn act(&mut self, operation: u8) -> Result<(), String> {
        let value = match operation {
            b'(' => Value::Mark,
            b')' => Value::Row(Rc::new([]), 1),
            b'}' => Value::Dict(Vec::new()),
            0x88 | 0x89 | b'N' | b']' => Value::Nothing,
            b't' => {
                let items = self.since_mark()?;
                row(items)?
            }
            0x85..=0x87 => {
                let items = self.last(usize::from(operation - 0x84))?;
                row(items)?
            }
            b'Q' => storage(&self.last(1)?)?,
            b'R' => call(&self.last(2)?)?,
            // An object of a class.
            0x81 => self.last(2).map(|_| Value::Dict(Vec::new()))?,
            b's' => {
                let items = self.last(2)?;
                return self.keep(&items);
            }
            b'u' => {
                let items = self.since_mark()?;
                return self.keep(&items);
            }
            // Items of a list, which hold no tensors.
            b'e' => return self.since_mark().map(|_| ()),
            // An object's attributes.
            b'b' => {
                let state = self.last(1)?;
                if let ([Value::Dict(state)], Some(Value::Dict(object))) =
                    (&state[..], self.stack.last_mut())
                {
                    object.extend_from_slice(state);
                }
                return Ok(());
            }
            other => {
                return Err(format!(
                    "instruction {other:#04x} is not one that tensors need"
                ));
            }
        };
        self.stack.push(value);
        Ok(())
    }

    fn last(&mut self, count: usize) -> Result<Vec<Value>, String> {
        let from = self.stack.len().checked_sub(count);
        let from = from.ok_or("the stack is empty")?;
        Ok(self.stack.split_off(from))
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, String> {
        let is_mark = |value: &Value| matches!(value, Value::Mark);
        let mark = self.stack.iter().rposition(is_mark).ok_or("no mark")?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(items)
    }

    /// Puts the tensors of names and values in turn into the dictionary below them.
    fn keep(&mut self, items: &[Value]) -> Result<(), String> {
        let Some(Value::Dict(tensors)) = self.stack.last_mut() else {
            return Err("only a dictionary has items".into());
        };
        for pair in items.as_chunks::<2>().0 {
            match pair {
                [Value::Text(name), Value::Tensor(layout)] => {
                    tensors.push((name.to_string(), Rc::clone(layout)));
                }
                [Value::Text(name), Value::Dict(inner)] => {
                    let named = |(inner, layout): &(String, Rc<Layout>)| {
                        (format!("{name}.{inner}"), Rc::clone(layout))
                    };
                    tensors.extend(inner.iter().map(named));
                }
                _ => {}
            }
        }
        if tensors.len() > MOST_TENSORS {
            return Err(format!("{} tensors", tensors.len()));
        }
        Ok(())
    }
}

/// A name that may stand in a pickle.
fn known(name: &str) -> Option<Value> {
    let known = [
        "collections OrderedDict",
        "torch._utils _rebuild_tensor_v2",
        "torch FloatStorage",
        "torch LongStorage",
        "torch.jit._pickle build_intlist",
    ];
    // Classes of a TorchScript module are in the archive as text.
    let is_known = known.contains(&name) || name.starts_with("__torch__.");
    is_known.then(|| Value::Name(name.into()))
}

fn row(items: Vec<Value>) -> Result<Value, String> {
    let depth = |value: &Value| match value {
        Value::Row(_, depth) => *depth,
        _ => 0,
    };
    let deepest = 1 + items.iter().map(depth).max().unwrap_or(0);
    if deepest > DEEPEST {
        return Err("rows lie too deep in each other".into());
    }
    Ok(Value::Row(items.into(), deepest))
}

/// `("storage", type, file, device, length)`.
fn storage(items: &[Value]) -> Result<Value, String> {
    if let [Value::Row(items, _)] = items
        && let [_, Value::Name(kind), Value::Text(file), ..] = &items[..]
    {
        // Counters of training are whole numbers, which no network here looks at.
        let is_float = &**kind == "torch FloatStorage";
        return Ok(if is_float {
            Value::Storage(Rc::clone(file))
        } else {
            Value::Nothing
        });
    }
    Err("a storage that is not described".into())
}

/// A dictionary without items, or the tensor `(storage, first, shape, strides, …)`.
fn call(items: &[Value]) -> Result<Value, String> {
    let [Value::Name(name), Value::Row(items, _)] = items else {
        return Err("a call of something else than a name".into());
    };
    match (&**name, &items[..]) {
        ("collections OrderedDict", []) => Ok(Value::Dict(Vec::new())),
        ("torch.jit._pickle build_intlist", _) => Ok(Value::Nothing),
        ("torch._utils _rebuild_tensor_v2", [Value::Nothing, ..]) => Ok(Value::Nothing),
        (
            "torch._utils _rebuild_tensor_v2",
            [
                Value::Storage(file),
                Value::Number(first),
                Value::Row(shape, _),
                Value::Row(strides, _),
                ..,
            ],
        ) => {
            let (shape, strides) = (numbers(shape)?, numbers(strides)?);
            let mut step = 1usize;
            let mut dense = shape.len() == strides.len();
            for (size, stride) in shape.iter().zip(&strides).rev() {
                dense &= *size == 1 || *stride == step;
                step = step.saturating_mul(*size);
            }
            if !dense {
                return Err(format!("strides {strides:?} of a tensor that is {shape:?}"));
            }
            let (file, first) = (Rc::clone(file), *first);
            Ok(Value::Tensor(Rc::new(Layout { file, first, shape })))
        }
        _ => Err(format!("a call of `{name}` with {} values", items.len())),
    }
}

fn numbers(row: &[Value]) -> Result<Vec<usize>, String> {
    let number = |value: &Value| match value {
        Value::Number(number) => Ok(*number),
        _ => Err("a size that is not a number".to_owned()),
    };
    row.iter().map(number).collect()
}
