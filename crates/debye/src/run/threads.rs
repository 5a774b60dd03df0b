//! The threads of a run.

use super::RunError;

/// Works on a number of threads; on all cores where none is given.
pub fn with_threads<T: Send>(number: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, RunError> {
    threads(number).map(|pool| pool.install(work))
}

fn threads(number: Option<usize>) -> Result<rayon::ThreadPool, RunError> {
    let number = number.unwrap_or(0);
    rayon::ThreadPoolBuilder::new()
        .num_threads(number)
        .build()
        .map_err(|_| RunError::Threads(number))
}
