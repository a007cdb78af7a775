//! Files as people have them: code that only Python can run around the kernels, and imports of a project.

use std::collections::HashMap;

use warpsmith_compiler::{Compiler, ModuleText, Modules, Options, Place, compile, emit_cuda};

/// A project in memory.
struct Texts(HashMap<&'static str, (&'static str, bool)>);

impl Modules for Texts {
    fn find(&self, name: &str) -> Option<ModuleText> {
        let (text, package) = self.0.get(name)?;
        let file = format!("{}.py", name.replace('.', "/"));
        Some(ModuleText::new(file, (*text).to_owned(), *package))
    }
}

/// The text of a kernel in `module`, or what refuses it: file, line and message.
fn project(
    module: &str,
    source: &str,
    others: &[(&'static str, &'static str, bool)],
) -> Result<String, String> {
    let texts = Texts(
        others
            .iter()
            .map(|(name, text, package)| (*name, (*text, *package)))
            .collect(),
    );
    let place = Place {
        module,
        package: false,
        modules: &texts,
    };
    let compiled = Compiler::new().compile_in(source, &Options::default(), Some(&place));
    match compiled {
        Ok(module) => Ok(emit_cuda(&module)),
        Err(findings) => {
            let span = findings[0].span.clone().unwrap();
            Err(format!(
                "{}:{}: {}",
                span.file, span.line, findings[0].message
            ))
        }
    }
}

/// A file in which `before` stands above a kernel that returns `value`.
fn file(before: &str, value: &str) -> String {
    format!(
        "import warp as wp\n{before}\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = float({value})\n"
    )
}

#[test]
fn code_that_kernels_do_not_use_is_skipped() {
    let around = "
import argparse, os
from somewhere import anything
try:
    import matplotlib
except ImportError:
    matplotlib = None
wp.init()
print('hello')
parser = argparse.ArgumentParser()
parser.add_argument('--n', type=int)
TABLE = {'a': [1, 2]}
TABLE['b'] = 3
os.environ['X'] = '1'
for name in TABLE:
    print(name)
with open(os.devnull) as stream:
    stream.read()
class Example(object, metaclass=type):
    def step(self):
        wp.launch(k, dim=1, inputs=[])
def main():
    pass
N = 3";
    let text = file(around, "N") + "\nif __name__ == '__main__':\n    main()\n    M = 5\n";
    assert!(compile(&text, &Options::default()).is_ok());
}

#[test]
fn what_such_code_may_have_set_is_refused_where_it_is_used() {
    for (before, says) in [
        (
            "N = 1\nfor N in range(3):\n    pass",
            "`N` is set by a statement",
        ),
        (
            "N = 1\nif condition():\n    N = 2",
            "`N` is set by a statement",
        ),
        (
            "N = 1\ntry:\n    N = 2\nfinally:\n    pass",
            "`N` is set by a statement",
        ),
        (
            "N = 1\nwith a() as N:\n    pass",
            "`N` is set by a statement",
        ),
        ("N = 1\ndel N", "`N` is set by a statement"),
        (
            "N = 1\ndef later():\n    global N\n    N = 2",
            "`N` is set by a statement",
        ),
        ("N, M = pair()", "`N` is set by a statement"),
        ("from elsewhere import *", "may have defined"),
    ] {
        let findings = compile(&file(before, "N"), &Options::default()).unwrap_err();
        assert!(
            findings[0].message.contains(says),
            "{before}: {}",
            findings[0].message
        );
    }
}

#[test]
fn conditions_that_are_known_are_followed() {
    for before in [
        "from typing import TYPE_CHECKING\nN = 4\nif TYPE_CHECKING:\n    N = 5",
        "A, N = 3, 4",
        "N = 3\nN += 1",
        "if 2 > 1:\n    N = 4\nelse:\n    N = 5",
        // An import does not run the part for scripts.
        "N = 4\nif __name__ == '__main__':\n    N = 5",
        "N = round(4.5)",
        "N = 4\nif None is not None:\n    N = 5",
    ] {
        let text = emit_cuda(&compile(&file(before, "N"), &Options::default()).unwrap());
        assert!(text.contains("= 4;"), "{before}\n{text}");
    }
}

#[test]
fn a_square_has_the_digits_of_python() {
    let text = |value: &str| {
        let made = compile(&file(&format!("N = {value}"), "N"), &Options::default());
        made.map(|module| emit_cuda(&module))
    };
    assert!(
        text("0.1 ** 2")
            .unwrap()
            .contains("= 0.010000000000000002;")
    );
    assert!(text("2.5 ** 2").unwrap().contains("= 6.25;"));
    // Other powers may differ from one mathematics library to the next.
    assert!(text("0.1 ** 3").is_err());
}

#[test]
fn a_setting_that_changes_the_text_is_obeyed_or_refused() {
    let plain = emit_cuda(&compile(&file("", "1"), &Options::default()).unwrap());
    assert!(plain.contains("backward"));
    let set = file("wp.config.enable_backward = False", "1");
    let text = emit_cuda(&compile(&set, &Options::default()).unwrap());
    assert!(!text.contains("cuda_kernel_backward"));
    let quiet = file("wp.config.quiet = True", "1");
    assert_eq!(
        emit_cuda(&compile(&quiet, &Options::default()).unwrap()),
        plain
    );
    for before in [
        "wp.config.verify_fp = True",
        "if condition():\n    wp.config.enable_backward = False",
        "if condition():\n    wp.set_module_options({'enable_backward': False})",
    ] {
        let findings = compile(&file(before, "1"), &Options::default()).unwrap_err();
        assert_eq!(findings[0].code, "K025", "{before}");
    }
}

#[test]
fn a_custom_gradient_is_that_of_the_function_it_names() {
    let before = "
@wp.func
def f(x: float):
    return x

@wp.func
def g(x: float):
    return x

@wp.func_grad(f)
def adj_f(x: float, adj_ret: float):
    wp.adjoint[x] += adj_ret
";
    let text = |value| emit_cuda(&compile(&file(before, value), &Options::default()).unwrap());
    // The line of the gradient is quoted above what it became.
    let quoted = "// wp.adjoint[x] += adj_ret";
    assert!(text("f(1.0)").contains(quoted), "{}", text("f(1.0)"));
    assert!(!text("g(1.0)").contains(quoted));
    assert!(!text("1").contains(quoted));
}

const TYPES: &str = "
import enum
import warp as wp

class Kind(enum.IntEnum):
    A = 1
    B = 7

class Limits:
    HIGH = 2.5

class vec6f(wp.types.vector(length=6, dtype=float)):
    pass

SCALE = wp.constant(0.25)
";

const MATHS: &str = "# a line\n# a line\nimport warp as wp\nfrom .types import SCALE\n\n@wp.func\ndef scaled(x: float) -> float:\n    return x * SCALE\n";

#[test]
fn imports_of_the_project_are_followed() {
    let others = [
        ("pack", "", true),
        ("pack.types", TYPES, false),
        ("pack.maths", MATHS, false),
    ];
    let source = "
import warp as wp
from . import maths
from pack import types
from pack.types import Kind, vec6f
import pack.types as t

@wp.kernel
def k(x: wp.array(dtype=vec6f), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = maths.scaled(y[i]) + types.Limits.HIGH
    if i == Kind.B:
        y[i] = float(t.Kind.A.value)
";
    let text = project("pack.main", source, &others).unwrap();
    assert!(text.contains("\n// pack/maths.py:6\n"), "{text}");
    assert!(text.contains("// return x * SCALE"), "{text}");
    assert!(text.contains("<L 8>"), "a line of its own file: {text}");
    assert!(text.contains("vec_t<6"), "{text}");
    assert!(text.contains("= 7;"), "{text}");
}

#[test]
fn names_of_modules_do_not_mix() {
    let others = [
        (
            "a",
            "import warp as wp\nN = 1\n@wp.func\ndef f():\n    return N\n",
            false,
        ),
        (
            "b",
            "import warp as wp\nN = 2\n@wp.func\ndef f():\n    return N\n",
            false,
        ),
    ];
    let source = "import warp as wp\nimport b\nimport a\nN = 3\n\n@wp.kernel\ndef k(x: wp.array(dtype=int)):\n    x[0] = a.f() + b.f() + N\n";
    let text = project("main", source, &others).unwrap();
    // Numbered in the order in which Python would run the modules.
    assert!(
        text.contains("// b.py:3\nstatic CUDA_CALLABLE wp::int32 f_0("),
        "{text}"
    );
    assert!(
        text.contains("// a.py:3\nstatic CUDA_CALLABLE wp::int32 f_1("),
        "{text}"
    );
    for number in 1..=3 {
        assert!(text.contains(&format!("= {number};")), "{text}");
    }
}

#[test]
fn cycles_missing_modules_and_broken_ones_end_in_a_finding_of_their_own_file() {
    let others = [
        (
            "a",
            "import warp as wp\nimport main\nfrom b import B\nA = 1\n",
            false,
        ),
        ("b", "from a import A\nB = 2\n", false),
        ("broken", "def (\n", false),
        (
            "wrong",
            "import warp as wp\n\n@wp.func\ndef f(x: float):\n    return x + unknown\n",
            false,
        ),
    ];
    let kernel = |head: &str, value: &str| {
        format!(
            "import warp as wp\n{head}\n\n@wp.kernel\ndef k(x: wp.array(dtype=int)):\n    x[0] = {value}\n"
        )
    };
    let fine = project(
        "main",
        &kernel("from a import A\nfrom b import B", "A + B"),
        &others,
    );
    assert!(fine.unwrap().contains("= 2;"));
    let missing = project("main", &kernel("from nowhere import N", "N"), &others).unwrap_err();
    assert_eq!(
        missing,
        "kernels.py:6: `N` is something imported from another module"
    );
    let broken = project("main", &kernel("from broken import N", "N"), &others).unwrap_err();
    assert!(broken.contains("`N` is"), "{broken}");
    let wrong = project(
        "main",
        &kernel("import wrong", "int(wrong.f(1.0))"),
        &others,
    )
    .unwrap_err();
    assert_eq!(wrong, "wrong.py:5: `unknown` is not defined");
}

#[test]
fn every_kernel_of_a_file_has_the_text_that_it_has_alone() {
    let source = "
import warp as wp
from typing import Any

@wp.func
def twice(x: Any):
    return x + x

@wp.func
def broken(x: float):
    return x + unknown

@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = twice(x[0]) + wp.dot(wp.vec3(1.0), wp.vec3(2.0))

@wp.kernel
def b(x: wp.array(dtype=float)):
    x[0] = broken(x[0])

@wp.kernel
def c(x: wp.array(dtype=int)):
    for i in range(3):
        x[i] = twice(x[i])
";
    let mut together = Vec::new();
    Compiler::new()
        .compile_each(source, &Options::default(), None, &mut |name, made| {
            let text = made
                .map(emit_cuda)
                .map_err(|findings| findings[0].message.clone());
            together.push((name.to_owned(), text));
        })
        .unwrap();
    for (name, text) in &together {
        let options = Options {
            kernel: Some(name.clone()),
            ..Options::default()
        };
        let alone = compile(source, &options);
        let alone = alone.map(|module| emit_cuda(&module));
        assert_eq!(
            text,
            &alone.map_err(|findings| findings[0].message.clone()),
            "{name}"
        );
    }
    assert_eq!(together.len(), 3);
    assert!(together[1].1.is_err());
}

#[test]
fn a_module_of_the_project_hides_pythons_only_where_it_is_named() {
    let own = "import warp as wp\n\n@wp.func\ndef twice(x: float) -> float:\n    return 2.0 * x\n";
    let others = [
        ("pkg", "", true),
        ("pkg.sub", "", true),
        ("pkg.sub.math", own, false),
    ];
    for import in ["from pkg.sub.math import twice", "from .math import twice"] {
        let before = format!("import math\n{import}");
        let source = file(&before, "twice(wp.static(math.sqrt(9.0)))");
        let text = project("pkg.sub.a", &source, &others).unwrap();
        assert!(text.contains("= 3.0;"), "{text}");
    }
}

#[test]
fn options_may_come_from_dictionaries_that_nothing_changes() {
    let settings = "import warp as wp\nOFF = {\"deterministic\": wp.DeterministicMode.NOT_GUARANTEED, \"max_unroll\": 2}\n";
    let kernel = |before: &str, decorator: &str| {
        format!(
            "import warp as wp\nfrom settings import OFF\n{before}\n{decorator}\ndef k(x: wp.array(dtype=float)):\n    for i in range(3):\n        x[i] = 1.0\n"
        )
    };
    let others = [("settings", settings, false)];
    let compiled =
        |before: &str, decorator: &str| project("k", &kernel(before, decorator), &others);
    // Three turns are unrolled unless `max_unroll` says otherwise.
    let unrolled = |text: Result<String, String>| !text.unwrap().contains("start_for_");
    assert!(unrolled(compiled("", "@wp.kernel")));
    for (before, decorator) in [
        (
            "wp.set_module_options({\"enable_backward\": False, **OFF})",
            "@wp.kernel",
        ),
        ("wp.set_module_options(OFF)", "@wp.kernel"),
        (
            "MINE = {**OFF, \"fast_math\": True}\nwp.set_module_options(MINE)",
            "@wp.kernel",
        ),
        ("", "@wp.kernel(module=\"unique\", module_options={**OFF})"),
        (
            "",
            "@wp.kernel(**{\"module\": \"unique\"}, module_options=OFF)",
        ),
    ] {
        assert!(
            !unrolled(compiled(before, decorator)),
            "{before}{decorator}"
        );
    }
    // A module in between, and a name whose text is not known, which no text shows.
    let between = ("between", "from settings import OFF\n", false);
    let source = kernel("", "@wp.kernel(module=\"unique\", module_options=OFF)");
    let source = source.replace("from settings", "from between");
    assert!(!unrolled(project("k", &source, &[others[0], between])));
    for before in [
        "OFF[\"max_unroll\"] = 4\nwp.set_module_options(OFF)",
        "LOOP = {\"max_unroll\": 2, **LOOP}\nwp.set_module_options(LOOP)",
        "change(OFF)\nwp.set_module_options({**OFF})",
    ] {
        let problem = compiled(before, "@wp.kernel").unwrap_err();
        assert!(
            problem.ends_with("options are not a dictionary that is known"),
            "{problem}"
        );
    }
    let guaranteed = "wp.set_module_options({\"deterministic\": wp.DeterministicMode.RUN_TO_RUN})";
    let problem = compiled(guaranteed, "@wp.kernel").unwrap_err();
    assert!(
        problem.starts_with("kernels.py:3: module option `deterministic`: "),
        "{problem}"
    );
}

#[test]
fn a_module_says_how_many_threads_a_block_has() {
    let text = |options: &str| {
        let source = format!(
            "import warp as wp\nwp.set_module_options({options})\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    t = wp.tile(x[wp.tid()] * 2.0)\n    wp.tile_store(x, t)\n"
        );
        project("k", &source, &[])
    };
    assert!(text("{}").unwrap().contains("wp::tile_shape_t<256>"));
    let of_64 = text("{\"block_dim\": 64}").unwrap();
    assert!(
        of_64.contains("wp::tile_shape_t<64>") && !of_64.contains("256"),
        "{of_64}"
    );
    let problem = text("{\"block_dim\": 0}").unwrap_err();
    assert_eq!(
        problem,
        "kernels.py:2: module option `block_dim` is not supported"
    );
}

#[test]
fn f_strings_name_kernels_and_modules() {
    let source = "import warp as wp\nN = 3\n\ndef make(f, n: int):\n    @wp.kernel(name=f\"rows_{n}_of_{N}\", module=f\"m_{f.__name__}\")\n    def k(x: wp.array(dtype=float)):\n        x[0] = 1.0\n    return k\n\nk = make(abs, 2)\n";
    let text = compile(source, &Options::default())
        .map(|module| emit_cuda(&module))
        .unwrap();
    assert!(
        text.contains("rows_2_of_3_HASH_cuda_kernel_forward("),
        "{text}"
    );
    for (part, code) in [("{f.__name__}", "K025"), ("{n:02}", "K025")] {
        let source = source.replace("rows_{n}", &format!("rows_{part}"));
        assert_eq!(
            compile(&source, &Options::default()).unwrap_err()[0].code,
            code
        );
    }
}

#[test]
fn limits_of_numpy_and_spread_tuples_are_known() {
    let before = "import numpy as np\nROWS = {\"two\": (1.0, 2.0, 3.0, 4.0)}\nELSE = (0.5, 1.5)\nanything(ELSE)\nEPS = wp.constant(wp.float32(np.finfo(np.float32).eps))\nBIG = float(np.finfo(np.float32).max)\nSQUARE = wp.mat22(*ROWS[\"two\"])\nHALF = ELSE[0]";
    for (value, text) in [
        ("EPS", "= 1.1920929e-07;"),
        ("BIG", "3.4028234663852886e+38"),
        ("SQUARE[1, 0]", "3.0, 4.0"),
        ("HALF", "= 0.5;"),
    ] {
        let compiled = compile(&file(before, value), &Options::default()).unwrap();
        let compiled = emit_cuda(&compiled);
        assert!(compiled.contains(text), "{value}: {compiled}");
    }
    // A number of NumPy's own has rules of its own.
    for value in [
        "np.finfo(np.float32).eps",
        "10.0 * np.finfo(np.float32).eps",
    ] {
        let before = format!("import numpy as np\nN = {value}");
        assert!(
            compile(&file(&before, "N"), &Options::default()).is_err(),
            "{value}"
        );
    }
}

/// Of other modules' kernels only the names are read; one that is named is compiled as it stands there.
#[test]
fn a_kernel_of_another_module_is_known_by_its_name_here() {
    let other = "
import warp as wp

@wp.kernel(enable_backward=False)
def far(
    x: wp.array(dtype=float),  # a note
):
    '''Doubles.'''
    i = wp.tid()
    x[i] = x[i] * float(2.0)

def make(n: int):
    @wp.kernel
    def made(x: wp.array(dtype=int)): x[0] = n
    return made

seven = make(7)
";
    let own = "
import warp as wp
from other import far, seven
near = seven

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[0] = 1.0
";
    let texts = Texts([("other", (other, false))].into_iter().collect());
    let place = Place {
        module: "own",
        package: false,
        modules: &texts,
    };
    let mut compiler = Compiler::new();
    for (kernel, line) in [
        ("far", "// x[i] = x[i] * float(2.0)"),
        ("k", "// x[0] = 1.0"),
        ("near", " = 7;"),
    ] {
        let options = Options {
            kernel: Some(kernel.into()),
            ..Options::default()
        };
        let module = compiler.compile_in(own, &options, Some(&place)).unwrap();
        let text = emit_cuda(&module);
        assert!(text.contains(line), "{kernel}: {text}");
    }
}

/// A module that has a name is another one, with options of its own.
#[test]
fn a_module_is_had_by_its_name() {
    let source = |after: &str| {
        format!(
            "import warp as wp\nwp.set_module_options({{\"enable_backward\": False}})\nOTHER = wp.get_module(\"other\")\n{after}\n\n@wp.kernel(module=OTHER)\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0\n"
        )
    };
    let compiled = |after: &str| compile(&source(after), &Options::default());
    let text = emit_cuda(&compiled("").unwrap());
    assert!(text.contains("k_HASH_cuda_kernel_backward("), "{text}");
    for after in [
        "OTHER.options[\"enable_backward\"] = False",
        "wp.set_module_options({\"enable_backward\": False}, module=OTHER)",
        "OTHER = wp.get_module(__name__)",
        "OTHER = wp.get_module(input())",
    ] {
        assert_eq!(compiled(after).unwrap_err()[0].code, "K025", "{after}");
    }
}
