//! Workloads: what the governor admits is placed and committed here, whole or not at all; what it decides besides is written
//! down. The governor's book is brought up to date first, like the picture. Whatever goes another way than it was decided
//! throws the book away: it is read again, and decided again.

use std::{collections::BTreeSet, sync::Arc};

use model::NodeId;
use store::{StoreError, fleet, placing::WishRow};

use super::{
    Applier, Turn,
    commit::{self, Loss},
    deciding::{self, Answer, By, Decided, Grounds},
};
use crate::{
    driver::KeepLease,
    leader::Leader,
    queues::{self, Admitted, Governor, Outcome},
};

// No more cycles than this in one turn, so that everything else gets its turn too.
const CYCLES_MAX: usize = 16;

impl Applier {
    /// Lets the governor decide until nobody's turn has come.
    pub(super) fn govern(
        &mut self,
        leader: &Leader,
        keep_lease: &mut KeepLease<'_>,
        turn: &mut Turn,
    ) -> Result<(), StoreError> {
        for _ in 0..CYCLES_MAX {
            keep_lease()?;
            let went_on = self.one_cycle(leader, turn);
            // Whatever ends a step leaves it unknown what the store has.
            let went_on = went_on.inspect_err(|_| (self.snapshot, self.governor) = (None, None))?;
            if !went_on {
                break;
            }
        }
        Ok(())
    }

    fn one_cycle(&mut self, leader: &Leader, turn: &mut Turn) -> Result<bool, StoreError> {
        self.catch_up(leader)?;
        let Some((_, governor)) = &self.governor else { return Ok(false) };
        if governor.is_quiet() {
            return Ok(false);
        }
        self.refresh(leader)?;
        let changed = std::mem::take(&mut self.fleet_changed);
        let (Some((_, governor)), Some((_, snapshot))) = (&mut self.governor, &mut self.snapshot) else {
            return Ok(false);
        };
        if changed {
            governor.wake();
        }
        if governor.is_idle(leader.now) {
            return Ok(false);
        }
        let Outcome { admitted, told, waits, unfinished } = governor.cycle(snapshot, leader.now);
        let goes_on = unfinished || !admitted.is_empty();
        let as_decided = self.admit(leader, admitted, turn)?;
        let capped = std::mem::take(&mut self.capped);
        queues::hold_back(leader, capped)?;
        let written = queues::write(leader, told, waits)?;
        match (&mut self.governor, written) {
            (Some((_, governor)), Some(written)) if as_decided => governor.wrote(written),
            _ => self.governor = None,
        }
        Ok(goes_on)
    }

    /// Brings the book up to date with what was committed, by whomever.
    fn catch_up(&mut self, leader: &Leader) -> Result<(), StoreError> {
        let epoch = leader.guard.epoch;
        let kept = self.governor.take().filter(|(of, _)| *of == epoch);
        let Some((_, mut governor)) = kept else { return self.read_book(leader) };
        let after = governor.head;
        let news = leader.read(move |tx| queues::news(tx, after))?;
        if governor.is_outdated(news.version, leader.now) {
            return self.read_book(leader);
        }
        let changed = governor.changed(&news.touched);
        if !changed.is_empty() {
            let rows = leader.read(move |tx| queues::read_some(tx, &changed))?;
            governor.adopt(rows, leader.now);
        }
        governor.head = governor.head.max(news.head);
        self.governor = Some((epoch, governor));
        Ok(())
    }

    pub(super) fn read_book(&mut self, leader: &Leader) -> Result<(), StoreError> {
        let now = leader.now;
        let rows = leader.read(move |tx| queues::read(tx, now))?;
        match Governor::new(rows, leader.now) {
            Ok(governor) => self.governor = Some((leader.guard.epoch, governor)),
            // The store lets no such objects in; without a book nothing is admitted, and nothing is stopped.
            Err(why) => tracing::error!(alert = "governance_unreadable", why, "no workload is admitted"),
        }
        Ok(())
    }

    /// Places the members of admitted workloads and commits them with their quota. Says whether all went as decided.
    fn admit(&mut self, leader: &Leader, admitted: Vec<Admitted>, turn: &mut Turn) -> Result<bool, StoreError> {
        if admitted.is_empty() {
            return Ok(true);
        }
        let wishes: Vec<WishRow> = admitted.iter().flat_map(|one| one.wishes.iter().cloned()).collect();
        let mut grounds = leader.read(move |tx| Grounds::read(tx, &wishes))?;
        let (mut decided, mut as_decided) = (vec![], true);
        for one in admitted {
            as_decided &= self.place_members(leader, one, &mut grounds, &mut decided)?;
        }
        let decided = Arc::new(decided);
        if decided.is_empty() {
            return Ok(as_decided);
        }
        let written = commit::commit(leader, &decided)?;
        let refused = written.refused.is_empty();
        as_decided &= refused && written.lost.is_empty() && written.again.is_empty();
        for (at, loss) in &written.lost {
            if matches!(loss, Loss::Fault(_) | Loss::RuleBroken) {
                tracing::error!(alert = "admission_refused_by_store", allocation = %decided[*at].wish.id, ?loss, "a workload");
            }
        }
        self.settle(leader, &decided, written, turn)?;
        Ok(as_decided)
    }

    /// Finds places for all members of a workload, or for none. False if that is not what the governor thought.
    fn place_members(
        &mut self,
        leader: &Leader,
        admitted: Admitted,
        grounds: &mut Grounds,
        decided: &mut Vec<Decided>,
    ) -> Result<bool, StoreError> {
        let Some((_, snapshot)) = &mut self.snapshot else { return Ok(false) };
        let admitted = Arc::new(admitted);
        let (mut members, mut homeless) = (vec![], false);
        admitted.wishes.iter().for_each(|wish| grounds.asks_again(wish));
        for wish in &admitted.wishes {
            match deciding::decide(snapshot, grounds, wish, admitted.pool_id.as_ref())? {
                Answer::Postpone => homeless = true,
                Answer::Decided(answer) => {
                    // A refusal by the fleet means that the picture was another one.
                    homeless |= answer.chosen.is_none() && answer.by == By::Fleet;
                    let workload = Some(Arc::clone(&admitted));
                    members.push(Decided { wish: wish.clone(), answer: *answer, workload });
                }
            }
        }
        let refuses = |member: &Decided, by| member.answer.chosen.is_none() && member.answer.by == by;
        let capped = members.iter().any(|member| refuses(member, By::Cap));
        let refused = members.iter().any(|member| refuses(member, By::Rules));
        let placed: BTreeSet<NodeId> =
            members.iter().filter_map(|it| it.answer.chosen.as_ref()).map(|chosen| chosen.node_id.clone()).collect();
        if !homeless && !refused && !capped {
            decided.append(&mut members);
            return Ok(true);
        }
        if !placed.is_empty() {
            let nodes = placed.clone();
            let rows = leader.read(move |tx| fleet::load_nodes(tx, &nodes))?;
            snapshot.adopt(&placed, &rows);
        }
        if capped && !refused {
            self.capped.push(admitted.row.clone());
        }
        if refused && !homeless {
            // None of them may enter: what one is told, all are.
            let told = members.iter().find(|member| refuses(member, By::Rules)).map(|member| member.answer.refusal());
            for member in &mut members {
                if let Some(told) = &told {
                    member.answer = told.clone();
                }
            }
            decided.append(&mut members);
        }
        Ok(false)
    }
}
