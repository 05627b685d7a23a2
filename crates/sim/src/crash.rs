//! Misfortune of the control plane at a commit: the process dies, or the schema refuses. The store asks at every commit; once a crash has happened every later commit of
//! the same process fails too, because a dead process writes nothing, whatever the code around it still tries.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{CommitFault, CommitFaults};

#[derive(Debug, Default)]
struct Plan {
    armed: Option<(u64, CommitFault)>,
    dead: bool,
}

/// The plan for the process that acts next. Clones are the same plan.
#[derive(Debug, Clone, Default)]
pub struct CrashPlan(Arc<Mutex<Plan>>);

impl CrashPlan {
    /// This will happen at one of its next commits: at the first when `after` is 0.
    pub fn arm(&self, after: u64, fault: CommitFault) {
        self.plan().armed = Some((after, fault));
    }
    /// Another process acts from now on. True when this one died.
    pub fn disarm(&self) -> bool {
        let mut plan = self.plan();
        plan.armed = None;
        std::mem::take(&mut plan.dead)
    }
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommitFaults for CrashPlan {
    fn at_commit(&mut self) -> CommitFault {
        let mut plan = self.plan();
        if plan.dead {
            return CommitFault::CrashBefore;
        }
        match plan.armed {
            // The process lives: one commit is refused, and no other.
            Some((0, CommitFault::BreaksARule)) => {
                plan.armed = None;
                CommitFault::BreaksARule
            }
            Some((0, fault)) => {
                plan.dead = true;
                fault
            }
            Some((left, fault)) => {
                plan.armed = Some((left - 1, fault));
                CommitFault::Proceed
            }
            None => CommitFault::Proceed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_process_commits_nothing_until_another_takes_over() {
        let (plan, mut asked) = (CrashPlan::default(), CrashPlan::default());
        asked.0 = Arc::clone(&plan.0);
        plan.arm(1, CommitFault::CrashAfter);
        let fates: Vec<_> = (0..4).map(|_| asked.at_commit()).collect();
        assert_eq!(
            fates,
            [CommitFault::Proceed, CommitFault::CrashAfter, CommitFault::CrashBefore, CommitFault::CrashBefore]
        );
        assert!(plan.disarm());
        assert_eq!(asked.at_commit(), CommitFault::Proceed);
        assert!(!plan.disarm());
    }

    #[test]
    fn a_refused_commit_is_one_commit_and_nobody_dies() {
        let plan = CrashPlan::default();
        let mut asked = plan.clone();
        plan.arm(1, CommitFault::BreaksARule);
        let fates: Vec<_> = (0..3).map(|_| asked.at_commit()).collect();
        assert_eq!(fates, [CommitFault::Proceed, CommitFault::BreaksARule, CommitFault::Proceed]);
        assert!(!plan.disarm());
    }
}
