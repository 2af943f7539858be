//! The ten scripts: the sequence of statements of a transaction.

use serde::Deserialize;

use super::options::Options;
use super::shape::Shape;

/// A script, by sysbench's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Script {
    #[serde(rename = "oltp_read_write")]
    ReadWrite,
    #[serde(rename = "oltp_read_only")]
    ReadOnly,
    #[serde(rename = "oltp_write_only")]
    WriteOnly,
    #[serde(rename = "oltp_point_select")]
    PointSelect,
    #[serde(rename = "oltp_insert")]
    Insert,
    #[serde(rename = "oltp_delete")]
    Delete,
    #[serde(rename = "oltp_update_index")]
    UpdateIndex,
    #[serde(rename = "oltp_update_non_index")]
    UpdateNonIndex,
    #[serde(rename = "select_random_points")]
    RandomPoints,
    #[serde(rename = "select_random_ranges")]
    RandomRanges,
}

/// One statement of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub shape: Shape,
    /// It starts a group, for which a table is drawn; the later statements of the group use the same table.
    pub draws_table: bool,
}

impl Script {
    /// All statements of one transaction.
    pub fn steps(self, options: &Options) -> Vec<Step> {
        let mut steps = Vec::new();
        match self {
            Self::ReadWrite => in_transaction(options, &mut steps, |steps| {
                reads(options, steps);
                writes(options, steps);
            }),
            Self::ReadOnly => in_transaction(options, &mut steps, |steps| reads(options, steps)),
            Self::WriteOnly => in_transaction(options, &mut steps, |steps| writes(options, steps)),
            Self::PointSelect => group(&mut steps, &[Shape::PointSelect], 1),
            Self::Insert => group(&mut steps, &[Shape::Insert], 1),
            Self::Delete => group(&mut steps, &[Shape::Delete], 1),
            Self::UpdateIndex => group(&mut steps, &[Shape::IndexUpdate], 1),
            Self::UpdateNonIndex => group(&mut steps, &[Shape::NonIndexUpdate], 1),
            Self::RandomPoints => group(&mut steps, &[Shape::RandomPoints], 1),
            Self::RandomRanges => group(&mut steps, &[Shape::RandomRanges], 1),
        }
        steps
    }
}

fn in_transaction(options: &Options, steps: &mut Vec<Step>, fill: impl FnOnce(&mut Vec<Step>)) {
    if options.skip_trx {
        return fill(steps);
    }
    steps.push(Step { shape: Shape::Begin, draws_table: false });
    fill(steps);
    steps.push(Step { shape: Shape::Commit, draws_table: false });
}

fn reads(options: &Options, steps: &mut Vec<Step>) {
    group(steps, &[Shape::PointSelect], options.point_selects);
    if options.range_selects {
        group(steps, &[Shape::SimpleRange], options.simple_ranges);
        group(steps, &[Shape::SumRange], options.sum_ranges);
        group(steps, &[Shape::OrderRange], options.order_ranges);
        group(steps, &[Shape::DistinctRange], options.distinct_ranges);
    }
}

fn writes(options: &Options, steps: &mut Vec<Step>) {
    group(steps, &[Shape::IndexUpdate], options.index_updates);
    group(steps, &[Shape::NonIndexUpdate], options.non_index_updates);
    group(steps, &[Shape::Delete, Shape::Reinsert], options.delete_inserts);
}

/// Append the statements `times` times, as one group.
fn group(steps: &mut Vec<Step>, shapes: &[Shape], times: u32) {
    for time in 0..times {
        for (index, &shape) in shapes.iter().enumerate() {
            let first = time == 0 && index == 0;
            steps.push(Step { shape, draws_table: first && !shape.first_table_only() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadcell_core::record::Kind;
    use serde_json::json;

    fn names(section: serde_json::Value) -> Vec<&'static str> {
        let options = Options::of(&section).unwrap();
        options.script.steps(&options).iter().map(|step| step.shape.operation().name).collect()
    }

    /// Number of statements: in total, reads, writes, others.
    fn counts(section: serde_json::Value) -> (usize, usize, usize, usize) {
        let options = Options::of(&section).unwrap();
        let steps = options.script.steps(&options);
        let of = |kind| steps.iter().filter(|step| step.shape.operation().kind == kind).count();
        (steps.len(), of(Kind::Read), of(Kind::Write), of(Kind::Other))
    }

    #[test]
    fn transactions_match_sysbench() {
        let points = ["point_select"; 10];
        let ranges = ["simple_range", "sum_range", "order_range", "distinct_range"];
        let writes = ["index_update", "non_index_update", "delete", "insert"];
        let all_statements =
            |middle: &[&[&'static str]]| [&[&["begin"][..]], middle, &[&["commit"][..]]].concat().concat();
        assert_eq!(names(json!({"script": "oltp_read_write"})), all_statements(&[&points, &ranges, &writes]));
        assert_eq!(names(json!({"script": "oltp_read_only"})), all_statements(&[&points, &ranges]));
        assert_eq!(names(json!({"script": "oltp_write_only"})), all_statements(&[&writes]));
        let single = [
            ("oltp_point_select", "point_select"),
            ("oltp_insert", "insert"),
            ("oltp_delete", "delete"),
            ("oltp_update_index", "index_update"),
            ("oltp_update_non_index", "non_index_update"),
            ("select_random_points", "random_points"),
            ("select_random_ranges", "random_ranges"),
        ];
        for (script, statement) in single {
            assert_eq!(names(json!({"script": script})), [statement]);
        }
    }

    #[test]
    fn query_counts_match_sysbench() {
        let cases = [
            ("oltp_read_write", (20, 14, 4, 2)),
            ("oltp_read_only", (16, 14, 0, 2)),
            ("oltp_write_only", (6, 0, 4, 2)),
            ("oltp_point_select", (1, 1, 0, 0)),
            ("oltp_insert", (1, 0, 1, 0)),
            ("oltp_delete", (1, 0, 1, 0)),
            ("oltp_update_index", (1, 0, 1, 0)),
            ("oltp_update_non_index", (1, 0, 1, 0)),
            ("select_random_points", (1, 1, 0, 0)),
            ("select_random_ranges", (1, 1, 0, 0)),
        ];
        for (script, expected) in cases {
            assert_eq!(counts(json!({"script": script})), expected, "{script}");
        }
    }

    #[test]
    fn options_change_the_mix() {
        let mix = json!({"script": "oltp_read_write", "point_selects": 3, "range_selects": false,
                         "index_updates": 0, "non_index_updates": 2, "delete_inserts": 2, "skip_trx": true});
        let expected = ["point_select"; 3]
            .into_iter()
            .chain(["non_index_update"; 2])
            .chain(["delete", "insert", "delete", "insert"])
            .collect::<Vec<_>>();
        assert_eq!(names(mix), expected);
        // An autocommit script is one statement, regardless of its options.
        assert_eq!(counts(json!({"script": "oltp_point_select", "point_selects": 7, "skip_trx": true})).0, 1);
    }

    #[test]
    fn table_is_drawn_once_per_group() {
        let options = Options::of(&json!({"delete_inserts": 2})).unwrap();
        let steps = options.script.steps(&options);
        let drawing = steps.iter().filter(|step| step.draws_table).map(|step| step.shape.operation().name);
        let groups = [
            "point_select",
            "simple_range",
            "sum_range",
            "order_range",
            "distinct_range",
            "index_update",
            "non_index_update",
            "delete",
        ];
        assert_eq!(drawing.collect::<Vec<_>>(), groups);
    }
}
