//! Tables, keys and indexes, with the names and definitions of BenchmarkSQL 5.

use super::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS, ORDERS};
use crate::dataload::Table;
use loadcell_core::target::Dialect;

/// Kinds of rows, in the order of loading: the slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Stock,
    OrderLine,
    Customer,
    Order,
    History,
    Item,
    NewOrder,
    District,
    Warehouse,
    Config,
}

impl Of {
    pub const ALL: [Self; 10] = [
        Self::Stock,
        Self::OrderLine,
        Self::Customer,
        Self::Order,
        Self::History,
        Self::Item,
        Self::NewOrder,
        Self::District,
        Self::Warehouse,
        Self::Config,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "bmsql_stock",
            Self::OrderLine => "bmsql_order_line",
            Self::Customer => "bmsql_customer",
            Self::Order => "bmsql_oorder",
            Self::History => "bmsql_history",
            Self::Item => "bmsql_item",
            Self::NewOrder => "bmsql_new_order",
            Self::District => "bmsql_district",
            Self::Warehouse => "bmsql_warehouse",
            Self::Config => "bmsql_config",
        }
    }

    /// Number of units (an order with its lines is one unit of order lines), and their approximate size in
    /// bytes.
    fn units(self, warehouses: u64) -> (u64, u64) {
        match self {
            Self::Stock => (warehouses * ITEMS, 310),
            Self::OrderLine => (warehouses * DISTRICTS * ORDERS, 700),
            Self::Customer => (warehouses * DISTRICTS * CUSTOMERS, 560),
            Self::Order => (warehouses * DISTRICTS * ORDERS, 50),
            Self::History => (warehouses * DISTRICTS * CUSTOMERS, 80),
            Self::Item => (ITEMS, 75),
            Self::NewOrder => (warehouses * DISTRICTS * (ORDERS + 1 - FIRST_UNDELIVERED), 15),
            Self::District => (warehouses * DISTRICTS, 110),
            Self::Warehouse => (warehouses, 100),
            Self::Config => (super::data::SETTINGS, 20),
        }
    }

    fn columns(self) -> &'static str {
        match self {
            Self::Stock => STOCK,
            Self::OrderLine => ORDER_LINE,
            Self::Customer => CUSTOMER,
            Self::Order => ORDER,
            Self::History => HISTORY,
            Self::Item => ITEM,
            Self::NewOrder => NEW_ORDER,
            Self::District => DISTRICT,
            Self::Warehouse => WAREHOUSE,
            Self::Config => CONFIG,
        }
    }

    /// Columns of the primary key.
    fn key(self) -> &'static str {
        match self {
            Self::Stock => "s_w_id, s_i_id",
            Self::OrderLine => "ol_w_id, ol_d_id, ol_o_id, ol_number",
            Self::Customer => "c_w_id, c_d_id, c_id",
            Self::Order => "o_w_id, o_d_id, o_id",
            Self::History => "hist_id",
            Self::Item => "i_id",
            Self::NewOrder => "no_w_id, no_d_id, no_o_id",
            Self::District => "d_w_id, d_id",
            Self::Warehouse => "w_id",
            Self::Config => "cfg_name",
        }
    }

    fn second_index(self) -> Option<&'static str> {
        match self {
            Self::Customer => {
                Some("CREATE INDEX bmsql_customer_idx1 ON bmsql_customer (c_w_id, c_d_id, c_last, c_first)")
            }
            Self::Order => Some(
                "CREATE UNIQUE INDEX bmsql_oorder_idx1 ON bmsql_oorder (o_w_id, o_d_id, o_carrier_id, o_id)",
            ),
            _ => None,
        }
    }

    /// Foreign keys: name, columns, referenced table.
    fn references(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Stock => &[
                ("s_item_fkey", "s_i_id", "bmsql_item (i_id)"),
                ("s_warehouse_fkey", "s_w_id", "bmsql_warehouse (w_id)"),
            ],
            Self::OrderLine => &[
                ("ol_order_fkey", "ol_w_id, ol_d_id, ol_o_id", "bmsql_oorder (o_w_id, o_d_id, o_id)"),
                ("ol_stock_fkey", "ol_supply_w_id, ol_i_id", "bmsql_stock (s_w_id, s_i_id)"),
            ],
            Self::Customer => &[("c_district_fkey", "c_w_id, c_d_id", "bmsql_district (d_w_id, d_id)")],
            Self::Order => {
                &[("o_customer_fkey", "o_w_id, o_d_id, o_c_id", "bmsql_customer (c_w_id, c_d_id, c_id)")]
            }
            Self::History => &[
                ("h_customer_fkey", "h_c_w_id, h_c_d_id, h_c_id", "bmsql_customer (c_w_id, c_d_id, c_id)"),
                ("h_district_fkey", "h_w_id, h_d_id", "bmsql_district (d_w_id, d_id)"),
            ],
            Self::NewOrder => {
                &[("no_order_fkey", "no_w_id, no_d_id, no_o_id", "bmsql_oorder (o_w_id, o_d_id, o_id)")]
            }
            Self::District => &[("d_warehouse_fkey", "d_w_id", "bmsql_warehouse (w_id)")],
            Self::Item | Self::Warehouse | Self::Config => &[],
        }
    }

    /// Definition of the table; `rows` maps its units to rows.
    pub fn table(self, dialect: Dialect, warehouses: u64, rows: impl FnOnce(u64) -> u64) -> Table {
        let name = self.name();
        let (units, unit_bytes) = self.units(warehouses);
        let reference = |(key, columns, to): &(&str, &str, &str)| {
            format!("ALTER TABLE {name} ADD CONSTRAINT {key} FOREIGN KEY ({columns}) REFERENCES {to}")
        };
        let references = self.references().iter().map(reference).collect();
        let table =
            Table { name: name.into(), rows: rows(units), units, unit_bytes, references, ..Table::default() };
        match dialect {
            Dialect::Postgres => self.in_postgres(table),
            Dialect::Mysql => self.in_mysql(table),
        }
    }

    fn in_postgres(self, table: Table) -> Table {
        let name = self.name();
        // Create the index, then a key from it: indexes of one table can be built concurrently, keys cannot.
        let mut indexes = vec![format!("CREATE UNIQUE INDEX {name}_pkey ON {name} ({})", self.key())];
        indexes.extend(self.second_index().map(String::from));
        let mut keys = vec![format!(
            "ALTER TABLE {name} ADD CONSTRAINT {name}_pkey PRIMARY KEY USING INDEX {name}_pkey"
        )];
        let mut create = format!("CREATE TABLE {name} ({})", self.columns());
        if self == Self::History {
            create.push_str("; CREATE SEQUENCE bmsql_hist_id_seq OWNED BY bmsql_history.hist_id");
            keys.push(
                "ALTER TABLE bmsql_history ALTER hist_id SET DEFAULT nextval('bmsql_hist_id_seq')".into(),
            );
            keys.push(format!("SELECT setval('bmsql_hist_id_seq', {})", table.rows));
        }
        Table {
            create,
            copy: format!("COPY {name} FROM STDIN"),
            indexes,
            keys,
            finish: vec![format!("VACUUM (ANALYZE) {name}")],
            ..table
        }
    }

    fn in_mysql(self, table: Table) -> Table {
        let name = self.name();
        // TIMESTAMP values would be converted between time zones.
        let columns = self.columns().replace("TIMESTAMP", "DATETIME");
        let columns = columns.replace("hist_id INTEGER NOT NULL", "hist_id INTEGER NOT NULL AUTO_INCREMENT");
        Table {
            // The table is clustered by its primary key: rows are best loaded in its order.
            create: format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({})) ENGINE = InnoDB", self.key()),
            copy: format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name}"),
            indexes: self.second_index().map(String::from).into_iter().collect(),
            finish: vec![format!("ANALYZE TABLE {name}")],
            ..table
        }
    }
}

const WAREHOUSE: &str = "w_id INTEGER NOT NULL, w_ytd DECIMAL(12,2), w_tax DECIMAL(4,4), w_name VARCHAR(10), \
    w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9)";

const DISTRICT: &str = "d_w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, d_ytd DECIMAL(12,2), d_tax \
    DECIMAL(4,4), \
    d_next_o_id INTEGER, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city \
    VARCHAR(20), \
    d_state CHAR(2), d_zip CHAR(9)";

const CUSTOMER: &str = "c_w_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_id INTEGER NOT NULL, \
    c_discount DECIMAL(4,4), c_credit CHAR(2), c_last VARCHAR(16), c_first VARCHAR(16), c_credit_lim \
    DECIMAL(12,2), \
    c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INTEGER, c_delivery_cnt INTEGER, \
    c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), \
    c_phone CHAR(16), c_since TIMESTAMP, c_middle CHAR(2), c_data VARCHAR(500)";

// `hist_id` must be NOT NULL for an index to become its key without a scan.
const HISTORY: &str = "hist_id INTEGER NOT NULL, h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, \
    h_d_id INTEGER, \
    h_w_id INTEGER, h_date TIMESTAMP, h_amount DECIMAL(6,2), h_data VARCHAR(24)";

const NEW_ORDER: &str = "no_w_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL";

const ORDER: &str = "o_w_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, o_c_id \
    INTEGER, \
    o_carrier_id INTEGER, o_ol_cnt INTEGER, o_all_local INTEGER, o_entry_d TIMESTAMP";

const ORDER_LINE: &str = "ol_w_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_o_id INTEGER NOT NULL, \
    ol_number INTEGER NOT NULL, ol_i_id INTEGER NOT NULL, ol_delivery_d TIMESTAMP, ol_amount DECIMAL(6,2), \
    ol_supply_w_id INTEGER, ol_quantity INTEGER, ol_dist_info CHAR(24)";

const ITEM: &str =
    "i_id INTEGER NOT NULL, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), i_im_id INTEGER";

const STOCK: &str = "s_w_id INTEGER NOT NULL, s_i_id INTEGER NOT NULL, s_quantity INTEGER, s_ytd \
    DECIMAL(8,2), \
    s_order_cnt INTEGER, s_remote_cnt INTEGER, s_data VARCHAR(50), s_dist_01 CHAR(24), s_dist_02 CHAR(24), \
    s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), \
    s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24)";

const CONFIG: &str = "cfg_name VARCHAR(30) NOT NULL, cfg_value VARCHAR(50)";

#[cfg(test)]
mod tests {
    use super::*;

    fn table(of: Of) -> Table {
        of.table(Dialect::Postgres, 2, |units| units)
    }

    #[test]
    fn tables_have_benchmarksql_names() {
        let history = table(Of::History);
        assert!(history.create.starts_with("CREATE TABLE bmsql_history (hist_id INTEGER"));
        assert!(history.create.ends_with("CREATE SEQUENCE bmsql_hist_id_seq OWNED BY bmsql_history.hist_id"));
        assert_eq!(history.keys.last().unwrap(), "SELECT setval('bmsql_hist_id_seq', 60000)");
        let customer = table(Of::Customer);
        assert_eq!(
            customer.indexes,
            [
                "CREATE UNIQUE INDEX bmsql_customer_pkey ON bmsql_customer (c_w_id, c_d_id, c_id)",
                "CREATE INDEX bmsql_customer_idx1 ON bmsql_customer (c_w_id, c_d_id, c_last, c_first)",
            ]
        );
        let district = table(Of::District);
        assert_eq!(
            district.references,
            ["ALTER TABLE bmsql_district ADD CONSTRAINT d_warehouse_fkey FOREIGN KEY (d_w_id) \
              REFERENCES bmsql_warehouse (w_id)"]
        );
    }

    #[test]
    fn mysql_tables_are_clustered_by_primary_key() {
        let history = Of::History.table(Dialect::Mysql, 2, |units| units);
        assert!(
            history
                .create
                .starts_with("CREATE TABLE bmsql_history (hist_id INTEGER NOT NULL AUTO_INCREMENT, h_c_id")
        );
        assert!(history.create.contains("h_date DATETIME") && !history.create.contains("TIMESTAMP"));
        assert!(history.create.ends_with("h_data VARCHAR(24), PRIMARY KEY (hist_id)) ENGINE = InnoDB"));
        assert!(history.indexes.is_empty() && history.keys.is_empty());
        assert_eq!(history.references.len(), 2);
    }

    #[test]
    fn tables_have_the_specified_cardinalities() {
        let names: std::collections::HashSet<_> = Of::ALL.map(Of::name).into();
        assert_eq!(names.len(), 10);
        let units = Of::ALL.map(|of| (of.name(), of.units(2).0));
        for (name, count) in [
            ("bmsql_warehouse", 2),
            ("bmsql_district", 20),
            ("bmsql_customer", 60_000),
            ("bmsql_history", 60_000),
            ("bmsql_oorder", 60_000),
            ("bmsql_new_order", 18_000),
            ("bmsql_item", 100_000),
            ("bmsql_stock", 200_000),
        ] {
            assert!(units.contains(&(name, count)), "{name}");
        }
    }
}
