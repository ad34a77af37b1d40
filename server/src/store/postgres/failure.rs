//! What a failed statement means: repeat it, give up knowing that nothing was written, or not know.

use super::super::StoreError;

/// What to make of one failed statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The database undid it for the sake of another one (R103).
    Undone,
    /// The connection ended before the answer came.
    Cut,
    /// It was refused; nothing was written.
    Refused,
}

/// The fate of a statement that ended with `error`.
pub(super) fn fate(error: &sqlx::Error) -> Fate {
    if let sqlx::Error::Database(told) = error {
        return told.code().as_deref().map_or(Fate::Refused, by_sql_state);
    }
    // Whatever else the driver names never reached the database.
    let cut = matches!(
        error,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed
    );
    if cut { Fate::Cut } else { Fate::Refused }
}

/// By SQLSTATE: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn by_sql_state(code: &str) -> Fate {
    match code {
        // serialization_failure, deadlock_detected.
        "40001" | "40P01" => Fate::Undone,
        // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout, statement_completion_unknown.
        "57P01" | "57P02" | "57P03" | "57P05" | "40003" => Fate::Cut,
        code if code.starts_with("08") => Fate::Cut,
        _ => Fate::Refused,
    }
}

/// A failed read, or a write that surely wrote nothing.
pub(super) fn unavailable(error: &sqlx::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

/// A failed write: only a cut connection leaves its fate open.
pub(super) fn unwritten(error: &sqlx::Error) -> StoreError {
    match fate(error) {
        Fate::Cut => StoreError::CommitUnknown(error.to_string()),
        Fate::Undone | Fate::Refused => unavailable(error),
    }
}

pub(super) fn corrupt(error: &sqlx::Error) -> StoreError {
    StoreError::Corrupt(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r108_given_each_sql_state_then_only_one_that_ends_the_connection_leaves_a_write_in_doubt() {
        for (code, expected) in [
            ("40001", Fate::Undone),
            ("40P01", Fate::Undone),
            ("57P01", Fate::Cut),
            ("08006", Fate::Cut),
            ("40003", Fate::Cut),
            ("23505", Fate::Refused),
            ("55P03", Fate::Refused),
            ("53300", Fate::Refused),
        ] {
            assert_eq!(by_sql_state(code), expected, "{code}");
        }
        let cut = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert!(matches!(unwritten(&cut), StoreError::CommitUnknown(_)));
        assert!(matches!(unwritten(&sqlx::Error::PoolTimedOut), StoreError::Unavailable(_)));
    }
}
