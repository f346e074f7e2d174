//! Records of the profiler: CSV after lines that begin with `#` and say where the figures come from.
//!
//! The program that launches the kernels under the profiler (`bench counters`) has one too, and includes this file.

/// A table whose columns have names.
pub(crate) struct Record {
    columns: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

/// A row of it.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    columns: &'a [&'static str],
    cells: &'a [&'static str],
}

impl Record {
    pub(crate) fn parse(text: &'static str) -> Record {
        let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect());
        Record { columns: lines.next().expect("a line of names"), rows: lines.collect() }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }
}

impl Row<'_> {
    pub(crate) fn get(&self, column: &str) -> Option<&'static str> {
        let index = self.columns.iter().position(|&name| name == column)?;
        self.cells.get(index).copied()
    }

    pub(crate) fn text(&self, column: &str) -> &'static str {
        self.get(column).unwrap_or_else(|| panic!("the record has no column {column}"))
    }

    pub(crate) fn number(&self, column: &str) -> u64 {
        let text = self.text(column);
        text.parse().unwrap_or_else(|_| panic!("{column} is {text}"))
    }
}
