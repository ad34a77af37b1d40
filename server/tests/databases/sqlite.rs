//! A file per shop.

use std::path::{Path, PathBuf};

use postonce_server::SqliteOptions;
use postonce_server::demo::DemoDatabase;

/// One shop's database, removed with it.
pub(crate) struct Database(PathBuf);

impl Database {
    /// An empty one; `name` is unlike every other's.
    pub(crate) async fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn options(&self) -> DemoDatabase {
        DemoDatabase::Sqlite(SqliteOptions::at(self.file()))
    }

    fn file(&self) -> PathBuf {
        Path::join(&self.0, "shop.db")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
