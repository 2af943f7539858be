//! Home of a terminal, and the input of its transactions.

use super::DISTRICTS;
use super::nurand::Constants;
use loadcell_core::random::Random;

/// Home of a terminal; both numbers start at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    pub warehouse: u64,
    pub district: u64,
}

impl Home {
    /// Home of terminal number `terminal`: round-robin over the warehouses, then over their districts, so
    /// that the warehouses differ by at most one terminal.
    pub fn of(terminal: u32, warehouses: u64) -> Self {
        let terminal = u64::from(terminal);
        Self { warehouse: terminal % warehouses + 1, district: terminal / warehouses % DISTRICTS + 1 }
    }

    pub fn drawn(random: &mut Random, warehouses: u64) -> Self {
        Self { warehouse: random.uniform(1, warehouses), district: random.uniform(1, DISTRICTS) }
    }
}

/// Source of a transaction's input.
pub struct Input<'a> {
    pub random: &'a mut Random,
    pub constants: &'a Constants,
    pub home: Home,
    pub warehouses: u64,
}

impl Input<'_> {
    /// True with a probability of `percent` percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    pub fn district(&mut self) -> u64 {
        self.random.uniform(1, DISTRICTS)
    }

    pub fn customer(&mut self) -> u64 {
        self.constants.customer(self.random)
    }

    /// A warehouse other than home, if there is one.
    pub fn other_warehouse(&mut self) -> u64 {
        if self.warehouses == 1 {
            return 1;
        }
        let warehouse = self.random.uniform(1, self.warehouses - 1);
        warehouse + u64::from(warehouse >= self.home.warehouse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_spread_evenly_over_districts() {
        let homes: Vec<_> = (0..30).map(|terminal| Home::of(terminal, 3)).collect();
        for warehouse in 1..=3 {
            let mut districts: Vec<_> =
                homes.iter().filter(|home| home.warehouse == warehouse).map(|home| home.district).collect();
            districts.sort_unstable();
            assert_eq!(districts, (1..=10).collect::<Vec<_>>());
        }
        assert_eq!(homes[0], Home { warehouse: 1, district: 1 });
        assert_eq!(homes[4], Home { warehouse: 2, district: 2 });
    }

    #[test]
    fn remote_warehouse_is_uniform_among_the_others() {
        let mut random = Random::stream(1, 1);
        let constants = Constants::of_run(1);
        let mut counts = [0u32; 5];
        for _ in 0..8_000 {
            let home = Home { warehouse: 3, district: 1 };
            let mut input = Input { random: &mut random, constants: &constants, home, warehouses: 4 };
            counts[input.other_warehouse() as usize] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!([1, 2, 4].iter().all(|&warehouse| (2_500..2_850).contains(&counts[warehouse])), "{counts:?}");
    }
}
