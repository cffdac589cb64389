//! A hub's rounds: how each is planned, sent, and judged by the rims' answers.

use groupflow_base::Nanos;

use super::{Hub, HubConfig, HubEvent, CATCH_UP};
use crate::machine::group::RimGroup;
use crate::machine::job::TransferOutcome;
use crate::machine::message::{Body, Method, Repair, Round};
use crate::machine::states::HubState;

impl Hub {
    /// Plans a round and announces it.
    pub(super) fn open_round(&mut self, now: Nanos) {
        if self.job.as_ref().is_some_and(|job| job.describe) && self.state == HubState::Sizing {
            self.go(HubState::Describing);
            self.describe();
        }
        let Some(job) = &mut self.job else { return };
        job.plan(self.config.per_round);
        job.round += 1;
        let first = job.planned.front().map_or(0, |bytes| bytes.start);
        let (packet, count) = (job.sizes.size, job.planned.len() as u16);
        job.numbered = 0;
        let round = Round { round: job.round, packet, count, first };
        self.group.await_all();
        if self.config.method == Method::Scheduled {
            self.go(HubState::Announcing);
            self.send(Body::Round(round));
        }
        self.go(HubState::Sending);
        self.deadline = now;
    }

    /// Sends the round's next packet, or ends the round.
    pub(super) fn send_packet(&mut self, now: Nanos) {
        let Some(job) = &mut self.job else { return };
        match job.next_packet(self.config.repair) {
            Ok(Some(data)) => {
                self.deadline = (self.deadline + self.config.interval).max(now.saturating_sub(CATCH_UP));
                self.send(Body::Data(data));
            }
            Ok(None) => {
                self.deadline = now + self.config.result_wait + job.window;
                self.go(HubState::Gathering);
                self.settle(now);
            }
            Err(problem) => self.end(now, TransferOutcome::Unreadable(problem)),
        }
    }

    /// Decides how to go on, when all rims have answered or the time is over.
    pub(super) fn decide(&mut self, now: Nanos) {
        let HubConfig { method, patience, .. } = self.config;
        let asking = self.state == HubState::Asking;
        let Some(job) = &mut self.job else { return };
        let all_answer = job.window == Nanos::ZERO;
        let (mut silent, mut gone) = (false, Vec::new());
        if method == Method::Scheduled && (all_answer || asking) {
            (silent, gone) = self.group.count_silent(patience);
        } else if method == Method::Unicast && !job.declined {
            job.silent = if self.group.answers == 0 { job.silent + 1 } else { 0 };
            silent = (1..patience).contains(&job.silent);
        }
        job.report.lost += gone.len();
        self.events.extend(gone.into_iter().map(HubEvent::Lost));
        // Answers are lost as packets are, and a lost answer says nothing about the packets: a silent rim is
        // asked, and nothing is sent again on a guess. With selective repeat the rim's next answer also tells
        // what the lost one would have told.
        let can_wait = self.config.repair == Repair::Selective && self.group.answers > 0;
        if silent && all_answer && !can_wait {
            return self.ask_silent(now);
        }
        let slowest = self.group.slowest;
        job.conclude(self.group.take_asked(), silent, slowest);
        match method {
            Method::Unicast if job.declined => self.next_target(now),
            Method::Unicast if job.silent >= patience => {
                job.report.lost += 1;
                job.report.without.extend(self.config.targets.get(job.target).map(|at| at.to_string()));
                self.next_target(now);
            }
            Method::Scheduled if self.group.is_empty() => self.end(now, TransferOutcome::Nobody),
            _ if !job.lacks.is_empty() => self.next_round(now),
            Method::Unscheduled => self.end(now, TransferOutcome::Done),
            Method::Unicast if self.group.complete() > 0 => self.next_target(now),
            Method::Scheduled if self.group.all_complete() => match self.group.admit_late() {
                None => self.end(now, TransferOutcome::Done),
                Some(lacks) => {
                    job.join(lacks);
                    match job.lacks.is_empty() {
                        true => self.ask(now),
                        false => self.next_round(now),
                    }
                }
            },
            Method::Scheduled | Method::Unicast => self.ask(now),
        }
    }

    fn next_round(&mut self, now: Nanos) {
        self.go(HubState::Sizing);
        self.open_round(now);
    }

    /// Polls the rims that have not said that they are complete.
    pub(super) fn ask(&mut self, now: Nanos) {
        self.group.await_all();
        self.ask_silent(now);
    }

    /// Polls the rims that have not answered; the answers of the others still count.
    fn ask_silent(&mut self, now: Nanos) {
        self.go(HubState::Asking);
        if self.job.as_ref().is_some_and(|job| job.describe) {
            self.describe();
        }
        let Some(job) = &self.job else { return };
        self.deadline = now + self.config.result_wait + job.window;
        // One address has one rim; a rim that restarted has another number.
        let awaited = if self.config.method == Method::Unicast { Vec::new() } else { self.group.awaited() };
        let round = job.round;
        self.send(Body::Poll { round, awaited });
    }

    /// Unicast: goes on to the next rim, when this one has the file or is given up.
    fn next_target(&mut self, now: Nanos) {
        let Some(job) = &mut self.job else { return };
        job.report.complete += self.group.complete();
        job.silent = 0;
        if job.target + 1 == self.config.targets.len() {
            return self.end(now, TransferOutcome::Done);
        }
        job.target += 1;
        self.group = RimGroup::new(self.config.max_rims);
        self.start(now);
    }
}
