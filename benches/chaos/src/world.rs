//! Everything that runs in one round, and how faults are done to it and undone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bus::OutsideBus;
use crate::console::Console;
use crate::fault::{Breakable, Fault, Kind, Target};
use crate::ground::limit_files;
use crate::process::Kept;
use crate::proxy::Proxy;

/// The processes of one round.
pub(crate) struct World {
    pub(crate) folder: PathBuf,
    pub(crate) bus: Option<OutsideBus>,
    pub(crate) consoles: Vec<Console>,
    pub(crate) agents: Vec<Kept>,
    pub(crate) agents_wire: Proxy,
    pub(crate) isolated: bool,
    /// The embedded server that is paused.
    pub(crate) paused_server: Option<Pid>,
}

impl World {
    pub(crate) fn breakable(&self) -> Breakable {
        Breakable {
            consoles: self.consoles.len(),
            agents: self.agents.len(),
            outside: self.bus.is_some(),
            isolated: self.isolated,
        }
    }

    /// Looks after every process.
    pub(crate) fn look(&mut self) -> anyhow::Result<()> {
        if let Some(bus) = &mut self.bus {
            bus.process.look()?;
        }
        for console in &mut self.consoles {
            console.process.look()?;
            // Nobody decides at a console that was never ready.
            if console.process.ready().is_some() || console.operator.starts > 0 {
                console.operator.look()?;
            }
        }
        for agent in &mut self.agents {
            agent.look()?;
        }
        Ok(())
    }

    /// Ends that nobody asked for.
    pub(crate) fn odd_ends(&self) -> Vec<String> {
        let bus = self.bus.iter().map(|bus| &bus.process);
        let consoles = self.consoles.iter().map(|console| &console.process);
        bus.chain(consoles)
            .chain(&self.agents)
            .flat_map(|process| process.odd_ends.clone())
            .collect()
    }

    /// Every journal of an agent, with whether that agent was killed before it ended.
    pub(crate) fn agent_journals(&self) -> Vec<(PathBuf, bool)> {
        let of = |(number, agent): (usize, &Kept)| {
            let folder = self.folder.clone();
            let killed = agent.killed.clone();
            (1..=agent.starts).map(move |start| {
                let path = agent_journal(&folder, number, start);
                (path, killed.contains(&start))
            })
        };
        self.agents.iter().enumerate().flat_map(of).collect()
    }

    /// Every journal of an operator.
    pub(crate) fn operator_journals(&self) -> Vec<PathBuf> {
        let of = |console: &Console| {
            let (folder, name) = (self.folder.clone(), console.name.clone());
            (1..=console.operator.starts)
                .map(move |start| folder.join(format!("operator-{name}-{start}.jsonl")))
        };
        self.consoles.iter().flat_map(of).collect()
    }

    /// Does a fault.
    pub(crate) async fn break_it(&mut self, fault: &Fault) -> anyhow::Result<()> {
        match (fault.target, fault.kind) {
            (Target::Bus, Kind::FullDisk) => match &self.bus {
                Some(bus) if bus.disk.can_fill() => bus.disk.fill().await,
                Some(bus) => limit(bus.process.pid_number(), Some(0)).await,
                None => Ok(()),
            },
            (Target::Console(number), Kind::FullDisk) => {
                let console = &self.consoles[number];
                match console.disk.can_fill() {
                    true => console.disk.fill().await,
                    false => limit(console.pid(), Some(0)).await,
                }
            }
            (Target::Console(number), Kind::Unplug) => self.plug(number, false).await,
            (_, Kind::Cut | Kind::Stall | Kind::Deafen) => {
                if let Some(wire) = self.wire(fault.target) {
                    match fault.kind {
                        Kind::Cut => wire.set(false, true, true),
                        Kind::Stall => wire.set(true, false, false),
                        _ => wire.set(true, true, false),
                    }
                }
                Ok(())
            }
            (Target::Bus, kind) if self.bus.is_none() => {
                self.signal_embedded(kind);
                Ok(())
            }
            (target, kind) => match (self.process(target), kind) {
                (Some(process), Kind::Kill) => process.kill9().await,
                (Some(process), Kind::Restart) => process.stop_in_order().await,
                (Some(process), Kind::Pause) => {
                    process.signal(Signal::SIGSTOP);
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    /// Undoes it.
    pub(crate) async fn heal(&mut self, fault: &Fault) -> anyhow::Result<()> {
        match (fault.target, fault.kind) {
            (Target::Bus, Kind::FullDisk) => {
                let Some(bus) = &mut self.bus else {
                    return Ok(());
                };
                bus.disk.free().await?;
                // A server that met a full disk has stopped storing; it says so and is to be started again.
                bus.process.stop_in_order().await?;
                bus.process.want();
                Ok(())
            }
            (Target::Console(number), Kind::FullDisk) => {
                let console = &self.consoles[number];
                match console.disk.can_fill() {
                    true => console.disk.free().await,
                    false => limit(console.pid(), None).await,
                }
            }
            (Target::Console(number), Kind::Unplug) => self.plug(number, true).await,
            (_, Kind::Cut | Kind::Stall | Kind::Deafen) => {
                if let Some(wire) = self.wire(fault.target) {
                    wire.heal(fault.resets || fault.kind == Kind::Deafen);
                }
                Ok(())
            }
            (Target::Bus, _) if self.bus.is_none() => {
                self.continue_embedded();
                Ok(())
            }
            (target, kind) => {
                if let Some(process) = self.process(target) {
                    match kind {
                        Kind::Pause => process.signal(Signal::SIGCONT),
                        _ => process.want(),
                    }
                }
                Ok(())
            }
        }
    }

    /// Brings back whatever a fault may have left.
    pub(crate) async fn heal_all(&mut self, open: &[Fault]) -> anyhow::Result<()> {
        for fault in open {
            self.heal(fault).await?;
        }
        self.continue_embedded();
        for console in &mut self.consoles {
            console.process.signal(Signal::SIGCONT);
            console.process.want();
        }
        Ok(())
    }

    async fn plug(&self, number: usize, plugged: bool) -> anyhow::Result<()> {
        match &self.consoles[number].island {
            Some(island) => island.plug(plugged).await,
            None => Ok(()),
        }
    }

    fn wire(&self, target: Target) -> Option<&Proxy> {
        match target {
            Target::Console(number) => self.consoles[number].wire.as_ref(),
            Target::AgentsWire => Some(&self.agents_wire),
            _ => None,
        }
    }

    fn process(&mut self, target: Target) -> Option<&mut Kept> {
        match target {
            Target::Console(number) => Some(&mut self.consoles[number].process),
            Target::Operator(number) => Some(&mut self.consoles[number].operator),
            Target::Agent(number) => Some(&mut self.agents[number]),
            Target::Bus => self.bus.as_mut().map(|bus| &mut bus.process),
            Target::AgentsWire => None,
        }
    }

    fn signal_embedded(&mut self, kind: Kind) {
        let pid = self.consoles.first().and_then(Console::server_pid);
        let Some(pid) = pid.map(Pid::from_raw) else {
            return;
        };
        let signal = match kind {
            Kind::Kill => Signal::SIGKILL,
            Kind::Pause => {
                self.paused_server = Some(pid);
                Signal::SIGSTOP
            }
            _ => return,
        };
        // It may have ended just now.
        let _ = kill(pid, signal);
    }

    fn continue_embedded(&mut self) {
        if let Some(pid) = self.paused_server.take() {
            let _ = kill(pid, Signal::SIGCONT);
        }
    }

    /// Ends everything; agents and operators first.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        for agent in &mut self.agents {
            agent.kill9().await?;
        }
        for console in &mut self.consoles {
            console.operator.kill9().await?;
        }
        for console in &mut self.consoles {
            console.process.stop(Duration::from_secs(30)).await?;
        }
        if let Some(bus) = &mut self.bus {
            bus.process.stop_in_order().await?;
        }
        Ok(())
    }
}

/// Takes room away from a process, if it runs; one that has just ended needs none.
async fn limit(pid: Option<u32>, bytes: Option<u64>) -> anyhow::Result<()> {
    match pid {
        Some(pid) => limit_files(pid, bytes).await,
        None => Ok(()),
    }
}

/// Where the agent with this number writes down its start with that number.
pub(crate) fn agent_journal(folder: &Path, agent: usize, start: u64) -> PathBuf {
    folder.join(format!("agent-{agent}-{start}.jsonl"))
}
