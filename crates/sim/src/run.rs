//! Runs the world of a seed from its beginning to its rest, and says what came of it.

use crate::{
    swarm::Swarm,
    world::{REST_STEPS_MAX, World, WorldFault},
};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};
use store::invariants::Violation;

/// How a seed ended.
#[derive(Debug, Clone)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What was wrong, and after which step; nothing for a good seed.
    pub failure: Option<Failure>,
    /// How many steps were made.
    pub steps: u64,
    /// How many times the store was read from end to end.
    pub looks: u64,
    /// The hash over everything that happened.
    pub hash: String,
    /// The last lines of what happened, or all of them.
    pub lines: Vec<String>,
}

/// What was wrong.
#[derive(Debug, Clone)]
pub struct Failure {
    /// After this step.
    pub step: u64,
    /// Everything that was seen after it.
    pub violations: Vec<Violation>,
}

impl Report {
    /// Whether a rule was seen broken.
    pub fn broke(&self, invariant: &str) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.violations.iter().any(|seen| seen.invariant == invariant))
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(failure) = &self.failure else {
            return write!(f, "seed {}: nothing wrong in {} steps, trace {}", self.seed, self.steps, self.hash);
        };
        writeln!(f, "seed {} breaks a rule at step {}", self.seed, failure.step)?;
        for Violation { invariant, subject, detail } in &failure.violations {
            writeln!(f, "  {invariant}: {subject} {detail}")?;
        }
        writeln!(f, "what happened last:")?;
        for line in &self.lines {
            writeln!(f, "  {line}")?;
        }
        write!(f, "how to replay: cargo run -p sim --bin replay -- --seed {}", self.seed)
    }
}

/// Runs one seed. With a planted bug, the bug must have been switched on for this thread by the caller.
pub fn run(
    seed: u64,
    aloud: bool,
    prepare: impl FnOnce(&World) -> Result<(), WorldFault>,
) -> Result<Report, WorldFault> {
    let swarm = Swarm::pick(seed);
    let mut world = World::new(seed, swarm, aloud)?;
    prepare(&world)?;
    let failure = phases(&mut world, swarm)?;
    Ok(Report {
        seed,
        failure,
        steps: world.steps(),
        looks: world.looks(),
        hash: world.trace().hash(),
        lines: world.trace().lines(),
    })
}

fn phases(world: &mut World, swarm: Swarm) -> Result<Option<Failure>, WorldFault> {
    for _ in 0..swarm.steps {
        if let Some(failure) = step(world)? {
            return Ok(Some(failure));
        }
    }
    world.heal();
    let mut unrest = None;
    let mut still = 0;
    for _ in 0..REST_STEPS_MAX {
        if let Some(failure) = step(world)? {
            return Ok(Some(failure));
        }
        unrest = world.unrest()?;
        still = if unrest.is_none() { still + 1 } else { 0 };
        if still == STILL_STEPS {
            let violations = world.last_look()?;
            let failure = Failure { step: world.steps(), violations };
            return Ok((!failure.violations.is_empty()).then_some(failure));
        }
    }
    let detail = unrest.map_or_else(|| "it does not stand still".to_owned(), |unrest| unrest.0);
    let violation = Violation { invariant: "I19", subject: "the world did not come to rest".to_owned(), detail };
    Ok(Some(Failure { step: world.steps(), violations: vec![violation] }))
}

// So many steps in a row without anything to do are a rest.
const STILL_STEPS: u32 = 5;

fn step(world: &mut World) -> Result<Option<Failure>, WorldFault> {
    let violations = world.step()?;
    let failure = |violations| Failure { step: world.steps(), violations };
    Ok((!violations.is_empty()).then(|| failure(violations)))
}

/// Runs a job for each of some seeds on as many threads as there are cores, and returns the answers in the order of the
/// seeds. Once `enough` is true of an answer no further seed is begun.
pub fn on_all_cores<T: Send>(
    seeds: &[u64],
    job: impl Fn(u64) -> T + Sync,
    enough: impl Fn(&T) -> bool + Sync,
) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers: Mutex<Vec<(usize, T)>> = Mutex::new(vec![]);
    let work = || {
        while !done.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = seeds.get(at) else { return };
            let answer = job(*seed);
            if enough(&answer) {
                done.store(true, Ordering::Relaxed);
            }
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
