//! Loops against iterators, on one thread and several.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn on_threads(test: fn()) {
    for threads in [1, 2, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(test);
    }
}

#[test]
fn every_index_is_done_once_in_parts_as_asked() {
    on_threads(|| {
        for len in [0, 1, 2, 7, 64, 1000, 1001] {
            for [least, most] in [
                [1, usize::MAX],
                [1, 1],
                [16, usize::MAX],
                [300, usize::MAX],
                [1, 5],
            ] {
                let done: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
                for_parts(len, [least, most], &|range| {
                    let alone = rayon::current_num_threads() == 1;
                    assert!(alone || range.len() <= most || range.len() < 2 * least);
                    assert!(alone || range.len() >= least.min(len));
                    for i in range {
                        done[i].fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(done.iter().all(|n| n.load(Ordering::Relaxed) == 1));
            }
        }
    });
}

#[test]
fn loops_give_what_iterators_give() {
    on_threads(|| {
        for len in [0_usize, 1, 5, 12, 997] {
            let numbers: Vec<usize> = (0..len).map(|i| i * 7919 % 1000).collect();
            let squares: Vec<usize> = numbers.par_iter().map(|x| x * x).collect();
            assert!(
                squares
                    .iter()
                    .eq(numbers.iter().map(|x| x * x).collect::<Vec<_>>().iter())
            );
            assert_eq!(numbers.par_iter().max(), numbers.iter().max());
            let mut changed = numbers.clone();
            changed
                .par_iter_mut()
                .zip(&squares)
                .with_min_len(3)
                .for_each(|(x, y)| *x += y);
            assert!(changed.iter().zip(&numbers).all(|(c, n)| *c == n + n * n));
            let mut rows = vec![0; len];
            rows.par_chunks_mut(4)
                .zip(numbers.par_chunks(4))
                .enumerate()
                .for_each(|(row, (to, from))| {
                    assert_eq!(to.len(), from.len());
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = from + row);
                });
            assert!((0..len).all(|i| rows[i] == numbers[i] + i / 4));
            rows.par_chunks_exact_mut(5)
                .zip(numbers.par_chunks_exact(5))
                .for_each(|(to, from)| {
                    assert_eq!([to.len(), from.len()], [5, 5]);
                    to.copy_from_slice(from);
                });
            assert!((0..len / 5 * 5).all(|i| rows[i] == numbers[i]));
            let counted: Vec<usize> = (3..3 + len)
                .into_par_iter()
                .map_init(|| 1, |one, i| i + *one)
                .collect();
            assert!(counted.into_iter().eq(4..4 + len));
            let names: Vec<String> = numbers.iter().map(usize::to_string).collect();
            let longer: Vec<String> = names
                .clone()
                .into_par_iter()
                .enumerate()
                .map(|(i, name)| name + &i.to_string())
                .collect();
            assert!(
                longer
                    .iter()
                    .enumerate()
                    .all(|(i, name)| *name == format!("{}{i}", names[i]))
            );
            let sum = numbers
                .par_iter()
                .fold(|| 0, |sum, x| *sum += x, |sum, part| *sum += part);
            assert_eq!(sum, numbers.iter().sum());
            let odd = numbers
                .par_iter()
                .map(|&x| if x % 2 == 1 { Err(x) } else { Ok(x) });
            let first = numbers.iter().copied().find(|x| x % 2 == 1);
            assert_eq!(odd.collect::<Result<Vec<_>, _>>().err(), first);
        }
    });
}

#[test]
fn a_loop_that_panics_leaves_no_vector() {
    let made = std::panic::catch_unwind(|| {
        (0..100)
            .into_par_iter()
            .map(|i| vec![i / usize::from(i != 57)])
            .collect::<Vec<_>>()
    });
    assert!(made.is_err());
}
