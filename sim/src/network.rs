//! Requests on their way: each has one fate out and one back, drawn when it leaves.

use postonce_core::machine::effect::Headers;
use postonce_core::machine::event::{Event, Ticket};
use postonce_core::time::{Millis, Wall};
use postonce_core::verdict::Answer;

use crate::answers;
use crate::catalog::EffectKind;
use crate::facts::Time;
use crate::faults::Fault;
use crate::server::{Handled, Message, Running};
use crate::world::{Due, World};

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An attempt.
    Command {
        /// Its number in the round.
        attempt: u8,
    },
    /// A status check.
    Status(Ticket),
    /// A fence.
    Fence(Ticket),
}

/// One request of one document.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) document: usize,
    pub(crate) purpose: Purpose,
    pub(crate) message: Message,
    /// Settled, or lost with its document.
    pub(crate) over: bool,
    /// Given up; the browser has yet to say so.
    pub(crate) aborted: bool,
}

/// A `Date` in a header has whole seconds; the deadline is rounded up, first-sent down.
const SECOND: u64 = 1_000;

impl World<'_> {
    pub(crate) fn send(&mut self, document: usize, headers: &Headers, attempt: u8) {
        if self.strikes(Fault::NotCalled) {
            if let Some(it) = self.documents.get(document) {
                self.facts.lineages.entry(it.lineage).or_default().uncalled = true;
            }
            return self.after(0, Due::Tell { document, event: Event::NotCalled { attempt } });
        }
        let Some(it) = self.documents.get(document) else { return };
        let payload = it.kept;
        self.check_send(document, headers, attempt, payload);
        if let Some(request) = self.request(document, Purpose::Command { attempt }, headers) {
            if let Some(it) = self.requests.get_mut(request) {
                it.message.payload = payload;
            }
            self.leave(request);
        }
    }

    pub(crate) fn send_inquiry(&mut self, document: usize, ticket: Ticket, headers: &Headers, fence: bool) {
        let purpose = if fence { Purpose::Fence(ticket) } else { Purpose::Status(ticket) };
        if let Some(request) = self.request(document, purpose, headers) {
            self.check_inquiry(request);
            if fence {
                self.facts.fences.insert(headers.key.as_str().into());
            }
            self.leave(request);
        }
    }

    fn request(&mut self, document: usize, purpose: Purpose, headers: &Headers) -> Option<usize> {
        let it = self.documents.get_mut(document)?;
        let lineage = it.lineage;
        let own = headers.first_sent.is_some();
        let message = Message {
            operation: lineage.operation,
            key: headers.key.clone(),
            first_sent: headers.first_sent.map(|at| Wall(at.0 / SECOND * SECOND)),
            deadline: headers.deadline.map(|at| Wall(at.0.div_ceil(SECOND) * SECOND)),
            subject: own.then(|| lineage.subject.into()),
            signed_in: self.devices.get(lineage.device).and_then(|device| device.cookie),
            object: lineage.object,
            payload: None,
        };
        let request = self.requests.len();
        match purpose {
            Purpose::Command { .. } => it.out = Some(request),
            Purpose::Status(_) | Purpose::Fence(_) => it.asking = Some(request),
        }
        self.requests.push(Request { document, purpose, message, over: false, aborted: false });
        Some(request)
    }

    fn leave(&mut self, request: usize) {
        let device = self.requests.get(request).and_then(|it| self.device_of(it.document));
        let offline = device.is_some_and(|device| device.offline);
        let latency = self.latency();
        if offline || self.strikes(Fault::LostBefore) {
            return self.lose(request, latency);
        }
        let gateway = self.strikes(Fault::Gateway);
        if gateway {
            let status = self.choices.pick(&[502, 503, 504]).unwrap_or(502);
            let mut answer = answers::page(status, self.server.wall(self.t));
            if status == 503 {
                answer.retry_after =
                    self.choices.pick(&[None, Some("1"), Some("30"), Some("-3")]).flatten().map(String::from);
            }
            self.after(latency, Due::Answer { request, answer: Box::new(answer) });
            if self.choices.odd(500) {
                return;
            }
        }
        self.after(latency, Due::Arrive { request, by_clone: false });
        if self.strikes(Fault::Duplicated) {
            let later = latency + self.choices.between(0, 20_000);
            self.after(later, Due::Arrive { request, by_clone: true });
        }
    }

    fn latency(&mut self) -> Time {
        if self.strikes(Fault::Delayed) { self.choices.between(1_000, 14_000) } else { self.choices.between(5, 200) }
    }

    /// Nobody tells the browser, or the connection breaks.
    fn lose(&mut self, request: usize, after: Time) {
        if self.choices.odd(500) {
            return;
        }
        self.after(after, Due::Fail { request });
    }

    pub(crate) fn arrive(&mut self, request: usize, by_clone: bool) {
        let t = self.t;
        let Some(it) = self.requests.get(request) else { return };
        let (purpose, message) = (it.purpose, it.message.clone());
        self.note(|| format!("request {request} arrives{}", if by_clone { " again" } else { "" }));
        if !self.server.is_up(t) {
            if !by_clone {
                self.after(20, Due::Fail { request });
            }
            return;
        }
        if matches!(purpose, Purpose::Command { .. })
            && !by_clone
            && let Some(answer) = self.turned_away()
        {
            return self.after(20, Due::Answer { request, answer: Box::new(answer) });
        }
        let Some(entry) = self.catalog.get(message.operation) else { return };
        let answer = match purpose {
            Purpose::Status(_) => self.server.status(t, &message, entry, &mut self.facts),
            Purpose::Fence(_) => self.server.fence(t, &message, entry, &mut self.facts),
            Purpose::Command { .. } => {
                let token_refused = self.strikes(Fault::TokenRefused);
                match self.server.command(t, &message, entry, by_clone, token_refused, &mut self.facts) {
                    Handled::Answered(answer) => answer,
                    Handled::Started(mut running) => {
                        if !running.rerun {
                            self.check_started(&message);
                        }
                        running.stalled = self.strikes(Fault::Stalled);
                        running.distorts = self.strikes(Fault::Distorted);
                        let delay = self.choices.between(0, 30);
                        let stall = running.stalled && self.choices.odd(300);
                        let delay = if stall { delay + self.choices.between(25_000, 50_000) } else { delay };
                        return self.after(delay, Due::Start { running: Box::new(running), request, by_clone });
                    }
                }
            }
        };
        self.check_effects();
        self.send_back(request, answer, by_clone);
    }

    /// Something in front of the server answers in its place; nothing ran.
    fn turned_away(&mut self) -> Option<Answer> {
        let now = self.server.wall(self.t);
        if self.strikes(Fault::RateLimited) {
            let mut answer = answers::plain(429, now);
            answer.retry_after = self.choices.pick(&[None, Some("1"), Some("60")]).flatten().map(String::from);
            return Some(answer);
        }
        if self.strikes(Fault::PlainRefusal) {
            let status = self.choices.pick(&[404, 400, 413, 403]).unwrap_or(404);
            return Some(answers::plain(status, now));
        }
        None
    }

    pub(crate) fn start_handler(&mut self, running: Running, request: usize, by_clone: bool) {
        let works = if self.strikes(Fault::SlowEffect) {
            self.choices.between(1_000, 20_000)
        } else {
            self.choices.between(1, 80)
        };
        let works = if running.stalled { works + self.choices.between(20_000, 60_000) } else { works };
        if !self.server.start(self.t, &running, Millis(works)) {
            return;
        }
        let elsewhere = self.catalog.get(running.operation()).is_some_and(|entry| entry.effect != EffectKind::Local);
        if elsewhere {
            let at = self.choices.between(0, works);
            self.after(at, Due::Elsewhere { running: Box::new(running.clone()) });
        }
        self.after(works, Due::Finish { running: Box::new(running), request, by_clone });
    }

    pub(crate) fn finish_handler(&mut self, running: &Running, request: usize, by_clone: bool) {
        let Some(entry) = self.catalog.get(running.operation()) else { return };
        let answer = self.server.finish(self.t, running, entry, &mut self.facts);
        self.check_effects();
        match answer {
            Some(answer) => self.send_back(request, answer, by_clone),
            None if !by_clone => self.after(30, Due::Fail { request }),
            None => {}
        }
    }

    /// The answer on its way back; a clone's answer reaches nobody.
    fn send_back(&mut self, request: usize, answer: Answer, by_clone: bool) {
        if by_clone {
            return;
        }
        let latency = self.latency();
        if self.strikes(Fault::LostAfter) {
            return self.lose(request, latency);
        }
        let now = self.server.wall(self.t);
        let answer = if self.strikes(Fault::CutBody) {
            answers::cut(answer)
        } else if self.strikes(Fault::Redirected) {
            answers::redirect()
        } else if self.strikes(Fault::HtmlPage) {
            answers::page(200, now)
        } else if self.strikes(Fault::Odd4xx5xx) {
            answers::plain(self.choices.pick(&[500, 408, 425]).unwrap_or(500), now)
        } else {
            answer
        };
        self.after(latency, Due::Answer { request, answer: Box::new(answer) });
    }

    pub(crate) fn answered(&mut self, request: usize, answer: Answer) {
        let Some(it) = self.requests.get_mut(request) else { return };
        if std::mem::replace(&mut it.over, true) {
            return;
        }
        let (document, purpose, key) = (it.document, it.purpose, it.message.key.as_str().to_owned());
        if matches!(purpose, Purpose::Command { .. }) && !it.aborted {
            self.hear(document, &key, &answer);
        }
        let event = match purpose {
            Purpose::Command { attempt } => Event::Answered { attempt, answer },
            Purpose::Status(ticket) | Purpose::Fence(ticket) => Event::Inquired(ticket, answer),
        };
        let progress = matches!(&event, Event::Answered { answer, .. } if answers::is_in_progress(answer));
        let before = self.documents.get(document).map(|it| it.machine.state());
        self.feed(document, event);
        if progress {
            self.check_progress(document, before.as_ref());
        }
        self.keep_clock(document);
    }

    /// What was learnt of the server's clock is kept for later documents (R117).
    fn keep_clock(&mut self, document: usize) {
        let Some(it) = self.documents.get(document) else { return };
        let offset = it.machine.clock_offset();
        if let Some(device) = self.devices.get_mut(it.lineage.device) {
            device.storage.clock_offset = Some(offset);
        }
    }

    pub(crate) fn failed(&mut self, request: usize) {
        let Some(it) = self.requests.get_mut(request) else { return };
        if std::mem::replace(&mut it.over, true) {
            return;
        }
        let (document, purpose) = (it.document, it.purpose);
        let event = match purpose {
            Purpose::Command { attempt } => Event::TransportFailed { attempt },
            Purpose::Status(ticket) | Purpose::Fence(ticket) => Event::InquiryFailed(ticket),
        };
        self.feed(document, event);
    }

    pub(crate) fn abort(&mut self, request: usize) {
        let Some(it) = self.requests.get_mut(request) else { return };
        if !it.over && !std::mem::replace(&mut it.aborted, true) {
            self.note(|| format!("request {request} is aborted"));
            self.after(0, Due::Fail { request });
        }
    }
}
