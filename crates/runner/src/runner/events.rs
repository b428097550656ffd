//! Events of hosts, as their supervisors report them.

use std::sync::Arc;

use crate::host::{ExitReason, Host, HostEvent, HostState};
use crate::runner::Runner;
use crate::types::FailureKind;

impl Runner {
    /// What a host's supervisor reports. Called without locks held.
    pub(super) fn on_event(&self, host: &Arc<Host>, event: HostEvent) {
        let mut pool = self.0.pool.lock();
        match event {
            HostEvent::Freed => {
                if host.state() == HostState::Serving {
                    return pool.serve(host);
                }
                if !host.is_idle() {
                    return;
                }
                pool.remove(host);
                host.kill(ExitReason::Ended);
            }
            HostEvent::Entered => return pool.serve(host),
            HostEvent::LeftRunning => {
                // Its code may never have begun.
                pool.serve(host);
                drop(pool);
                return self.end_if_it_goes_on(host);
            }
            HostEvent::GaveBack(call) => {
                pool.requeue(host, call);
                self.0.waits.notify_one();
            }
            HostEvent::LoadFailed(failure) => {
                pool.remove(host);
                host.kill(ExitReason::Ended);
                pool.fail(&host.isolate, &failure);
            }
            HostEvent::Ended(unloaded) => {
                pool.remove(host);
                for call in host.take_ahead() {
                    pool.requeue(host, call);
                }
                // One that we ended while it loaded is no fault of the code: another host loads it.
                if let Some(failure) =
                    unloaded.filter(|failure| failure.kind != FailureKind::HostLost)
                {
                    pool.fail(&host.isolate, &failure);
                }
                pool.serve(host);
            }
        }
        drop(pool);
        self.start_hosts();
    }

    /// Ends a host in a while, unless what its last call left running has ended by then.
    fn end_if_it_goes_on(&self, host: &Arc<Host>) {
        let (host, calls, most) =
            (Arc::downgrade(host), host.ended(), self.0.config.left_running_max);
        tokio::spawn(async move {
            tokio::time::sleep(most).await;
            if let Some(host) =
                host.upgrade().filter(|host| host.has_left_running() && host.ended() == calls)
                && host.ends_without_call(&format!("kept its process from other runs for {most:?}"))
            {
                host.kill(ExitReason::Ended);
            }
        });
    }
}
