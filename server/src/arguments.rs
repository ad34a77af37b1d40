//! The command line, read by hand: a handful of flags needs no parser.

use std::path::PathBuf;

use postonce_core::contract::Policy;
use postonce_core::time::Millis;
use postonce_server::demo::Controls;

/// The port when neither `--port` nor `PORT` says one.
const PORT_DEFAULT: u16 = 4173;

/// How to call the program.
pub(crate) const USAGE: &str = "\
postonce-server [--demo] [--single-process] [--port N] [--database URL|FILE] [--www DIR] [--allow-origin ORIGIN]…
                [--lease MS] [--exit-with-parent]

  --demo              fault plan, request log and counters under /_demo; implies --single-process
  --single-process    no other process serves this shop, so that a temporary database will do
  --port N            port on 127.0.0.1; 0 for any free one (default: PORT, or 4173)
  --database WHERE    postgres://… or a file; --db is the same (default: a temporary file, removed at the end)
  --lease MS          how long a claim lives unless renewed (default: 30000)
  --www DIR           folder of static files
  --allow-origin O    another origin whose pages may call; may be repeated
  --exit-with-parent  end when standard input closes";

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    File(PathBuf),
    Postgres(String),
    Temporary,
}

/// Whether other processes serve the same shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alone {
    /// Declared: none does.
    Declared,
    /// Nothing was said.
    Undeclared,
}

/// What ends the server beside a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// Nothing.
    Ignored,
    /// The end of standard input.
    Followed,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) controls: Controls,
    pub(crate) port: u16,
    pub(crate) database: Database,
    pub(crate) www: Option<PathBuf>,
    pub(crate) origins: Vec<String>,
    pub(crate) parent: Parent,
    pub(crate) alone: Alone,
    pub(crate) lease: Millis,
}

impl Database {
    fn named(text: String) -> Self {
        let postgres = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if postgres { Self::Postgres(text) } else { Self::File(PathBuf::from(text)) }
    }
}

fn milliseconds(text: &str) -> Result<Millis, String> {
    text.parse().ok().filter(|ms| *ms > 0).map(Millis).ok_or_else(|| format!("{text:?} is no time in milliseconds"))
}

impl Arguments {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// A sentence about the first word that makes no sense; empty for `--help`.
    pub(crate) fn read(mut words: impl Iterator<Item = String>, port_variable: Option<&str>) -> Result<Self, String> {
        let port = |text: &str| text.parse::<u16>().map_err(|_| format!("{text:?} is no port"));
        let mut arguments = Self {
            controls: Controls::Off,
            port: port_variable.map(port).transpose()?.unwrap_or(PORT_DEFAULT),
            database: Database::Temporary,
            www: None,
            origins: Vec::new(),
            parent: Parent::Ignored,
            alone: Alone::Undeclared,
            lease: Policy::LEASE,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--demo" => (arguments.controls, arguments.alone) = (Controls::On, Alone::Declared),
                "--single-process" => arguments.alone = Alone::Declared,
                "--lease" => arguments.lease = milliseconds(&value()?)?,
                "--port" => arguments.port = port(&value()?)?,
                "--database" | "--db" => arguments.database = Database::named(value()?),
                "--www" => arguments.www = Some(PathBuf::from(value()?)),
                "--allow-origin" => arguments.origins.push(value()?),
                "--exit-with-parent" => arguments.parent = Parent::Followed,
                "--help" | "-h" => return Err(String::new()),
                other => return Err(format!("there is no option {other}")),
            }
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(String::from), None)
    }

    #[test]
    fn given_no_words_then_the_defaults_leave_every_demo_control_off() {
        let arguments = read("").unwrap();
        assert_eq!((arguments.controls, arguments.port), (Controls::Off, PORT_DEFAULT));
        assert_eq!((arguments.database, arguments.parent), (Database::Temporary, Parent::Ignored));
    }

    #[test]
    fn given_an_address_then_it_is_postgresql_and_anything_else_is_a_file() {
        let database = |line: &str| read(line).unwrap().database;
        assert_eq!(database("--database postgres://h/d"), Database::Postgres(String::from("postgres://h/d")));
        assert_eq!(database("--db shop.db"), Database::File(PathBuf::from("shop.db")));
        assert_eq!(read("--db shop.db").unwrap().alone, Alone::Undeclared);
    }

    #[test]
    fn given_a_word_that_makes_no_sense_then_it_is_named_and_nothing_starts() {
        for line in ["--prot 1", "--port", "--port x", "--port 70000", "extra", "--lease 0", "--lease x"] {
            assert!(read(line).is_err_and(|why| !why.is_empty()), "{line}");
        }
    }
}
