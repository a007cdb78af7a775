//! The source text and its lines.

/// The text with the offset at which each line begins.
#[derive(Debug, Default)]
pub(crate) struct SourceText {
    starts: Vec<u32>,
}

impl SourceText {
    /// Finds the lines of `text`.
    pub(crate) fn index(&mut self, text: &str) {
        self.starts.clear();
        self.starts.push(0);
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        self.starts.extend(ends.map(|at| at as u32 + 1));
    }

    /// Adds the lines of a text that stands behind the others, whose first line begins at `start` and whose later ones
    /// have these offsets in it; its last line ends there.
    pub(crate) fn extend(&mut self, start: u32, later: &[u32], length: u32) {
        self.starts.extend(later.iter().map(|at| start + at));
        self.starts.push(start + length + 1);
    }

    /// The offsets of a text's lines but for the first.
    pub(crate) fn later_lines(text: &str) -> Vec<u32> {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        ends.map(|at| at as u32 + 1).collect()
    }

    /// The line, counted from 1, that an offset is on.
    pub(crate) fn line_of(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }

    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The text of a line, without its end.
    pub(crate) fn line<'t>(&self, text: &'t str, line: u32) -> &'t str {
        let Some(start) = line
            .checked_sub(1)
            .and_then(|line| self.starts.get(line as usize))
        else {
            return "";
        };
        let end = self
            .starts
            .get(line as usize)
            .map_or(text.len(), |next| *next as usize - 1);
        text[*start as usize..end].trim_end_matches('\r')
    }

    /// The column, counted in characters from 1, of an offset.
    pub(crate) fn column_of(&self, text: &str, offset: u32) -> u32 {
        let line = self.line_of(offset);
        let start = self.starts[line as usize - 1] as usize;
        text.get(start..offset as usize)
            .map_or(1, |before| before.chars().count() as u32 + 1)
    }
}
