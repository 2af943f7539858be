//! Successes of each client within the measurement, for the fairness between clients.

/// Successes by client number. The clients of a thread need not be numbered without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    succeeded: Vec<u64>,
    /// The counts are those of several groups, whose clients have the same numbers.
    is_mixed: bool,
}

impl ClientCounts {
    #[inline]
    pub fn count(&mut self, client: u32) {
        self.count_many(client, 1);
    }

    #[inline]
    pub fn count_many(&mut self, client: u32, successes: u64) {
        match self.succeeded.get_mut(client as usize) {
            Some(count) => *count += successes,
            None => self.extend(client, successes),
        }
    }

    /// A client that never connected.
    #[cold]
    fn extend(&mut self, client: u32, successes: u64) {
        self.make_room(client);
        self.succeeded[client as usize] = successes;
    }

    /// Allocates the count of a client, so that its first success does not.
    pub fn make_room(&mut self, client: u32) {
        let length = self.succeeded.len().max(client as usize + 1);
        self.succeeded.resize(length, 0);
    }

    /// Counts of several groups: none.
    pub fn mixed() -> Self {
        Self { succeeded: Vec::new(), is_mixed: true }
    }

    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Starts from zero.
    pub fn clear(&mut self) {
        self.succeeded.fill(0);
    }

    /// Adds the clients of another thread, which have other numbers.
    pub fn merge(&mut self, other: &Self) {
        self.is_mixed |= other.is_mixed;
        let length = self.succeeded.len().max(other.succeeded.len());
        self.succeeded.resize(length, 0);
        self.succeeded.iter_mut().zip(&other.succeeded).for_each(|(count, other)| *count += other);
    }

    /// Counts of `clients` clients: those without a success count as 0.
    pub fn of(&self, clients: u32) -> impl Iterator<Item = u64> + '_ {
        self.succeeded.iter().copied().chain(std::iter::repeat(0)).take(clients as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(clients: &[u32]) -> ClientCounts {
        let mut counts = ClientCounts::default();
        clients.iter().for_each(|&client| counts.count(client));
        counts
    }

    #[test]
    fn threads_have_other_clients() {
        let mut merged = counts(&[1, 1, 3]);
        merged.merge(&counts(&[0, 2, 2, 2]));
        assert_eq!(merged.of(6).collect::<Vec<_>>(), [1, 2, 3, 1, 0, 0]);
    }

    #[test]
    fn a_count_has_its_room_before_the_first_success() {
        let mut counts = ClientCounts::default();
        counts.make_room(5);
        counts.make_room(2);
        let (room, capacity) = (counts.succeeded.as_ptr(), counts.succeeded.capacity());
        (0..6).for_each(|client| counts.count(client));
        assert_eq!((counts.succeeded.as_ptr(), counts.succeeded.capacity()), (room, capacity));
        assert_eq!(counts.of(6).collect::<Vec<_>>(), [1; 6]);
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut counts = counts(&[0, 1, 1]);
        counts.clear();
        counts.count(1);
        assert_eq!(counts.of(2).collect::<Vec<_>>(), [0, 1]);
    }
}
