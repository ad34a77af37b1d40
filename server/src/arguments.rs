//! The command line, read by hand: a handful of flags needs no parser.

use std::path::PathBuf;

use postonce_server::demo::Controls;

/// The port when neither `--port` nor `PORT` says one.
const PORT_DEFAULT: u16 = 4173;

/// How to call the program.
pub(crate) const USAGE: &str = "\
postonce-server [--demo] [--port N] [--db FILE] [--www DIR] [--allow-origin ORIGIN]… [--exit-with-parent]

  --demo              fault plan, request log and counters under /_demo
  --port N            port on 127.0.0.1; 0 for any free one (default: PORT, or 4173)
  --db FILE           database file (default: a temporary one, removed at the end)
  --www DIR           folder of static files
  --allow-origin O    another origin whose pages may call; may be repeated
  --exit-with-parent  end when standard input closes";

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    File(PathBuf),
    Temporary,
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
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--demo" => arguments.controls = Controls::On,
                "--port" => arguments.port = port(&value()?)?,
                "--db" => arguments.database = Database::File(PathBuf::from(value()?)),
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
    fn given_a_word_that_makes_no_sense_then_it_is_named_and_nothing_starts() {
        for line in ["--prot 1", "--port", "--port x", "--port 70000", "extra"] {
            assert!(read(line).is_err_and(|why| !why.is_empty()), "{line}");
        }
    }
}
