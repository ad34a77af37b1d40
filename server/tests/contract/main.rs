//! The contract over real sockets: what was asked, answered, recorded and done is read from the server's own log,
//! records and effect counter, never inferred from an answer.

#[cfg(test)]
mod faults;
#[cfg(test)]
mod readiness;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod shop;
#[cfg(test)]
mod status;
