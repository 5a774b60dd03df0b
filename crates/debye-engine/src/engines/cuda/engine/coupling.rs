//! `coupling.cuh`: the formulas of thermostats, barostats and the frame, printed for the kernels.

use std::fmt::Write;
use std::sync::LazyLock;

use super::frame::{derived, limit2};
use super::rules;
use crate::expr::{CudaReal, Sym, Tape};
use crate::integrate::pressure::{Compression, limited, pressure};
use crate::integrate::thermostat::{Link, chain_decay};
use crate::integrate::{BarostatKind, Coupling, ThermostatKind};

/// The text of `coupling.cuh`, which follows the structures of `ensemble.cuh`.
pub(in crate::engines::cuda) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let parts = [chain(), thermostats(), barostats(), frame()];
        format!("#pragma once\n#include \"prelude.cuh\"\n{}", parts.concat())
    });
    &TEXT
}

fn function(name: &str, inputs: usize, record: impl FnOnce(&[Sym]) -> Vec<Sym>) -> String {
    Tape::record(inputs, record).to_cuda(name, CudaReal::Double)
}

fn link(s: &[Sym]) -> Link<Sym> {
    Link {
        degrees_of_freedom: s[0],
        kt: s[1],
        time: s[2],
    }
}

/// The steps of a Nosé–Hoover chain, link by link.
fn chain() -> String {
    let twice = |s: &[Sym]| vec![link(s).twice_kinetic(s[3])];
    let velocity = |s: &[Sym]| vec![link(s).velocity(s[3], s[4], s[5], s[6])];
    let decay = |s: &[Sym]| vec![chain_decay(s[0], s[1])];
    function("chain_twice_kinetic", 4, twice)
        + &function("chain_velocity", 7, velocity)
        + &function("chain_decay", 2, decay)
}

/// Every thermostat, and the function that chooses one of them.
fn thermostats() -> String {
    let (mut functions, mut cases, mut drawing) = (String::new(), String::new(), String::from("false"));
    for &kind in ThermostatKind::ALL {
        let (number, mut draws) = (rules::number_of(kind), false);
        let name = format!("thermostat_{number}");
        functions += &function(&name, 7, |s| {
            let noise = || {
                draws = true;
                [s[5], s[6]]
            };
            kind.rescale(&link(s), s[3], s[4], noise).to_vec()
        });
        let given = "b.freedom, b.kt, b.time, kinetic, dt, normal, squares, factor, gain";
        let _ = writeln!(cases, "    case {number}: {name}({given}); break;");
        if draws {
            let _ = write!(drawing, " || kind == {number}");
        }
    }
    format!(
        "{functions}
// Whether a thermostat needs random numbers.
__device__ __forceinline__ bool thermostat_draws(u32 kind) {{ return {drawing}; }}
// The factor for the velocities, and the energy that it gives.
__device__ inline void thermostat(const ScalingThermostat& b, f64 kinetic, f64 dt, f64 normal, f64 squares, f64& factor, f64& gain)
{{
    switch (b.kind) {{
{cases}    }}
}}
"
    )
}

const COUPLINGS: u32 = Coupling::ALL.len() as u32;

/// Every barostat with every coupling, and the function that chooses one of them.
fn barostats() -> String {
    let along = |name: &str| format!("{name}[0], {name}[1], {name}[2]");
    let given = [
        &["r.pressure", "kinetic", "virial", "r.compressibility", "noise"].map(along)[..],
        &["volume, r.tail, r.boltzmann, r.temperature, r.time, dt, r.tension, height".to_owned()],
        &["wanted", "factors", "velocity"].map(along),
    ];
    let given = given.concat().join(", ");
    let (mut functions, mut cases) = (String::new(), String::new());
    for kind in BarostatKind::ALL {
        for coupling in Coupling::ALL {
            let number = kind as u32 * COUPLINGS + coupling.number();
            let name = format!("barostat_{number}");
            functions += &function(&name, 23, |s| {
                let three = |from: usize| [s[from], s[from + 1], s[from + 2]];
                let (kinetic, virial) = (three(3), three(6));
                let wanted = kind.factors(
                    coupling,
                    &Compression {
                        target: three(0),
                        pressure: std::array::from_fn(|k| pressure(kinetic[k], virial[k], s[15], s[16])),
                        compressibility: three(9),
                        noise: three(12),
                        volume: s[15],
                        boltzmann: s[17],
                        temperature: s[18],
                        time: s[19],
                        dt: s[20],
                        tension: s[21],
                        height: s[22],
                    },
                );
                let factors = wanted.map(limited);
                [wanted, factors, factors.map(|f| kind.velocity_factor(f))].concat()
            });
            let _ = writeln!(cases, "    case {number}: {name}({given}); break;");
        }
    }
    format!(
        "{functions}
// Factors for the lengths of the cell, as they are wanted and as they may be, and for velocities. Called, not put in
// place: all these branches must take no registers from a step.
CALLED void barostat(const Ensemble& r, const f64* kinetic, const f64* virial, const f64* noise, f64 volume, f64 height,
                     f64 dt, f64* wanted, f64* factors, f64* velocity)
{{
    switch (r.rescales * {COUPLINGS} + r.coupling) {{
{cases}    }}
}}
"
    )
}

/// What follows from the cell of a frame.
fn frame() -> String {
    let derived = |s: &[Sym]| {
        let (per_length, unit, height) = derived([s[0], s[1], s[2], s[3], s[4], s[5]]);
        [&per_length[..], &unit, &height].concat()
    };
    let limit2 = |s: &[Sym]| vec![limit2(s[0], s[1], s[2])];
    function("derived_frame", 6, derived) + &function("list_limit2", 3, limit2)
}
