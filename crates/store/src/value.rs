//! What goes into a statement and what comes out of it. The schema knows text, 64-bit integers and NULL, and so does
//! this file: there are no floats, booleans, blobs or native times to differ between the two engines. Reading a column
//! as something it does not hold is a [`StoreError::Corrupt`] that names the column, never a panic or a default.

use std::{fmt, str::FromStr, sync::Arc};

use model::Timestamp;

use crate::StoreError;

/// One parameter or one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A TEXT.
    Text(String),
    /// A BIGINT.
    Int(i64),
    /// A NULL of either type.
    Null,
}

impl Value {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Int(_) | Self::Null => None,
        }
    }

    /// The number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Text(_) | Self::Null => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}
impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}
impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(i64::from(number))
    }
}
impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}
impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Int(i64::from(number))
    }
}
impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Int(i64::from(flag))
    }
}
impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Int(at.as_micros())
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! ids_as_values {
    ($($id:ident),+ $(,)?) => { $(
        impl From<&model::$id> for Value {
            fn from(id: &model::$id) -> Self { Self::Text(id.as_str().to_owned()) }
        }
        impl From<model::$id> for Value {
            fn from(id: model::$id) -> Self { Self::Text(id.as_str().to_owned()) }
        }
    )+ };
}
ids_as_values!(
    TenantId,
    ProjectId,
    PrincipalId,
    MemberId,
    TokenId,
    SessionId,
    RegionId,
    PoolId,
    SkuId,
    EnrollmentTokenId,
    IncidentId,
    NodeId,
    SlotId,
    SshKeyId,
    AllocationId,
    WorkloadId,
    PreemptionId,
    ClaimId,
    TaskId,
    StreamId,
    DecisionId,
    ProofId,
    WipeOverrideId,
    IngressId,
    GovernedId,
    EventId,
    AuditId,
    OperationId,
    WebhookId,
    WebhookDeliveryId,
);

/// Keys for a statement that unpacks them with `json_each`: one document, so that its text is the same for any number.
pub(crate) fn keys<'a>(keys: impl Iterator<Item = &'a str>) -> Value {
    let document: serde_json::Map<_, _> = keys.map(|key| (key.to_owned(), true.into())).collect();
    Value::Text(serde_json::Value::Object(document).to_string())
}

/// The column names of one statement, shared by all its rows.
pub(crate) type Columns = Arc<[Box<str>]>;

/// One row of an answer; columns are read by position, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    columns: Columns,
    cells: Vec<Value>,
}

impl Row {
    pub(crate) fn new(columns: Columns, cells: Vec<Value>) -> Self {
        Self { columns, cells }
    }

    /// How many columns the row has.
    pub fn width(&self) -> usize {
        self.cells.len()
    }

    /// The cell as it came.
    pub fn value(&self, column: usize) -> Result<&Value, StoreError> {
        self.cells.get(column).ok_or_else(|| self.corrupt(column, "no such column in the answer"))
    }

    /// A TEXT that must be there.
    pub fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.opt_text(column)?.ok_or_else(|| self.corrupt(column, "NULL where text is expected"))
    }

    /// A TEXT or NULL.
    pub fn opt_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.value(column)? {
            Value::Text(text) => Ok(Some(text)),
            Value::Null => Ok(None),
            Value::Int(_) => Err(self.corrupt(column, "a number where text is expected")),
        }
    }

    /// A BIGINT that must be there.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| self.corrupt(column, "NULL where a number is expected"))
    }

    /// A BIGINT or NULL.
    pub fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.value(column)? {
            Value::Int(number) => Ok(Some(*number)),
            Value::Null => Ok(None),
            Value::Text(_) => Err(self.corrupt(column, "text where a number is expected")),
        }
    }

    /// A TEXT read as an id, a word of an enum, or anything else that parses.
    pub fn parse<T>(&self, column: usize) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        self.text(column)?.parse().map_err(|error| self.corrupt(column, &format!("{error}")))
    }

    /// Like [`Row::parse`], with NULL as `None`.
    pub fn opt_parse<T>(&self, column: usize) -> Result<Option<T>, StoreError>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        match self.opt_text(column)? {
            Some(text) => text.parse().map(Some).map_err(|error| self.corrupt(column, &format!("{error}"))),
            None => Ok(None),
        }
    }

    /// A BIGINT of microseconds as a moment.
    pub fn timestamp(&self, column: usize) -> Result<Timestamp, StoreError> {
        self.int(column).map(Timestamp::from_micros)
    }

    /// A BIGINT of microseconds, or NULL.
    pub fn opt_timestamp(&self, column: usize) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.opt_int(column)?.map(Timestamp::from_micros))
    }

    /// A 0/1 flag; any other number is corrupt.
    pub fn flag(&self, column: usize) -> Result<bool, StoreError> {
        match self.int(column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.corrupt(column, "neither 0 nor 1")),
        }
    }

    /// An error that says this column cannot be read, for callers with rules of their own (JSON, ranges).
    pub fn corrupt(&self, column: usize, why: &str) -> StoreError {
        let name = self.columns.get(column).map_or_else(|| format!("#{column}"), |name| name.to_string());
        StoreError::Corrupt { column: name, why: why.to_owned() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(cells: Vec<Value>) -> Row {
        Row::new(Arc::from(vec!["id".into(), "enabled".into()]), cells)
    }

    #[test]
    fn a_wrong_cell_names_its_column() {
        let bad = row(vec![Value::Int(3), Value::Int(2)]);
        for error in [bad.text(0).unwrap_err(), bad.parse::<model::TenantId>(0).unwrap_err()] {
            assert!(matches!(&error, StoreError::Corrupt { column, .. } if column == "id"), "{error:?}");
        }
        assert!(matches!(bad.flag(1), Err(StoreError::Corrupt { column, .. }) if column == "enabled"));
        assert!(matches!(bad.int(2), Err(StoreError::Corrupt { column, .. }) if column == "#2"));
    }

    #[test]
    fn null_is_none_or_an_error_but_never_a_default() {
        let empty = row(vec![Value::Null, Value::from(None::<i64>)]);
        assert_eq!(empty.opt_text(0), Ok(None));
        assert_eq!(empty.opt_timestamp(1), Ok(None));
        assert!(empty.text(0).is_err() && empty.int(1).is_err() && empty.flag(1).is_err());
    }
}
