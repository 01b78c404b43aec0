//! Tables that work at 80 columns and without colour: no borders, numbers to the right.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// How a column reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Text(&'static str),
    Number(&'static str),
}

/// Lines up `rows` under `columns`; every row has as many cells as there are columns.
pub(crate) fn table(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|column| match column {
            Column::Text(title) | Column::Number(title) => *title,
        }));
    table.add_rows(rows);
    for (index, column) in columns.iter().enumerate() {
        if let (Column::Number(_), Some(found)) = (column, table.column_mut(index)) {
            found.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_lines_end_clean() {
        let text = table(
            &[Column::Text("state"), Column::Number("$/h")],
            vec![
                vec!["running".into(), "3.4828".into()],
                vec!["destroyed".into(), "0.0000".into()],
            ],
        );
        insta::assert_snapshot!(text, @r"
         state         $/h
         running    3.4828
         destroyed  0.0000
        ");
    }
}
