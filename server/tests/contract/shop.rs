//! A demo shop on a port of its own, and a client that sees every byte: a broken answer must look broken.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postonce_core::contract::Policy;
use postonce_server::Replicas;
use postonce_server::demo::{self, Controls, DemoDatabase, DemoOptions, Running};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::database::Database;

/// No exchange of these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The subject that the shop assumes.
pub(crate) const SUBJECT: &str = "demo-user";

/// A shop and the database it lives in.
pub(crate) struct Shop {
    pub(crate) running: Running,
    pub(crate) database: Database,
}

/// One request, byte by byte.
#[derive(Clone)]
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// How an exchange ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// With a complete answer.
    Told(Told),
    /// With headers, and fewer bytes of body than they promised.
    Short(Told),
    /// Without an answer.
    Silence,
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A date so many seconds from now, as the contract writes it.
pub(crate) fn date_in(seconds: i64) -> String {
    let now = i64::try_from(now_ms() / 1_000).unwrap();
    format!("@{}", now + seconds)
}

/// A sound key that differs for every `n`.
pub(crate) fn key(n: u32) -> String {
    format!("{n:032x}")
}

/// The JSON of an order.
pub(crate) fn order(sku: &str, quantity: &str) -> String {
    serde_json::json!({ "sku": sku, "quantity": quantity }).to_string()
}

/// A name that no other shop has, of this run or any other.
pub(crate) fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("postonce-test-{}-{}-{n}", std::process::id(), now_ms())
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::with(Policy::default()).await
    }

    pub(crate) async fn with(policy: Policy) -> Self {
        Self::at(Database::new(&unique_name()).await, policy).await
    }

    async fn at(database: Database, policy: Policy) -> Self {
        let options = database.options();
        Self::on(database, options, policy).await
    }

    /// On a database with options of its own.
    pub(crate) async fn on(database: Database, options: DemoDatabase, policy: Policy) -> Self {
        Self { running: start(options, policy).await, database }
    }

    /// Closes the shop and opens it again on the same database: memory is gone, what was committed is not.
    pub(crate) async fn reopened(self) -> Self {
        let Self { running, database } = self;
        running.store().close().await;
        drop(running);
        Self::at(database, Policy::default()).await
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.running.address()).await.unwrap()
    }

    /// Sends one request over a fresh connection and reads until the server closes it.
    pub(crate) async fn send(&self, ask: &Ask) -> Ended {
        Self::send_to(self.running.address(), ask).await
    }

    /// The same to any server.
    pub(crate) async fn send_to(address: SocketAddr, ask: &Ask) -> Ended {
        tokio::time::timeout(PATIENCE, exchange(address, ask)).await.expect("the exchange takes too long")
    }

    /// The same, where anything but a complete answer is a failure of the test.
    pub(crate) async fn told(&self, ask: &Ask) -> Told {
        match self.send(ask).await {
            Ended::Told(told) => told,
            other @ (Ended::Short(_) | Ended::Silence) => panic!("no complete answer: {other:?}"),
        }
    }

    pub(crate) async fn faults(&self, list: Value) {
        let told = self.told(&Ask::new("PUT", "/_demo/faults").body(list.to_string())).await;
        assert_eq!(told.status, 204, "{}", told.text());
    }

    pub(crate) async fn log(&self) -> Vec<Value> {
        self.read("/_demo/log").await.as_array().unwrap().clone()
    }

    pub(crate) async fn records(&self) -> Vec<Value> {
        self.read("/_demo/records").await.as_array().unwrap().clone()
    }

    /// How often an effect really happened.
    pub(crate) async fn effects(&self) -> u64 {
        self.read("/_demo/effects").await["count"].as_u64().unwrap()
    }

    pub(crate) async fn read(&self, path: &str) -> Value {
        self.told(&Ask::new("GET", path)).await.json()
    }

    /// Waits until `happened` holds of the first record, and fails when it does not within some seconds.
    pub(crate) async fn until_record(&self, happened: impl Fn(&Value) -> bool) {
        for _ in 0..500 {
            if self.records().await.first().is_some_and(&happened) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never happened: {:?}", self.records().await);
    }
}

/// Starts the demo on a database.
pub(crate) async fn start(database: DemoDatabase, policy: Policy) -> Running {
    let options = DemoOptions {
        port: 0,
        database,
        replicas: Replicas::OneMachine,
        www: None,
        origins: vec![String::from("https://shop.example")],
        controls: Controls::On,
        exposition: None,
        policy,
    };
    demo::start(options).await.unwrap()
}

impl Ask {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self { method, path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// A command as the library sends it: reserved just now, with a round of eight seconds.
    pub(crate) fn command(path: &str, key: &str, body: &str) -> Self {
        Self::new("POST", path)
            .header("Content-Type", "application/json")
            .keyed(key)
            .header("Idempotency-Deadline", &date_in(8))
            .body(body)
    }

    /// An order under `key`.
    pub(crate) fn order(key: &str, body: &str) -> Self {
        Self::command("/orders", key, body)
    }

    pub(crate) fn status(key: &str) -> Self {
        Self::new("GET", "/orders/status").keyed(key)
    }

    pub(crate) fn fence(key: &str) -> Self {
        Self::new("DELETE", "/orders/status").keyed(key)
    }

    fn keyed(self, key: &str) -> Self {
        self.header("Idempotency-Key", &format!("\"{key}\""))
            .header("Idempotency-First-Sent", &date_in(0))
            .header("Idempotency-Subject", &format!("\"{SUBJECT}\""))
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        self.raw_header(name, value.as_bytes())
    }

    pub(crate) fn raw_header(mut self, name: &str, value: &[u8]) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same request without a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    /// The same request with another value of a header.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\nHost: shop\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: ").as_bytes());
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The name of the contract's problem, if this is one.
    pub(crate) fn problem(&self) -> Option<String> {
        let kind = self.json()["type"].as_str()?.strip_prefix("urn:postonce:problem:")?.to_owned();
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        Some(kind)
    }
}

async fn exchange(address: SocketAddr, ask: &Ask) -> Ended {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may answer and close before it has read everything.
    drop(stream.write_all(&ask.bytes()).await);
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes).await);
    read_answer(&bytes)
}

fn read_answer(bytes: &[u8]) -> Ended {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ended::Silence };
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let told = Told { status, headers, body: bytes[end + 4..].to_vec() };
    let promised = told.header("content-length").map_or(0, |length| length.parse::<usize>().unwrap());
    if told.body.len() < promised { Ended::Short(told) } else { Ended::Told(told) }
}
