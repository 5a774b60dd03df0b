//! Scratch.
use debye::backend::{Precision, Settings, cpu::CpuEngine};
use debye::expr::{Table, Vec3};
use debye::forces::*;
use debye::integrate::*;
use debye::potentials::*;
use debye::system::*;
use debye::truncation::Truncation;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let cells: usize = args.get(1).map_or(20, |a| a.parse().unwrap());
    let threads: usize = args.get(2).map_or(2, |a| a.parse().unwrap());
    let steps: u64 = args.get(3).map_or(500, |a| a.parse().unwrap());
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .unwrap();
    let mut system = build::lj_melt([cells; 3]).thermalise(1.44, 1).unwrap();
    if cells == 20 {
        let text = String::from_utf8(
            std::process::Command::new("xzcat")
                .arg("/work/shared/physics/oracles/lammps/ljmelt_step0.dat.xz")
                .output()
                .unwrap()
                .stdout,
        )
        .unwrap();
        for (i, line) in text.lines().skip(1).enumerate() {
            let v: Vec<f64> = line.split_whitespace().map(|x| x.parse().unwrap()).collect();
            system.particles.velocities[i] = Vec3::new(v[3], v[4], v[5]);
        }
    }
    let family = PAIRS[0];
    let values = [Value::Number(1.0), Value::Number(1.0)];
    let mut table = Table::default();
    let c = family.coefficients(
        Parameters(&values),
        &mut Preparation {
            cutoff: 2.5,
            table: &mut table,
        },
    );
    let t = Truncation::Cut.coefficients(
        family,
        Pair {
            r2: 6.25,
            table: &table,
        },
        &c,
    );
    let row = PairRow {
        cutoff: 2.5,
        truncation: t,
        coefficients: c,
        tail: Tail::default(),
    };
    let field = ForceField {
        pairs: vec![PairTerm {
            name: "lj".into(),
            family,
            truncation: Truncation::Cut,
            rows: vec![row],
            table,
            tail: false,
        }],
        ..Default::default()
    };
    let dynamics = Dynamics {
        timestep: 0.005,
        scheme: Scheme::VelocityVerlet,
        thermostats: vec![],
        barostat: None,
        remove_momentum_every: 0,
        seed: 1,
    };
    for precision in [Precision::Mixed, Precision::Double] {
        let mut e = CpuEngine::new(
            &system,
            &field,
            &dynamics,
            &Settings {
                precision,
                ..Default::default()
            },
        )
        .unwrap();
        let n = system.particles.len() as f64;
        for _ in 0..3 {
            let o = e.observe().unwrap();
            println!(
                "{:?} step {} T {:.8} E {:.9} Etot {:.9} P {:.9}",
                precision,
                o.step,
                o.temperature,
                o.potential / n,
                o.total() / n,
                o.pressure()
            );
            e.advance(10, true).unwrap();
        }
        e.advance(70, true).unwrap();
        let o = e.observe().unwrap();
        println!(
            "{:?} step {} T {:.8} E {:.9} Etot {:.9} P {:.9}",
            precision,
            o.step,
            o.temperature,
            o.potential / n,
            o.total() / n,
            o.pressure()
        );
        e.clear_stages();
        let b0 = e.lists().builds;
        let t = std::time::Instant::now();
        let mut each: Vec<(bool, f64)> = Vec::new();
        for _ in 0..steps {
            let b = e.lists().builds;
            let t = std::time::Instant::now();
            e.advance(1, false).unwrap();
            each.push((e.lists().builds > b, t.elapsed().as_secs_f64()));
        }
        let s = t.elapsed().as_secs_f64();
        for kind in [false, true] {
            let mut v: Vec<f64> = each.iter().filter(|x| x.0 == kind).map(|x| x.1).collect();
            v.sort_by(f64::total_cmp);
            if !v.is_empty() {
                println!(
                    "   rebuild {kind}: 10% {:.3} ms, median {:.3} ms",
                    v[v.len() / 10] * 1e3,
                    v[v.len() / 2] * 1e3
                );
            }
        }
        println!(
            "{:?} {} atoms {:.1} steps/s; {:.1} Matom-steps/s; builds every {:.1}, radius {:.3}, {:?}, {:.0} B/atom",
            precision,
            n,
            steps as f64 / s,
            steps as f64 * n / s / 1e6,
            steps as f64 / (e.lists().builds - b0) as f64,
            e.lists().radius,
            e.lists().size,
            e.bytes() as f64 / n
        );
        for st in e.stages().list() {
            println!(
                "   {:12} {:8.3} ms/step, {} calls, {:.3} ms/call",
                st.name,
                st.seconds / steps as f64 * 1e3,
                st.calls,
                st.seconds / st.calls as f64 * 1e3
            );
        }
    }
}
