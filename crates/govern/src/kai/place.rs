//! Finds nodes for tasks: those that share a GPU with others first, then where there is room now, then the fullest.

use super::account::plus;
use super::line::Entry;
use super::model::{GpuAsk, Partitioning, RESOURCES};
use super::room::When;
use super::session::Session;

// Each outweighs all below it.
const SHARES_A_DEVICE: i64 = 1000;
const FREE_NOW: i64 = 100;
const OF_ITS_KIND: i64 = 10;
const FULLEST: i64 = 9;
// Scores are in millionths, so that the fullest differ finely.
const UNIT: i64 = 1_000_000;

// What is not taken of what a task is packed by: GPUs, or processors for tasks without.
fn unpacked(session: &Session, node: usize, by_gpu: bool) -> Option<i64> {
    let room = &session.rooms[node];
    let (total, left) = if by_gpu {
        (i64::from(room.spec().gpus), room.gpus_idle() + room.gpus_releasing())
    } else {
        (room.spec().cpu_milli, room.cpu_soon())
    };
    (total > 0).then_some(left)
}

fn score(session: &Session, task: usize, node: usize, range: Option<(i64, i64)>) -> i64 {
    let spec = &session.tasks[task].spec;
    let room = &session.rooms[node];
    let by_gpu = spec.gpu != GpuAsk::None;
    let mut score = 0;
    if room.any_device_fits(spec) {
        score += SHARES_A_DEVICE;
    }
    if room.fits(spec, When::Now) {
        score += FREE_NOW;
    }
    let without_gpus = room.spec().gpus == 0 && room.spec().partitioning == Partitioning::Off;
    if !by_gpu && without_gpus {
        score += OF_ITS_KIND;
    }
    let packed = match (unpacked(session, node, by_gpu), range) {
        (Some(_), Some((least, most))) if most > 0 && least == most => FULLEST * UNIT,
        (Some(left), Some((least, most))) if most > 0 => {
            let part = i128::from(most - left) * i128::from(FULLEST * UNIT) / i128::from(most - least);
            i64::try_from(part).unwrap_or(0)
        }
        _ => 0,
    };
    score * UNIT + packed
}

// The nodes, best first.
fn ordered(session: &Session, task: usize, nodes: &[usize]) -> Vec<usize> {
    let by_gpu = session.tasks[task].spec.gpu != GpuAsk::None;
    let left = || nodes.iter().filter_map(|node| unpacked(session, *node, by_gpu));
    let range = left().min().zip(left().max());
    let mut scored: Vec<(i64, usize)> = nodes.iter().map(|node| (score(session, task, *node, range), *node)).collect();
    scored.sort_by_key(|(score, node)| (std::cmp::Reverse(*score), *node));
    scored.into_iter().map(|(_, node)| node).collect()
}

fn is_allowed(session: &Session, task: usize, node: usize) -> bool {
    let of = &session.tasks[task];
    let job = &session.jobs[of.job].spec;
    let room = &session.rooms[node];
    let here = of.spec.nodes.as_ref().is_none_or(|nodes| nodes.contains(&node));
    here && room.takes(&of.spec)
        && room.fits(&of.spec, When::Soon)
        && session.accounts.has_room(job.queue, session.amounts_held(&of.spec, Some(node)), !job.preemptible)
}

fn place_task(session: &mut Session, task: usize, nodes: &[usize], only_soon: bool) -> bool {
    for node in ordered(session, task, nodes) {
        if !is_allowed(session, task, node) {
            continue;
        }
        let spec = session.tasks[task].spec.clone();
        if let Some((devices, now)) = session.rooms[node].pick(&spec, only_soon) {
            if now {
                session.allocate(task, node, devices);
            } else {
                session.pipeline(task, node, devices);
            }
            return true;
        }
    }
    false
}

/// Places the next tasks of a job, all or none: on what is free, or only on what is being released.
pub fn place(session: &mut Session, entry: &Entry, nodes: &[usize], only_soon: bool) -> bool {
    let tasks = entry.tasks_next(session, only_soon);
    let job = &session.jobs[entry.job].spec;
    let asked =
        tasks.iter().fold([0; RESOURCES], |sum, task| plus(sum, session.amounts_at_least(&session.tasks[*task].spec)));
    if !session.accounts.has_room(job.queue, asked, !job.preemptible) {
        return false;
    }
    let mark = session.mark();
    let placed = tasks.iter().all(|task| place_task(session, *task, nodes, only_soon));
    if !placed {
        session.rollback(mark);
    }
    placed
}
