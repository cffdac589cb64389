//! P4 registers that belong to the traffic manager's queues: the program reads depths and shares, and
//! writes rates.

use groupflow_pipeline::{Port, RegisterId};

/// A register array with a cell for each queue of each port: index = port * stride + queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRegister {
    /// The program's register.
    pub register: RegisterId,
    /// Cells of each port.
    pub stride: usize,
    /// Cells of all ports.
    pub size: usize,
}

impl QueueRegister {
    /// The cell of a queue; `None` if the array has no cell for it.
    pub fn cell(&self, port: Port, queue: u8) -> Option<usize> {
        let queue = usize::from(queue);
        let index = usize::from(port.0) * self.stride + queue;
        (queue < self.stride && index < self.size).then_some(index)
    }

    /// The port and queue of a cell.
    pub fn queue(&self, index: usize) -> Option<(Port, u8)> {
        let port = u16::try_from(index / self.stride).ok()?;
        let queue = u8::try_from(index % self.stride).ok()?;
        Some((Port(port), queue))
    }
}

/// The registers that a program binds to queues. Cells have 32 bits or more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueRegisters {
    /// Packets that wait, kept by the traffic manager.
    pub depth: Option<QueueRegister>,
    /// J~: the rate that a queue is to have, written by the program.
    pub rate: Option<QueueRegister>,
    /// L: a queue's share of its port, kept by diffusion-type flow control (`diffusion`).
    pub share: Option<QueueRegister>,
}
