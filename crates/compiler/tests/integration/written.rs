//! Factories that the source calls in functions, methods and the part for scripts. The expected lines are
//! warp-lang 1.19.0's.

use warpsmith_compiler::{Binding, Compiler, Options, emit_cuda};

fn each(source: &str, options: &Options) -> Vec<(String, Result<String, String>)> {
    let source =
        format!("import argparse\nfrom itertools import product\nimport warp as wp\n{source}");
    let mut all = Vec::new();
    Compiler::new()
        .compile_each(&source, options, None, &mut |name, compiled| {
            let fate = compiled.map(emit_cuda);
            let fate = fate.map_err(|findings| findings[0].message.clone());
            all.push((name.to_owned(), fate));
        })
        .unwrap();
    all
}

/// The arguments of each kernel, as its name has them.
fn labels(source: &str) -> Vec<String> {
    let names = each(source, &Options::default())
        .into_iter()
        .map(|(name, fate)| {
            fate.unwrap_or_else(|refused| panic!("{name}: {refused}"));
            name.split_once('[').map_or(name.clone(), |(_, label)| {
                label.trim_end_matches(']').to_owned()
            })
        });
    names.collect()
}

/// A factory of tiles.
const TILES: &str = "
def make(rows, cols=2):
    ROWS = rows

    @wp.kernel
    def k(x: wp.array2d(dtype=float)):
        i = wp.tid()
        t = wp.tile_zeros(shape=(ROWS, 4), dtype=float)
        wp.tile_store(x, t, offset=(i, 0))
    return k
";

/// What is called in a class: by a default, by the calls of the class, and through an attribute.
const SOLVER: &str = "
class Solver:
    def __init__(self, n, size=16):
        self.n = n
        self.size = size
        self.kernel = make(size)

    def again(self):
        return make(rows=2 * self.size)

def main():
    Solver(100)
    with wp.ScopedDevice('cpu'):
        return Solver(n=3, size=32)
";

#[test]
fn values_of_calls_come_through_classes() {
    let source = format!("{TILES}{SOLVER}");
    assert_eq!(
        labels(&source),
        ["rows=16, cols=2", "rows=32, cols=2", "rows=64, cols=2"]
    );
    let all = each(&source, &Options::default());
    let text = all[1].1.as_ref().unwrap();
    assert!(text.contains("const wp::int32 var_1 = 32;"), "{text}");
}

#[test]
fn loops_give_each_of_their_values() {
    let calls = "
SIZES = ((8, 1), (4, 2))

if __name__ == '__main__':
    for rows, unused in SIZES:
        make(rows)
    for config in list(product([2, 3], [5])):
        make(config[0] * config[1])
    lengths = list(range(6, 8))
    for length in lengths:
        make(length)
";
    let rows = ["8", "4", "10", "15", "6", "7"];
    let expected = rows.map(|rows| format!("rows={rows}, cols=2"));
    assert_eq!(labels(&format!("{TILES}{calls}")), expected);
}

#[test]
fn the_command_line_has_its_defaults() {
    let calls = "
def by_type(kind, storage, scale):
    @wp.kernel
    def k(x: wp.array(dtype=kind)):
        if wp.static(storage == 'shared'):
            x[0] = x[1]
        else:
            x[0] = x[2] + kind(scale)
    return k

MAKERS = {1: by_type, 2: None}
KINDS = {'half': wp.float16, 'double': wp.float64}

def run(which, name, modes, scale):
    maker = MAKERS[which]
    for mode in modes:
        maker(KINDS[name], mode, scale)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-w', '--which-one', type=int, default=1)
    parser.add_argument('--kind', choices=list(KINDS), default='double')
    parser.add_argument('--mode', default='both')
    parser.add_argument('--scale', type=float, default=2)
    args = parser.parse_known_args()[0]
    modes = ['shared', 'register'] if args.mode == 'both' else [args.mode]
    run(args.which_one, args.kind, modes, scale=args.scale)
";
    let all = each(calls, &Options::default());
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let name =
        |mode: &str| format!("by_type__locals__k[kind=wp.float64, storage=\"{mode}\", scale=2]");
    assert_eq!(names, [name("shared"), name("register")]);
    let text = all[1].1.as_ref().unwrap();
    assert!(text.contains("wp::array_t<wp::float64> var_x"), "{text}");
}

#[test]
fn what_only_a_run_knows_is_refused() {
    for call in [
        "def main(n):\n    make(n)\n",
        "def main():\n    sizes = [1]\n    sizes.append(2)\n    for n in sizes:\n        make(n)\n",
        "def main():\n    n = 1\n    n = read()\n    make(n)\n",
        "def main():\n    make(*read())\n",
        "def main(p):\n    p.add_argument('--n', type=int, default='3')\n    a = p.parse_args()\n    make(a.n)\n",
        "def main(p):\n    p.add_argument('--n', default=3)\n    a = p.parse_args()\n    a.n = read()\n    make(a.n)\n",
        "class C:\n    def f(self):\n        self.n = 1\n    def g(self):\n        self.n = read()\n        make(self.n)\n",
    ] {
        let all = each(&format!("{TILES}{call}"), &Options::default());
        let [(name, Err(refused))] = all.as_slice() else {
            panic!("{call}: {all:?}");
        };
        assert_eq!(name, "make__locals__k[cols=2]", "{call}");
        assert!(
            refused.contains("`ROWS` is set by a call"),
            "{call}: {refused}"
        );
    }
}

#[test]
fn what_the_user_binds_counts_more() {
    let options = Options {
        bind: vec![Binding {
            name: "make.rows".into(),
            value: "5".into(),
        }],
        ..Options::default()
    };
    let all = each(&format!("{TILES}{SOLVER}"), &options);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["make__locals__k[rows=5, cols=2]"]);
}

#[test]
fn kernels_that_need_no_value_keep_their_names() {
    let source = "
def make(rows, size):
    half = rows // 2

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        for size in range(2):
            x[size] = 1.0
    return k

make_all = [make(n, n) for n in (1, 2)]

def main():
    make(3, 4)
";
    let all = each(source, &Options::default());
    assert_eq!(all[0].0, "make__locals__k");
    assert!(all[0].1.is_ok());
}

/// A source that could lead to very many ways ends.
#[test]
fn ways_are_bounded() {
    let mut calls = String::from("R = range(4000)\ndef main():\n");
    for depth in 1..8 {
        calls += &format!("{}for v{depth} in R:\n", "    ".repeat(depth));
    }
    calls += &format!("{}make(v1 * 0 + v2 * 0 + v3 * 0 + v7)\n", "    ".repeat(8));
    let all = each(&format!("{TILES}{calls}"), &Options::default());
    assert!(all.len() <= 64, "{}", all.len());
}

/// A Fourier transform has text for the block with which the file launches it, where Warp's usual one cannot divide it.
#[test]
fn a_launch_gives_the_block_of_a_transform() {
    let source = |launches: &str| {
        format!(
            "
BLOCK = 8

@wp.kernel
def k(x: wp.array2d(dtype=wp.vec2)):
    t = wp.tile_load(x, shape=(1, 32))
    wp.tile_fft(t)
    wp.tile_store(x, t)

def main(x, n):
{launches}
"
        )
    };
    let text = |launches: &str| {
        let mut all = each(&source(launches), &Options::default());
        all.remove(0).1.unwrap()
    };
    let call = |per_thread: u32| {
        format!("tile_fft(/* scalar */ 0, /* scalar */ 0, wp::vec2f, 256, 1, {per_thread}, var_")
    };
    let eight = "    wp.launch_tiled(k, dim=[1], inputs=[x], block_dim=BLOCK)";
    assert!(text(eight).contains(&call(4)), "{}", text(eight));
    let named = "    wp.launch(kernel=k, dim=32, inputs=[x], block_dim=2 * BLOCK)";
    assert!(text(named).contains(&call(2)), "{}", text(named));
    // Launches that differ, or say nothing that is known.
    for other in [
        format!("{eight}\n{named}"),
        format!("{eight}\n    wp.launch(k, dim=32, inputs=[x])"),
        "    wp.launch(k, dim=32, inputs=[x], block_dim=n)".into(),
        "    wp.launch(other, dim=32, block_dim=8)".into(),
    ] {
        assert!(text(&other).contains(&call(1)), "{other}");
    }
}

/// A generic kernel has the types with which the file launches it, where an array's are written as it is made.
#[test]
fn launches_give_generic_kernels_their_types() {
    let source = |calls: &str| {
        format!(
            "from typing import Any\n\n@wp.kernel\ndef k(x: wp.array(dtype=Any), s: Any, y: wp.array(dtype=Any)):\n    y[0] = x[0] * s\n\ndef main(n, read):\n{calls}\n"
        )
    };
    let launch = |x: &str, s: &str| {
        format!(
            "    a = {x}\n    b = wp.empty_like(a)\n    wp.launch(kernel=k, dim=1, inputs=[a, {s}], outputs=[b])"
        )
    };
    let fates = |calls: &str| each(&source(calls), &Options::default());
    for (x, s, line) in [
        (
            "wp.zeros(n, dtype=wp.vec3)",
            "2.0",
            "wp::array_t<wp::vec_t<3, wp::float32>> var_x",
        ),
        ("wp.array([1, 2], dtype=int)", "3", "wp::int32 var_s"),
        ("wp.full(3, 1.0, dtype=float)", "0.5", "wp::float32 var_s"),
    ] {
        let all = fates(&launch(x, s));
        let [(name, Ok(text))] = all.as_slice() else {
            panic!("{x}: {all:?}");
        };
        assert_eq!(name, "k");
        assert!(text.contains(line), "{x}: {text}");
    }
    // Two launches make two kernels.
    let twice = "    wp.launch(k, 1, [wp.ones(1, dtype=int), 1, wp.ones(1, dtype=int)])\n    wp.launch(k, 1, [wp.ones(1, dtype=float), 1.0, wp.ones(1, dtype=float)])";
    let all = fates(twice);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["k[overload=1]", "k[overload=2]"]);
    for (x, s) in [
        ("wp.zeros(n)", "2.0"),
        ("wp.array(read(), dtype=n)", "2.0"),
        ("read()", "2.0"),
        ("wp.zeros(n, dtype=int)", "read()"),
        ("wp.zeros(n, dtype=int)\n    a = read()", "1"),
    ] {
        let all = fates(&launch(x, s));
        let refused = all[0].1.as_ref().unwrap_err();
        assert!(
            refused.contains("a generic kernel needs one overload"),
            "{x}"
        );
    }
}
