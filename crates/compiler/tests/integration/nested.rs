//! Kernels inside functions and classes. The expected lines are warp-lang 1.19.0's.

use warpsmith_compiler::{Compiler, Options, compile, emit_cuda};

const FACTORIES: &str = "
import enum
import warp as wp

N = 8

class E(enum.IntEnum):
    A = 3

@wp.func
def outer_f(x: float):
    return x * float(N)

def make(n: int, scale: float = 2.0):
    M = n + 1
    N = 4

    @wp.func
    def g(x: float):
        return x * scale + float(N)

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        i = wp.tid()
        for j in range(n):
            x[i] = g(x[i]) + outer_f(x[i]) + float(M)

    return k

k1 = make(3)
k2 = make(5, scale=0.5)

def make_t(dtype, flag):
    @wp.kernel(enable_backward=False, module=\"unique\")
    def kt(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        if wp.static(flag):
            x[i] = y[i] + dtype(1)
        else:
            x[i] = y[i] * dtype(2)
    return kt

t1 = make_t(wp.float64, True)
t2 = make_t(float, False)

def free():
    LOCAL = E.A + N

    @wp.struct
    class S:
        a: float

    @wp.func
    def h(s: S):
        return s.a

    @wp.func
    def h(s: float):
        return s + 1.0

    @wp.kernel
    def kf(x: wp.array(dtype=float), s: S):
        i = wp.tid()
        x[i] = h(s) + h(x[i]) + float(LOCAL)
    return kf

class C:
    K = 7

    @wp.func
    def f(x: float):
        return x + 1.0

    @wp.kernel
    def kc(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = C.f(x[i]) + float(C.K) + float(N)

class D(Base):
    def run(self, q):
        def deeper(z):
            @wp.kernel
            def kd(x: wp.array(dtype=float)):
                x[wp.tid()] = outer_f(x[0])
            return kd
        return deeper(q)
";

/// The text of a kernel, by its key or by the name that the module gives it.
fn text(source: &str, kernel: &str) -> Result<String, String> {
    let options = Options {
        kernel: Some(kernel.to_owned()),
        ..Options::default()
    };
    let compiled = compile(source, &options);
    compiled
        .map(|module| emit_cuda(&module))
        .map_err(|findings| format!("{}: {}", findings[0].code, findings[0].message))
}

/// What became of every kernel of a source.
fn each(source: &str) -> Vec<(String, Result<(), String>)> {
    let mut all = Vec::new();
    Compiler::new()
        .compile_each(source, &Options::default(), None, &mut |name, compiled| {
            let fate = compiled.map(|_| ());
            let fate = fate.map_err(|findings| findings[0].message.clone());
            all.push((name.to_owned(), fate));
        })
        .unwrap();
    all
}

#[test]
fn a_factory_that_the_module_calls_makes_one_kernel_for_each_call() {
    let first = text(FACTORIES, "k1").unwrap();
    for line in [
        "static CUDA_CALLABLE wp::float32 make__locals__g_0(",
        "    const wp::float32 var_0 = 2.0;\n    wp::float32 var_1;\n    const wp::int32 var_2 = 4;",
        "extern \"C\" __global__ void make__locals__k_HASH_cuda_kernel_forward(",
        "        const wp::int32 var_22 = 2;\n",
        "        // for j in range(n):",
    ] {
        assert!(first.contains(line), "{line}\n{first}");
    }
    // The function at module level does not see the factory's `N`.
    assert!(first.contains("    const wp::int32 var_0 = 8;\n    wp::float32 var_1;"));
    let second = text(FACTORIES, "k2").unwrap();
    for line in [
        "static CUDA_CALLABLE wp::float32 make__locals__g_1(",
        "    const wp::float32 var_0 = 0.5;\n",
        "        const wp::int32 var_42 = 4;\n",
    ] {
        assert!(second.contains(line), "{line}\n{second}");
    }
}

#[test]
fn a_factory_takes_types_and_conditions() {
    let wide = text(FACTORIES, "t1").unwrap();
    assert!(wide.contains("wp::array_t<wp::float64> var_y") && wide.contains("wp::add("));
    let narrow = text(FACTORIES, "t2").unwrap();
    assert!(narrow.contains("wp::array_t<wp::float32> var_y") && narrow.contains("wp::mul("));
}

#[test]
fn what_means_the_same_in_every_call_is_known_without_one() {
    let free = text(FACTORIES, "free__locals__kf").unwrap();
    for line in [
        "struct free__locals__S_HASH\n",
        "static CUDA_CALLABLE wp::float32 free__locals__h_1(",
        "        const wp::int32 var_6 = 11;\n",
    ] {
        assert!(free.contains(line), "{line}\n{free}");
    }
    let deep = text(FACTORIES, "D__run__locals__deeper__locals__kd").unwrap();
    assert!(deep.contains("var_4 = outer_f_0(") || deep.contains("= outer_f_0("));
}

#[test]
fn functions_and_kernels_of_a_class_have_its_name() {
    let class = text(FACTORIES, "C__kc").unwrap();
    for line in [
        "static CUDA_CALLABLE wp::float32 C__f_0(",
        "extern \"C\" __global__ void C__kc_HASH_cuda_kernel_forward(",
        "= C__f_0(",
    ] {
        assert!(class.contains(line), "{line}\n{class}");
    }
}

#[test]
fn every_kernel_counts() {
    let names: Vec<String> = each(FACTORIES).into_iter().map(|(name, _)| name).collect();
    let expected = [
        "make__locals__k",
        "make__locals__k",
        "make_t__locals__kt",
        "make_t__locals__kt",
        "C__kc",
        "free__locals__kf",
        "D__run__locals__deeper__locals__kd",
    ];
    assert_eq!(names, expected);
}

/// A factory that nobody calls, and what its kernel does.
fn uncalled(before: &str, body: &str) -> Result<(), String> {
    let source = format!(
        "import warp as wp\nN = 1\n\ndef make(n, *rest, flag):\n{before}\n    @wp.kernel\n    def k(x: wp.array(dtype=float)):\n        x[wp.tid()] = float({body})\n    return k\n"
    );
    let mut all = each(&source);
    assert_eq!(all.len(), 1, "{source}");
    all.remove(0).1
}

#[test]
fn what_only_a_call_knows_is_refused_by_its_name() {
    let live = "value only Python knows";
    for (before, body, name) in [
        ("", "n", "n"),
        ("", "rest", "rest"),
        ("", "wp.static(flag + 1)", "flag"),
        ("    m = n + 1", "m", "m"),
        ("    N = 1\n    N = 2", "N", "N"),
        ("    for N in range(3):\n        pass", "N", "N"),
        ("    with a() as N:\n        pass", "N", "N"),
        (
            "    try:\n        pass\n    except E as N:\n        pass",
            "N",
            "N",
        ),
        ("    print(N := 3)", "N", "N"),
        (
            "    if n:\n        N = 2\n    else:\n        N = 3",
            "N",
            "N",
        ),
    ] {
        let message = uncalled(before, body).unwrap_err();
        assert!(
            message.starts_with(&format!("`{name}` is ")) && message.ends_with(live),
            "{before} {body}: {message}"
        );
    }
    assert_eq!(uncalled("    M = N + 1", "M"), Ok(()));
    assert_eq!(uncalled("", "N"), Ok(()));
}

#[test]
fn a_type_that_a_factory_is_given_is_refused_by_its_name() {
    let source = "import warp as wp\n\ndef make(dtype):\n    @wp.kernel\n    def k(x: wp.array(dtype=dtype)):\n        x[wp.tid()] = dtype(1)\n    return k\n";
    let message = each(source).remove(0).1.unwrap_err();
    assert!(message.starts_with("`dtype` is a parameter"), "{message}");
}

#[test]
fn functions_are_refused_where_their_number_is_not_known() {
    let source = "import warp as wp\n\ndef make(n):\n    @wp.func\n    def g(x: float):\n        return x + float(n)\n    @wp.kernel\n    def k(x: wp.array(dtype=float)):\n        x[wp.tid()] = g(1.0)\n    return k\n\nfor i in range(3):\n    make(i)\nk = make(5)\n";
    let message = text(source, "k").unwrap_err();
    assert!(message.starts_with("K021: how often `make`"), "{message}");
}

#[test]
fn a_loop_over_what_a_factory_captures_names_the_parameter() {
    let source = "
import warp as wp

def make(n):
    half = n // 2

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        for _ in range(half):
            x[0] += 1.0

    return k
";
    let findings = compile(source, &Options::default()).expect_err("`half` is not known");
    assert_eq!(findings[0].code, "K023");
    assert!(findings[0].message.starts_with("`half` is set by a call"));
    let hint = findings[0].hint.as_deref().unwrap_or_default();
    assert!(hint.contains("`--bind make.n=VALUE`"), "{hint}");
}
