//! Factories that nobody is seen to call: their parameters' values are few, or the user's. The expected lines are
//! warp-lang 1.19.0's.

use warpsmith_compiler::{Binding, Compiler, Options, compile, emit_cuda};

const FACTORIES: &str = "
import enum
import warp as wp

class Cone(enum.IntEnum):
    FLAT = 0
    ROUND = 3
    OVAL = 3

def make(flag: bool, cone: Cone, size: int, unused: bool):
    half = size // 2
    if flag:
        extra = 5.0
    else:
        extra = 7.0

    @wp.func
    def shift(x: float):
        return x + extra

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        i = wp.tid()
        if wp.static(cone == Cone.ROUND):
            x[i] = shift(x[i])
        else:
            x[i] = float(half)

    return k

def plain(flag: bool, scale: float = 1.5):
    @wp.kernel
    def same(x: wp.array(dtype=float)):
        x[wp.tid()] = scale

    @wp.kernel
    def other(x: wp.array(dtype=float)):
        if wp.static(flag):
            x[0] = 1.0
    return same, other

def tiled(tile):
    SIZE = tile.size

    @wp.kernel
    def t(x: wp.array(dtype=int)):
        x[0] = SIZE
    return t
";

fn bound(binds: &[(&str, &str)], kernel: Option<&str>) -> Options {
    let binding = |(name, value): &(&str, &str)| Binding {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    Options {
        kernel: kernel.map(str::to_owned),
        bind: binds.iter().map(binding).collect(),
        ..Options::default()
    }
}

fn each(source: &str, options: &Options) -> Vec<(String, Result<String, String>)> {
    let mut all = Vec::new();
    Compiler::new()
        .compile_each(source, options, None, &mut |name, compiled| {
            let fate = compiled.map(emit_cuda);
            let fate = fate.map_err(|findings| findings[0].message.clone());
            all.push((name.to_owned(), fate));
        })
        .unwrap();
    all
}

#[test]
fn a_flag_and_an_enumeration_make_a_kernel_for_each_value() {
    let all = each(FACTORIES, &bound(&[("make.size", "16")], None));
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let of = |arguments: &str| format!("make__locals__k[{arguments}, size=16, unused=False]");
    let expected = [
        &of("flag=False, cone=Cone.FLAT"),
        &of("flag=False, cone=Cone.ROUND"),
        &of("flag=True, cone=Cone.FLAT"),
        &of("flag=True, cone=Cone.ROUND"),
        "plain__locals__same",
        "plain__locals__other[flag=False, scale=1.5]",
        "plain__locals__other[flag=True, scale=1.5]",
        "tiled__locals__t",
    ];
    let twice: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !name.contains("unused=True"))
        .collect();
    assert_eq!(twice, expected);
    for (arguments, lines) in [
        (
            "flag=True, cone=Cone.ROUND",
            [
                "const wp::float32 var_0 = 5.0;",
                "shift_0(",
                "make__locals__k_HASH_cuda",
            ],
        ),
        (
            "flag=False, cone=Cone.ROUND",
            [
                "const wp::float32 var_0 = 7.0;",
                "shift_0(",
                "make__locals__k_HASH_cuda",
            ],
        ),
        (
            "flag=False, cone=Cone.FLAT",
            ["= 8;", "wp::float(", "// x[i] = float(half)"],
        ),
    ] {
        let (_, text) = all.iter().find(|(name, _)| *name == of(arguments)).unwrap();
        let text = text.as_ref().unwrap();
        for line in lines {
            assert!(text.contains(line), "{arguments}: {line}\n{text}");
        }
    }
}

#[test]
fn what_is_the_same_in_all_readings_is_one_kernel() {
    let all = each(FACTORIES, &Options::default());
    let same: Vec<_> = all
        .iter()
        .filter(|(name, _)| name.contains("same"))
        .collect();
    assert_eq!(same.len(), 1);
    assert!(same[0].1.as_ref().unwrap().contains("= 1.5;"));
}

#[test]
fn a_parameter_without_a_value_is_refused_by_its_name() {
    let all = each(FACTORIES, &Options::default());
    let (_, made) = &all[0];
    let message = made.as_ref().unwrap_err();
    assert!(message.starts_with("`half` is set by a call"), "{message}");
    let (_, made) = all.last().unwrap();
    let message = made.as_ref().unwrap_err();
    assert!(message.starts_with("`SIZE` is set by a call"), "{message}");
}

#[test]
fn the_user_binds_parameters_and_their_attributes() {
    for (bind, kernel) in [
        (("tiled.tile.size", "8"), "tiled__locals__t"),
        (("tile.size", "2 * 4"), "tiled__locals__t"),
        (("plain.flag", "True"), "plain__locals__other"),
    ] {
        let options = bound(&[bind], Some(kernel));
        let module = compile(FACTORIES, &options).unwrap_or_else(|found| panic!("{found:?}"));
        let text = emit_cuda(&module);
        assert!(text.contains("= 8;") || text.contains("= 1.0;"), "{text}");
    }
}

#[test]
fn a_binding_that_fits_nothing_is_refused() {
    for (bind, says) in [
        (("make.sise", "16"), "no function around a kernel"),
        (("size", "16 +"), "not a Python expression"),
        (("size", "x = 1"), "not a Python expression"),
    ] {
        let findings = compile(FACTORIES, &bound(&[bind], Some("make__locals__k"))).unwrap_err();
        assert!(
            findings[0].message.contains(says),
            "{}",
            findings[0].message
        );
    }
}

const SETTINGS: &str = "
import warp as wp

SPEED = measure()

def optioned(fast: bool):
    options = {\"enable_backward\": True}
    if fast:
        options[\"enable_backward\"] = False

    @wp.kernel(module=\"unique\", module_options=options)
    def o(x: wp.array(dtype=float)):
        x[0] = 1.0
    return o

def masked(mask=None):
    @wp.kernel
    def m(x: wp.array(dtype=float)):
        if wp.static(mask is not None):
            x[0] = 3.0
    return m

@wp.kernel
def s(x: wp.array(dtype=float)):
    x[0] = SPEED
";

#[test]
fn a_factory_chooses_the_options_of_its_kernel() {
    let all = each(SETTINGS, &Options::default());
    for (name, is_there) in [
        ("optioned__locals__o[fast=False]", true),
        ("optioned__locals__o[fast=True]", false),
    ] {
        let (_, text) = all.iter().find(|(known, _)| known == name).unwrap();
        let text = text.as_ref().unwrap();
        assert_eq!(
            text.contains("cuda_kernel_backward"),
            is_there,
            "{name}\n{text}"
        );
    }
}

#[test]
fn an_argument_may_be_left_out() {
    for comparison in ["mask is not None", "mask != None", "not (mask == None)"] {
        let settings = SETTINGS.replace("mask is not None", comparison);
        let all = each(&settings, &Options::default());
        for (name, is_there) in [
            ("masked__locals__m[mask=None]", false),
            ("masked__locals__m[mask=...]", true),
        ] {
            let (_, text) = all.iter().find(|(known, _)| known == name).unwrap();
            let text = text.as_ref().unwrap();
            assert_eq!(text.contains("= 3.0;"), is_there, "{name}\n{text}");
        }
    }
}

#[test]
fn the_user_binds_what_only_python_can_work_out() {
    let text = |binds: &[(&str, &str)]| {
        let made = compile(SETTINGS, &bound(binds, Some("s")));
        made.map(|module| emit_cuda(&module))
            .map_err(|findings| findings[0].message.clone())
    };
    assert!(text(&[]).unwrap_err().starts_with("`SPEED` is"));
    assert!(text(&[("SPEED", "2.5")]).unwrap().contains("= 2.5;"));
}

#[test]
fn each_overload_of_a_generic_kernel_is_one() {
    let source = "
from typing import Any
import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=Any), s: Any):
    x[wp.tid()] = x[wp.tid()] * s

wp.overload(scale, [wp.array(dtype=float), float])
wp.overload(scale, [wp.array(dtype=wp.vec3), float])
wp.overload(scale, {\"x\": wp.array(dtype=float), \"s\": float})

@wp.kernel
def fill(x: wp.array(dtype=Any)):
    x[wp.tid()] = x.dtype(1)

for t in [wp.float32, wp.float64]:
    wp.overload(fill, [wp.array(dtype=t)])
";
    let all = each(source, &Options::default());
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["scale[overload=1]", "fill", "scale[overload=2]"]);
    let text = |at: usize| all[at].1.clone().unwrap();
    assert!(text(0).contains("wp::array_t<wp::float32> var_x"));
    assert!(text(2).contains("wp::array_t<wp::vec_t<3, wp::float32>> var_x"));
    assert!(all[1].1.is_err());
    let chosen = compile(source, &bound(&[], Some("scale[overload=2]"))).unwrap();
    assert_eq!(emit_cuda(&chosen), text(2));
}
