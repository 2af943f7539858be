//! STREAM's four kernels (McCalpin, 1995), on arrays of floats.

use std::hint::black_box;

use super::WORD;
use crate::memory_budget;
use loadcell_load::blocking::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// c = a
    Copy,
    /// b = s c
    Scale,
    /// c = a + b
    Add,
    /// a = b + s c
    Triad,
}

impl Kernel {
    /// Number of arrays whose bytes are counted: those read, and the one written.
    pub fn arrays_moved(self) -> u64 {
        match self {
            Self::Copy | Self::Scale => 2,
            Self::Add | Self::Triad => 3,
        }
    }
}

/// s, and the initial value of the arrays.
const SCALAR: f64 = 3.0;
const FILLINGS: [f64; 3] = [1.0, 2.0, 0.5];

pub struct Stream {
    kernel: Kernel,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Stream {
    /// Allocate arrays of `bytes` bytes.
    pub fn new(kernel: Kernel, bytes: u64) -> Result<Self, Fault> {
        let [a, b, c] = FILLINGS.map(|filling| memory_budget::filled((bytes / WORD) as usize, filling));
        Ok(Self { kernel, a: a?, b: b?, c: c? })
    }

    pub fn pass(&mut self) {
        let (a, b, c) = black_box((&mut self.a[..], &mut self.b[..], &mut self.c[..]));
        match self.kernel {
            Kernel::Copy => c.copy_from_slice(a),
            Kernel::Scale => b.iter_mut().zip(&*c).for_each(|(b, c)| *b = SCALAR * c),
            Kernel::Add => c.iter_mut().zip(&*a).zip(&*b).for_each(|((c, a), b)| *c = a + b),
            Kernel::Triad => a.iter_mut().zip(&*b).zip(&*c).for_each(|((a, b), c)| *a = b + SCALAR * c),
        }
        black_box((&mut self.a[..], &mut self.b[..], &mut self.c[..]));
    }

    #[cfg(test)]
    pub fn arrays(&self) -> [&[f64]; 3] {
        [&self.a, &self.b, &self.c]
    }
}
