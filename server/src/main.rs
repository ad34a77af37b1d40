//! The demo server: a shop behind the contract, on the loopback interface only.

mod arguments;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::{Alone, Arguments, Database, Parent, USAGE};
use postonce_core::contract::Policy;
use postonce_server::demo::{self, DemoDatabase, DemoOptions, Exposition};
use postonce_server::store::Reach;
use postonce_server::{PostgresOptions, Replicas, SqliteOptions};
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code for a command line that makes no sense.
const MISUSE: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let port = std::env::var("PORT").ok();
    let words = std::env::args().skip(1).collect();
    #[cfg(feature = "broken")]
    let words = match demo::broken::chosen_by(words) {
        Ok(words) => words,
        Err(why) => {
            complain(&format!("{why}\n")).await;
            return ExitCode::from(MISUSE);
        }
    };
    let arguments = match Arguments::read(Vec::into_iter(words), port.as_deref()) {
        Ok(arguments) => arguments,
        Err(why) => {
            if why.is_empty() {
                say(&format!("{USAGE}\n")).await;
                return ExitCode::SUCCESS;
            }
            complain(&format!("{why}\n\n{USAGE}\n")).await;
            return ExitCode::from(MISUSE);
        }
    };
    match serve(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("cannot serve: {error}\n")).await;
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: Arguments) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (database, temporary) = match arguments.database {
        Database::File(path) => (DemoDatabase::Sqlite(SqliteOptions::at(path)), None),
        Database::Postgres(url) => (DemoDatabase::Postgres(PostgresOptions::at(url)), None),
        Database::Temporary => {
            let folder = temporary_folder()?;
            let options = SqliteOptions { reach: Reach::Process, ..SqliteOptions::at(folder.join("demo.db")) };
            (DemoDatabase::Sqlite(options), Some(folder))
        }
    };
    let replicas = match (arguments.alone, &database) {
        (Alone::Declared, _) => Replicas::OneProcess,
        // A file was chosen by name; other machines cannot be given it by mistake.
        (Alone::Undeclared, DemoDatabase::Sqlite(_)) => Replicas::OneMachine,
        (Alone::Undeclared, DemoDatabase::Postgres(_)) => Replicas::Many,
    };
    let options = DemoOptions {
        port: arguments.port,
        database,
        replicas,
        www: arguments.www,
        origins: arguments.origins,
        controls: arguments.controls,
        policy: Policy { lease: arguments.lease, ..Policy::default() },
        exposition: Some(Exposition::install()?),
    };
    let served = until_told(options, arguments.parent).await;
    if let Some(folder) = temporary {
        remove(&folder);
    }
    served
}

async fn until_told(options: DemoOptions, parent: Parent) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let running = demo::start(options).await?;
    say(&format!("listening on http://{}\n", running.address())).await;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = parent_gone(parent) => {}
    }
    let store = std::sync::Arc::clone(running.store());
    drop(running);
    store.close().await;
    Ok(())
}

/// Ends when standard input does, or never. The read sits in a thread of its own: the runtime would wait for it at the
/// end, and it may never return.
async fn parent_gone(parent: Parent) {
    match parent {
        Parent::Ignored => std::future::pending().await,
        Parent::Followed => {
            let (gone, told) = tokio::sync::oneshot::channel::<()>();
            std::thread::spawn(move || {
                drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
                drop(gone);
            });
            // The sender never sends; its end is the message.
            drop(told.await);
        }
    }
}

/// A folder of our own in the system's temporary one.
fn temporary_folder() -> std::io::Result<PathBuf> {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let folder = std::env::temp_dir().join(format!("postonce-demo-{}-{nanos}", std::process::id()));
    std::fs::create_dir(&folder)?;
    Ok(folder)
}

fn remove(folder: &Path) {
    // Left over, it is one small folder in the temporary one; nothing else depends on it.
    drop(std::fs::remove_dir_all(folder));
}

/// One line to standard output, where whoever started us waits for it.
async fn say(text: &str) {
    let mut out = tokio::io::stdout();
    drop(out.write_all(text.as_bytes()).await);
    drop(out.flush().await);
}

/// What went wrong, to standard error.
async fn complain(text: &str) {
    let mut out = tokio::io::stderr();
    drop(out.write_all(text.as_bytes()).await);
    drop(out.flush().await);
}
