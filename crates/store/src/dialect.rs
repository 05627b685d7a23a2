//! The only place where the two engines' SQL differs. Everything else is one text for both: `$1..$n` placeholders, TEXT
//! and BIGINT, `ON CONFLICT`, `RETURNING`. What is here: how a transaction begins, row locks (PostgreSQL only, since
//! SQLite has one writer at a time), the collation that makes ids sort alike, and bulk statements (see `bulk`).

/// Which engine is talking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Embedded SQLite.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

impl Dialect {
    /// One of two constant texts. Prefer [`for_update!`](crate::for_update) and its siblings, which write the second.
    pub const fn pick(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }

    /// Begins a transaction that will write. SQLite takes the write lock now: a transaction that reads first and
    /// upgrades later fails at once when somebody committed in between.
    pub(crate) const fn begin_write(self) -> &'static str {
        self.pick("BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    }

    /// Begins a write transaction shared by several closures. On PostgreSQL it holds the row locks of all of them, so it
    /// waits only briefly for others': two such transactions that want each other's rows part long before the server
    /// looks for a deadlock.
    pub(crate) const fn begin_shared(self) -> &'static str {
        self.pick("BEGIN IMMEDIATE", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '50ms'")
    }

    /// Begins a transaction that reads one consistent snapshot.
    pub(crate) const fn begin_read(self) -> &'static str {
        self.pick("BEGIN DEFERRED", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// A schema statement in this engine's words: on PostgreSQL every TEXT column sorts by bytes, as on SQLite.
    pub(crate) fn ddl(self, statement: &str) -> String {
        match self {
            Self::Sqlite => statement.to_owned(),
            Self::Postgres => crate::sql_text::replace_word(statement, "TEXT", "TEXT COLLATE \"C\""),
        }
    }
}

/// A SELECT whose rows are locked against change until the end of the transaction (PostgreSQL; on SQLite the write
/// transaction itself is the lock). `for_update!(tx.dialect(), "SELECT …")`.
#[macro_export]
macro_rules! for_update {
    ($dialect:expr, $sql:literal) => {
        $crate::Dialect::pick($dialect, $sql, concat!($sql, " FOR UPDATE"))
    };
}

/// Like [`for_update!`], but leaves out rows that somebody else has locked.
#[macro_export]
macro_rules! for_update_skip_locked {
    ($dialect:expr, $sql:literal) => {
        $crate::Dialect::pick($dialect, $sql, concat!($sql, " FOR UPDATE SKIP LOCKED"))
    };
}

/// A SELECT whose rows may be read and locked by others in the same way, but not changed.
#[macro_export]
macro_rules! for_share {
    ($dialect:expr, $sql:literal) => {
        $crate::Dialect::pick($dialect, $sql, concat!($sql, " FOR SHARE"))
    };
}

/// A SELECT whose rows may change, except for a change made under [`for_update!`], a delete, or a change of their key.
#[macro_export]
macro_rules! for_key_share {
    ($dialect:expr, $sql:literal) => {
        $crate::Dialect::pick($dialect, $sql, concat!($sql, " FOR KEY SHARE"))
    };
}
