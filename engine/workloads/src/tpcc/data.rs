//! Initial data (clause 4.3.3): each row is a function of the seed and its own numbers.
//!
//! All dates are one fixed instant instead of the time of loading, so that equal specifications give equal
//! rows.

use std::ops::Range;

use super::nurand::{C_LAST_OF_LOAD, last_name_of_load};
use super::options::Options;
use super::schema::Of;
use super::text::{alphanumeric, alphanumerics, digits, last_name, maybe_original, state};
use super::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS, ORDERS};
use crate::dataload::{Data, Table};
use loadcell_core::random::Random;
use loadcell_core::target::Dialect;
use loadcell_protocols::digits::{decimal, hundredths};

/// Rows of `bmsql_config`.
pub const SETTINGS: u64 = 4;

const NOW: &[u8] = b"2024-01-01 00:00:00";
const NULL: &[u8] = b"\\N";

/// Parts per worker's share, as the cost of rows differs by table: balances the workers.
const CUTS: u64 = 4;

/// All tables.
pub struct DataSet {
    tables: Vec<Table>,
    warehouses: u64,
    seed: u64,
}

impl DataSet {
    pub fn new(dialect: Dialect, options: &Options, seed: u64) -> Self {
        let warehouses = u64::from(options.warehouses);
        let mut data = Self { tables: Vec::new(), warehouses, seed };
        for of in Of::ALL {
            let table = of.table(dialect, warehouses, |units| match of {
                Of::OrderLine => (0..units).map(|order| lines_of(&mut data.random(Of::Order, order))).sum(),
                _ => units,
            });
            data.tables.push(table);
        }
        data
    }

    /// Random stream of one row or of one order's lines, for results independent of partitioning.
    fn random(&self, of: Of, unit: u64) -> Random {
        Random::stream(self.seed, ((of as u64 + 1) << 48) | unit)
    }

    fn row(&self, of: Of, unit: u64, row: &mut Row<'_>) {
        let mut random = self.random(of, unit);
        let random = &mut random;
        match of {
            Of::Item => item(random, unit, row),
            Of::Warehouse => warehouse(random, unit, row),
            Of::Stock => stock(random, unit, row),
            Of::District => district(random, unit, row),
            Of::Customer => customer(random, unit, row),
            Of::History => history(random, unit, row),
            Of::NewOrder => new_order(unit, row),
            Of::Config => self.setting(unit, row),
            Of::Order | Of::OrderLine => unreachable!("made by `orders` and `lines`"),
        }
    }

    fn orders(&self, units: Range<u64>, out: &mut Vec<u8>) {
        let mut of_district = (u64::MAX, Vec::new());
        for unit in units {
            let position = Position::of(unit, ORDERS);
            let district = unit / ORDERS;
            if of_district.0 != district {
                of_district = (district, self.customers_of_orders(district));
            }
            let mut random = self.random(Of::Order, unit);
            let lines = lines_of(&mut random);
            let mut row = Row::new(out);
            row.numbers([position.warehouse, position.district, position.number]);
            row.number(u64::from(of_district.1[position.number as usize - 1]));
            match position.number {
                FIRST_UNDELIVERED.. => row.raw(NULL),
                _ => row.number(random.uniform(1, 10)),
            }
            row.numbers([lines, 1]);
            row.raw(NOW);
        }
    }

    /// Customer of each order of a district: a random permutation.
    fn customers_of_orders(&self, district: u64) -> Vec<u16> {
        let mut random = Random::stream(self.seed, (u64::MAX << 48) | district);
        let mut customers: Vec<u16> = (1..=CUSTOMERS as u16).collect();
        for last in (1..customers.len()).rev() {
            customers.swap(last, random.uniform(0, last as u64) as usize);
        }
        customers
    }

    fn lines(&self, units: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let mut rows = 0;
        for unit in units {
            let position = Position::of(unit, ORDERS);
            let delivered = position.number < FIRST_UNDELIVERED;
            let lines = lines_of(&mut self.random(Of::Order, unit));
            let mut random = self.random(Of::OrderLine, unit);
            for number in 1..=lines {
                let mut row = Row::new(out);
                row.numbers([
                    position.warehouse,
                    position.district,
                    position.number,
                    number,
                    random.uniform(1, ITEMS),
                ]);
                row.raw(if delivered { NOW } else { NULL });
                row.amount(if delivered { 0 } else { random.uniform(1, 999_999) });
                row.numbers([position.warehouse, 5]);
                row.text(|out| alphanumeric(&mut random, 24, out));
            }
            rows += lines;
        }
        rows
    }

    fn setting(&self, unit: u64, row: &mut Row<'_>) {
        // Settings that BenchmarkSQL stores at load time. The other two constants are drawn per run.
        let settings: [(&str, u64); SETTINGS as usize] = [
            ("warehouses", self.warehouses),
            ("nURandCLast", C_LAST_OF_LOAD),
            ("nURandCC_ID", 0),
            ("nURandCI_ID", 0),
        ];
        let (name, value) = settings[unit as usize];
        row.raw(name.as_bytes());
        row.number(value);
    }
}

impl Data for DataSet {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn cuts(&self) -> u64 {
        CUTS
    }

    fn rows(&self, table: usize, units: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let count = units.end - units.start;
        match Of::ALL[table] {
            Of::OrderLine => return self.lines(units, out),
            Of::Order => self.orders(units, out),
            of => units.for_each(|unit| self.row(of, unit, &mut Row::new(out))),
        }
        count
    }
}

/// Position of a row; all numbers start at 1.
struct Position {
    warehouse: u64,
    district: u64,
    number: u64,
}

impl Position {
    /// Position of row `unit` in a table with `per_district` rows per district.
    fn of(unit: u64, per_district: u64) -> Self {
        let district = unit / per_district;
        Self {
            warehouse: district / DISTRICTS + 1,
            district: district % DISTRICTS + 1,
            number: unit % per_district + 1,
        }
    }
}

/// Number of lines of an order: the first number of its stream, so that its lines can derive it, too.
fn lines_of(order: &mut Random) -> u64 {
    order.uniform(5, 15)
}

/// A row in COPY's text format, written column by column; dropping it ends the line.
struct Row<'a> {
    out: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Row<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, begun: false }
    }

    #[inline]
    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b'\t');
        }
        write(self.out);
    }

    fn raw(&mut self, text: &[u8]) {
        self.text(|out| out.extend_from_slice(text));
    }

    fn number(&mut self, number: u64) {
        self.text(|out| decimal(out, number));
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    fn amount(&mut self, of_hundredths: u64) {
        self.text(|out| hundredths(out, of_hundredths));
    }

    /// A share in ten-thousandths, below 1.
    fn share(&mut self, of_ten_thousandths: u64) {
        self.text(|out| out.extend_from_slice(format!("0.{of_ten_thousandths:04}").as_bytes()));
    }

    /// Two streets, city, state and zip code.
    fn address(&mut self, random: &mut Random) {
        for _ in 0..3 {
            self.text(|out| alphanumerics(random, 10, 20, out));
        }
        self.text(|out| state(random, out));
        self.text(|out| {
            digits(random, 4, out);
            out.extend_from_slice(b"11111");
        });
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        self.out.push(b'\n');
    }
}

fn item(random: &mut Random, unit: u64, row: &mut Row<'_>) {
    row.number(unit + 1);
    row.text(|out| alphanumerics(random, 14, 24, out));
    row.amount(random.uniform(100, 10_000));
    row.text(|out| maybe_original(random, out));
    row.number(random.uniform(1, 10_000));
}

fn warehouse(random: &mut Random, unit: u64, row: &mut Row<'_>) {
    row.number(unit + 1);
    row.amount(30_000_000);
    row.share(random.uniform(0, 2_000));
    row.text(|out| alphanumerics(random, 6, 10, out));
    row.address(random);
}

fn stock(random: &mut Random, unit: u64, row: &mut Row<'_>) {
    row.numbers([unit / ITEMS + 1, unit % ITEMS + 1, random.uniform(10, 100)]);
    row.amount(0);
    row.numbers([0, 0]);
    row.text(|out| maybe_original(random, out));
    for _ in 0..DISTRICTS {
        row.text(|out| alphanumeric(random, 24, out));
    }
}

fn district(random: &mut Random, unit: u64, row: &mut Row<'_>) {
    row.numbers([unit / DISTRICTS + 1, unit % DISTRICTS + 1]);
    row.amount(3_000_000);
    row.share(random.uniform(0, 2_000));
    row.number(ORDERS + 1);
    row.text(|out| alphanumerics(random, 6, 10, out));
    row.address(random);
}

fn customer(random: &mut Random, unit: u64, row: &mut Row<'_>) {
    let position = Position::of(unit, CUSTOMERS);
    row.numbers([position.warehouse, position.district, position.number]);
    row.share(random.uniform(0, 5_000));
    row.raw(if random.below(10) == 0 { b"BC" } else { b"GC" });
    let name = if position.number <= 1_000 { position.number - 1 } else { last_name_of_load(random) };
    row.text(|out| last_name(name, out));
    row.text(|out| alphanumerics(random, 8, 16, out));
    row.amount(5_000_000);
    row.raw(b"-10.00");
    row.amount(1_000);
    row.numbers([1, 0]);
    row.address(random);
    row.text(|out| digits(random, 16, out));
    row.raw(NOW);
    row.raw(b"OE");
    row.text(|out| alphanumerics(random, 300, 500, out));
}

fn history(random: &mut Random, unit: u64, row: &mut Row<'_>) {
    let position = Position::of(unit, CUSTOMERS);
    row.numbers([
        unit + 1,
        position.number,
        position.district,
        position.warehouse,
        position.district,
        position.warehouse,
    ]);
    row.raw(NOW);
    row.amount(1_000);
    row.text(|out| alphanumerics(random, 12, 24, out));
}

fn new_order(unit: u64, row: &mut Row<'_>) {
    let position = Position::of(unit, ORDERS + 1 - FIRST_UNDELIVERED);
    row.numbers([position.warehouse, position.district, position.number + FIRST_UNDELIVERED - 1]);
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
