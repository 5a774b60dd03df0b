//! The CUDA text printed for every registered potential: NVRTC accepts it, and compiled for the
//! host it computes what the tape computes.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write;
use std::process::Command;

use debye::expr::{CudaReal, Real, Table, Tape};
use debye::potentials::checks::{Rounding, pair_cases, points};
use debye::potentials::{ANGLES, BONDS, DIHEDRALS, PAIRS, PairFamily, Parameters};
use debye::truncation::TruncationKind;
use debye_gpu::Nvrtc;

/// A tape with a name that C++ accepts, and where to evaluate it.
struct Printed {
    name: String,
    tape: Tape,
    table: Table,
    inputs: Vec<Vec<f64>>,
}

/// Every potential with every truncation and, for the host, a few points of every sample.
fn everything() -> Vec<Printed> {
    let identifier = |name: &str| name.replace('-', "_");
    let mut all = Vec::new();
    for family in &PAIRS {
        for (i, case) in pair_cases(family).into_iter().enumerate() {
            let numbers = |r: f64| std::iter::once(r * r).chain(case.c).chain(case.t).collect();
            all.push(Printed {
                name: format!("{}_{i}", identifier(family.name())),
                tape: family.tape(case.truncation.kind()),
                inputs: points(case.from, case.to)
                    .into_iter()
                    .step_by(16)
                    .map(numbers)
                    .collect(),
                table: case.table,
            });
        }
    }
    macro_rules! bonded {
        ($list:ident) => {
            for family in &$list {
                for (i, sample) in family.samples().iter().enumerate() {
                    let c = family.coefficients(Parameters(&sample.values));
                    let numbers = |x: f64| std::iter::once(x).chain(c).collect();
                    all.push(Printed {
                        name: format!("{}_{i}", identifier(family.name())),
                        tape: family.tape(),
                        table: Table::default(),
                        inputs: points(sample.from, sample.to)
                            .into_iter()
                            .step_by(16)
                            .map(numbers)
                            .collect(),
                    });
                }
            }
        };
    }
    bonded!(BONDS);
    bonded!(ANGLES);
    bonded!(DIHEDRALS);
    all
}

/// These functions, and a kernel that calls each, so that nothing is left out as unused.
fn kernel(kernel: &str, tapes: &[(String, Tape)], real: CudaReal) -> String {
    let name = real.name();
    let (mut functions, mut calls) = (String::new(), String::new());
    for (function, tape) in tapes {
        let function = function.replace('-', "_");
        functions.push_str(&tape.to_cuda(&function, real));
        let inputs = (0..tape.inputs()).map(|i| format!("in[{i}]"));
        let tables = (0..tape.tables()).map(|_| "table, table_size".to_owned());
        let outputs = (0..tape.outputs()).map(|i| format!("o[{i}]"));
        let arguments: Vec<String> = inputs.chain(tables).chain(outputs).collect();
        let _ = writeln!(
            calls,
            "    {function}({}); out[0] += o[0]; out[1] += o[1];",
            arguments.join(", ")
        );
    }
    format!(
        "{functions}
extern \"C\" __global__ void {kernel}(const {name}* in, const {name}* table, int table_size, {name}* out)
{{
    {name} o[2];
{calls}}}
"
    )
}

fn pair_tapes() -> Vec<(String, Tape)> {
    let kinds = |family: &'static dyn PairFamily| {
        TruncationKind::ALL.map(|kind| (format!("{}_{kind:?}", family.name()), family.tape(kind)))
    };
    PAIRS.iter().flat_map(kinds).collect()
}

fn bonded_tapes() -> Vec<(String, Tape)> {
    let bonds = BONDS
        .iter()
        .map(|family| (family.name().to_owned(), family.tape()));
    let angles = ANGLES
        .iter()
        .map(|family| (family.name().to_owned(), family.tape()));
    let dihedrals = DIHEDRALS
        .iter()
        .map(|family| (family.name().to_owned(), family.tape()));
    bonds.chain(angles).chain(dihedrals).collect()
}

#[test]
fn nvrtc_accepts_every_potential() {
    let nvrtc = match Nvrtc::get() {
        Ok(nvrtc) => nvrtc,
        Err(missing) if std::env::var_os("DEBYE_REQUIRE_NVRTC").is_some_and(|value| value == "1") => {
            panic!("{missing}")
        }
        Err(missing) => {
            println!("skipped: {missing}");
            return;
        }
    };
    println!(
        "NVRTC {:?} at {}",
        nvrtc.version().unwrap(),
        nvrtc.path().display()
    );
    for real in [CudaReal::Float, CudaReal::Double] {
        let source = kernel("bonded", &bonded_tapes(), real) + &kernel("pairs", &pair_tapes(), real);
        let ptx = nvrtc
            .compile("potentials.cu", &source, "compute_90", &[])
            .unwrap();
        let ptx = String::from_utf8_lossy(&ptx);
        let (_, pairs) = ptx.split_once(".entry pairs").unwrap();
        let pairs = pairs.split_once(".entry").map_or(pairs, |(before, _)| before);
        assert!(ptx.contains(".entry bonded"));
        // No pair may fall back to double in single precision; range reduction of sinf and cosf does,
        // for large angles, and only bonded potentials use those.
        assert!(
            real == CudaReal::Double || !pairs.contains(".f64"),
            "double precision in the float code"
        );
    }
}

/// The names that CUDA has and C++ has not.
const HOST_HEADER: &str = "\
#include <cmath>
#include <cstdio>
#include <cstring>
#include <algorithm>
using std::min;
using std::max;
#define __device__
#define __forceinline__ inline
static float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static double rsqrt(double x) { return 1.0 / sqrt(x); }
";

/// A program that prints the outputs of every function at every point.
fn host_program(all: &[Printed], real: CudaReal) -> String {
    let name = real.name();
    let (mut functions, mut main) = (HOST_HEADER.to_owned(), String::new());
    for printed in all {
        let (function, tape) = (&printed.name, &printed.tape);
        functions.push_str(&tape.to_cuda(function, real));
        let list = |values: &[f64]| {
            values
                .iter()
                .map(|x| format!("({name}){x:e}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let _ = writeln!(
            main,
            "    {{\n    const {name} table[] = {{{}}};",
            list(printed.table.f64s())
        );
        let _ = writeln!(main, "    (void)table; {name} energy, derivative;");
        let tables = if tape.tables() == 1 {
            format!(", table, {}", printed.table.f64s().len())
        } else {
            String::new()
        };
        for inputs in &printed.inputs {
            let _ = writeln!(
                main,
                "    {function}({}{tables}, energy, derivative);",
                list(inputs)
            );
            let _ = writeln!(
                main,
                "    std::printf(\"%.17g %.17g\\n\", (double)energy, (double)derivative);"
            );
        }
        let _ = writeln!(main, "    }}");
    }
    format!("{functions}\nint main()\n{{\n{main}    return 0;\n}}\n")
}

fn run_on_host(source: &str, folder: &std::path::Path) -> String {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let (file, program) = (folder.join("printed.cpp"), folder.join("printed"));
    std::fs::write(&file, source).unwrap();
    let options = ["-std=c++17", "-O0", "-ffp-contract=off", "-o"];
    let build = Command::new(&compiler)
        .args(options)
        .arg(&program)
        .arg(&file)
        .output();
    let build = build.unwrap_or_else(|error| panic!("no C++ compiler `{compiler}`: {error}"));
    assert!(
        build.status.success(),
        "{}",
        String::from_utf8_lossy(&build.stderr)
    );
    String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap()
}

fn check_on_host<R: Real + Into<f64>>(real: CudaReal, unit_roundoff: f64) {
    let all = everything();
    let folder = tempfile::tempdir().unwrap();
    let text = run_on_host(&host_program(&all, real), folder.path());
    let mut lines = text.lines();
    let mut compared = 0;
    for printed in &all {
        for inputs in &printed.inputs {
            let line = lines.next().unwrap();
            let got: Vec<f64> = line.split(' ').map(|x| x.parse().unwrap()).collect();
            let numbers: Vec<R> = inputs.iter().map(|&x| R::lit(x)).collect();
            let bounds: Vec<Rounding> = inputs.iter().map(|&x| Rounding::stored(x)).collect();
            let want = printed.tape.evaluate(&numbers, &[&printed.table]);
            let bounds = printed.tape.evaluate(&bounds, &[&printed.table]);
            for i in 0..2 {
                let (want, allowed): (f64, f64) = (want[i].into(), 2.0 * unit_roundoff * bounds[i].error);
                assert!(
                    (got[i] - want).abs() <= allowed,
                    "{} {inputs:?}: {got:?} {want}",
                    printed.name
                );
                compared += 1;
            }
        }
    }
    println!("{compared} numbers of the printed {} code agree", real.name());
}

/// Contractions and the C library's functions may differ in the last place, so the comparison is
/// within the rounding error of the formula.
#[test]
fn printed_code_computes_what_the_tape_computes() {
    check_on_host::<f32>(CudaReal::Float, 0.5 * f64::from(f32::EPSILON));
    check_on_host::<f64>(CudaReal::Double, 0.5 * f64::EPSILON);
}
