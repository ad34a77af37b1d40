//! The contract as a layer around ordinary handlers: what ran is counted in the handler and in its table, never inferred
//! from an answer.

#[cfg(test)]
#[path = "../examples/shop.rs"]
#[allow(dead_code, reason = "its `main` is for people; the service is tested here")]
mod shop;
#[cfg(test)]
mod wrapped;
