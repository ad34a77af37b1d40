//! Serves a router so that a handler can cut its own connection, and so that a client's leaving cancels the handler.
//!
//! Every answer closes its connection. Chromium and Firefox silently resend a POST when a *reused* connection dies
//! before any header came (R124), and then one planned fault would meet two requests; on a fresh connection they report
//! the failure instead. So a test that counts requests gets the ones the library sent.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// Cuts the connection its request came over: no further byte is sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cut(Arc<Notify>);

impl Cut {
    /// Closes the socket and never returns: whatever the handler would have answered is dropped with it.
    pub(crate) async fn now(&self) -> std::convert::Infallible {
        self.0.notify_one();
        std::future::pending().await
    }
}

/// A listening demo. It stops when this is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    _stop: watch::Sender<()>,
}

impl Listening {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Accepts connections in the background until the handle is dropped.
pub(crate) fn listen(listener: TcpListener, address: SocketAddr, router: Router) -> Listening {
    let (stop, mut stopped) = watch::channel(());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = stopped.changed() => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        tokio::spawn(connection(stream, router.clone(), stopped.clone()));
                    }
                    // Out of file descriptors, say; a pause lets some go.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
                },
            }
        }
    });
    Listening { address, _stop: stop }
}

async fn connection(stream: TcpStream, router: Router, mut stopped: watch::Receiver<()>) {
    let cut = Cut::default();
    let service = TowerToHyperService::new(router.layer(Extension(cut.clone())));
    let mut builder = http1::Builder::new();
    builder.keep_alive(false).half_close(false);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // An error here is a client that left or broke off.
        _ended = serving => {}
        () = cut.0.notified() => {}
        _ = stopped.changed() => {}
    }
}
