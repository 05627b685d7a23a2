//! One closure on its way through the store: who asked, how often it was tried, and where the answer goes. The engines
//! see it as [`Work`] and never learn its types. A panic inside the closure is caught here and becomes an answer.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
};

use tokio::sync::oneshot;

use crate::{
    StoreError,
    tx::{Fault, Session, Tx},
};

/// What became of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its changes should be committed.
    Keep,
    /// It has an answer and has touched nothing.
    Leave,
    /// It has an answer, and what it touched must be undone.
    Undo,
    /// It lost a race and wants another try.
    Again,
    /// The transaction around it is gone.
    Gone,
}

/// A closure with its types hidden.
pub(crate) trait Work: Send {
    /// Runs the closure once inside an open transaction. With `flush`, waits for everything it posted.
    fn attempt(&mut self, session: &mut dyn Session, flush: bool) -> Verdict;
    /// Counts a try that failed before the closure could run.
    fn missed(&mut self, fault: &Fault);
    /// Whether the last try lost a race or its transaction, rather than being spoiled by a neighbour.
    fn has_lost(&self) -> bool;
    /// Whether the last try failed because the database could not be reached.
    fn is_cut_off(&self) -> bool;
    /// How many tries there have been.
    fn tries(&self) -> u32;
    /// Sends the answer: the closure's own, or the reason why it does not count.
    fn answer(self: Box<Self>, end: Result<(), StoreError>);
    /// Sends the reason of the last failed try.
    fn give_up(self: Box<Self>);
}

/// Where an answer goes.
pub(crate) enum Reply<T, E> {
    Blocked(mpsc::SyncSender<Result<T, E>>),
    Awaited(oneshot::Sender<Result<T, E>>),
}

/// A closure, its tries and its way back.
pub(crate) struct Job<T, E, F> {
    run: F,
    writes: bool,
    tries: u32,
    result: Option<Result<T, E>>,
    last: Option<StoreError>,
    reply: Option<Reply<T, E>>,
}

impl<T, E, F> Job<T, E, F>
where
    E: From<StoreError>,
    F: FnMut(&mut Tx<'_>) -> Result<T, E>,
{
    pub(crate) fn new(run: F, writes: bool, reply: Option<Reply<T, E>>) -> Self {
        Self { run, writes, tries: 0, result: None, last: None, reply }
    }

    /// The closure's answer, for a caller that ran the job itself.
    pub(crate) fn take_result(&mut self) -> Result<T, E> {
        let last = self.last.take();
        self.result.take().unwrap_or_else(|| Err(last.unwrap_or(StoreError::Busy).into()))
    }

    pub(crate) fn try_once(&mut self, session: &mut dyn Session, flush: bool) -> Verdict {
        self.tries += 1;
        self.last = None;
        let mut tx = Tx::new(session, self.writes);
        let answer = catch_unwind(AssertUnwindSafe(|| (self.run)(&mut tx)));
        if flush && matches!(answer, Ok(Ok(_))) {
            tx.flush();
        }
        let (touched, fault) = (tx.touched(), tx.fault().cloned());
        match (answer, fault) {
            (_, Some(fault)) if fault.gone || fault.again => {
                self.last = Some(fault.error);
                if fault.gone { Verdict::Gone } else { Verdict::Again }
            }
            (Err(panic), _) => self.end(Err(StoreError::Panicked(panic_text(panic.as_ref())).into()), touched),
            (Ok(Err(error)), _) => self.end(Err(error), touched),
            (Ok(Ok(_)), Some(fault)) => self.end(Err(fault.error.into()), touched),
            (Ok(Ok(value)), None) if self.writes => {
                self.result = Some(Ok(value));
                Verdict::Keep
            }
            (Ok(Ok(value)), None) => self.end(Ok(value), touched),
        }
    }

    fn end(&mut self, result: Result<T, E>, touched: bool) -> Verdict {
        self.result = Some(result);
        if touched { Verdict::Undo } else { Verdict::Leave }
    }

    fn send(&mut self, answer: Result<T, E>) {
        // A caller that went away does not want the answer; its transaction stands all the same.
        match self.reply.take() {
            Some(Reply::Blocked(sender)) => drop(sender.send(answer)),
            Some(Reply::Awaited(sender)) => drop(sender.send(answer)),
            None => {}
        }
    }
}

impl<T, E, F> Work for Job<T, E, F>
where
    T: Send,
    E: From<StoreError> + Send,
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send,
{
    fn attempt(&mut self, session: &mut dyn Session, flush: bool) -> Verdict {
        self.try_once(session, flush)
    }

    fn missed(&mut self, fault: &Fault) {
        self.tries += 1;
        self.last = Some(fault.error.clone());
    }

    fn has_lost(&self) -> bool {
        self.last.is_some()
    }

    fn is_cut_off(&self) -> bool {
        matches!(self.last, Some(StoreError::Unavailable(_)))
    }

    fn tries(&self) -> u32 {
        self.tries
    }

    fn answer(mut self: Box<Self>, end: Result<(), StoreError>) {
        let answer = match end {
            Ok(()) => self.take_result(),
            Err(error) => Err(error.into()),
        };
        self.send(answer);
    }

    fn give_up(mut self: Box<Self>) {
        let error = self.last.take().unwrap_or(StoreError::Busy);
        self.send(Err(error.into()));
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
