//! A schema per shop, in the server that `POSTONCE_POSTGRES` names. `node scripts/postgres.mjs -- COMMAND` starts one for
//! the length of a command.

use postonce_server::PostgresOptions;
use postonce_server::demo::DemoDatabase;
use sqlx::{Connection, PgConnection};

const VARIABLE: &str = "POSTONCE_POSTGRES";

/// One shop's database; it goes with the throw-away server.
pub(crate) struct Database {
    schema: String,
}

impl Database {
    /// An empty one; `name` is unlike every other's.
    pub(crate) async fn new(name: &str) -> Self {
        let schema = name.replace('-', "_");
        let database = Self { schema };
        database.run(&format!("CREATE SCHEMA {}", database.schema)).await;
        database
    }

    pub(crate) fn options(&self) -> DemoDatabase {
        DemoDatabase::Postgres(self.postgres(""))
    }

    /// The same database with further settings of a session, as `-c name=value`.
    pub(crate) fn postgres(&self, settings: &str) -> PostgresOptions {
        let settings = format!("-c search_path={0} -c application_name={0} {settings}", self.schema)
            .replace(' ', "%20")
            .replace('=', "%3D");
        PostgresOptions { connections: 6, ..PostgresOptions::at(format!("{}?options={settings}", server())) }
    }

    /// Ends every session of this database, as a failing network or an operator would, and says how many there were.
    pub(crate) async fn cut_connections(&self) -> i64 {
        let mut connection = PgConnection::connect(&server()).await.unwrap();
        sqlx::query_scalar("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1")
            .bind(&self.schema)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    }

    /// Runs statements over a connection of its own, with this schema in front.
    pub(crate) async fn run(&self, sql: &str) {
        let mut connection = PgConnection::connect(&server()).await.unwrap();
        sqlx::raw_sql(&format!("SET search_path = {}; {sql}", self.schema)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

/// The server's address. A suite that cannot reach it fails: half a conformance suite proves nothing.
fn server() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{VARIABLE} is not set: run `node scripts/test.mjs native`, or `node scripts/postgres.mjs -- cargo test`"
        )
    })
}
