//! Everything the store can answer instead of a result. The variants are what callers act on: a broken rule of the
//! schema, a lost race, a store that cannot be reached, and the one that is neither success nor failure,
//! [`StoreError::OutcomeUnknown`].

/// Why the store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A UNIQUE rule or primary key. `constraint` is the index on PostgreSQL; on SQLite the index where the engine
    /// says it, else `table.column, …`.
    #[error("unique rule violated: {constraint}")]
    UniqueViolation {
        /// Which rule.
        constraint: String,
    },
    /// A reference to a row that is not there, or to one that is still referred to.
    #[error("foreign key violated")]
    ForeignKeyViolation,
    /// A CHECK or NOT NULL rule.
    #[error("check violated: {constraint}")]
    CheckViolation {
        /// Which rule, as the engine names it.
        constraint: String,
    },
    /// A guarded change found its row changed or gone.
    #[error("the row changed since it was read")]
    StaleVersion,
    /// A row that must exist does not.
    #[error("no such row")]
    NotFound,
    /// A stored value that this program cannot read.
    #[error("corrupt row: column {column}: {why}")]
    Corrupt {
        /// The column as the statement names it.
        column: String,
        /// What is wrong with it.
        why: String,
    },
    /// COMMIT did not answer with success: the change may or may not be durable. Never to be reported as a failure.
    #[error("the outcome of the commit is unknown")]
    OutcomeUnknown,
    /// The database cannot be reached or used now; nothing was committed.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// Too much contention or a full queue; nothing was committed and the same call may be made again.
    #[error("store busy")]
    Busy,
    /// Somebody else leads; nothing was committed.
    #[error("this replica no longer leads")]
    LostLeadership,
    /// An earlier COMMIT ended unknown; this process must stop and start again.
    #[error("the store is poisoned by an unknown commit; restart the process")]
    Poisoned,
    /// A closure given to the store panicked; its changes were rolled back.
    #[error("a transaction panicked: {0}")]
    Panicked(String),
    /// The simulator stopped the process at a commit.
    #[error("simulated crash at a commit")]
    Crashed,
    /// A text with a NUL character, which PostgreSQL cannot hold.
    #[error("text contains a NUL character")]
    NulCharacter,
    /// The store cannot be opened as asked: a wrong address, a file in use, a schema this program does not know.
    #[error("the store cannot be opened: {0}")]
    Refused(String),
    /// Anything else, in the engine's words.
    #[error("store error: {0}")]
    Other(String),
}
