//! What the user has chosen to see.

use crate::Micros;

/// A page of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// Every GPU and every process.
    #[default]
    Machine,
    /// One GPU with its history.
    Gpu,
}

/// The list that the arrow keys move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// GPUs.
    #[default]
    Gpus,
    /// Processes.
    Processes,
}

/// What processes are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Device memory, most first.
    #[default]
    Memory,
    /// Use of the GPU, most first.
    Use,
    /// The GPU's index.
    Gpu,
    /// Process id.
    Pid,
    /// Owner.
    User,
    /// Oldest first.
    Age,
    /// Program.
    Command,
}

impl SortBy {
    /// Every order, as `s` goes through them.
    pub const ALL: [Self; 7] = [
        Self::Memory,
        Self::Use,
        Self::Gpu,
        Self::Pid,
        Self::User,
        Self::Age,
        Self::Command,
    ];

    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// A row of the process list: a process may be on several GPUs, and one of the tree on none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessKey {
    /// Position of the GPU.
    pub gpu: Option<usize>,
    /// Process id.
    pub pid: u32,
}

/// A process that the user is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Process id.
    pub pid: u32,
    /// Who it is, in a line.
    pub who: String,
}

/// What the user has chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewState {
    /// Which page is shown.
    pub page: Page,
    /// Which list the arrow keys move in.
    pub focus: Focus,
    /// Position of the GPU that is chosen.
    pub selected: usize,
    /// The process that is chosen.
    pub process: Option<ProcessKey>,
    /// Order of the processes.
    pub sort: SortBy,
    /// Whether that order is turned round.
    pub reverse: bool,
    /// Whether processes stand below those that started them.
    pub tree: bool,
    /// Only processes with this text are shown.
    pub filter: String,
    /// Whether keys go into the filter.
    pub typing: bool,
    /// Whether the help is open.
    pub help: bool,
    /// The process about which the user is asked whether to end it.
    pub question: Option<Question>,
    /// What happened last, in the line above the keys.
    pub message: Option<String>,
    /// Whether the picture stands still.
    pub paused: bool,
    /// Whether colour may be used.
    pub colour: bool,
    /// What is shown beside the title: the source of a replay.
    pub title: String,
    /// Whether the keys that move a replay do something.
    pub replay: bool,
    /// Seconds of the recording in a second of the view.
    pub speed: f64,
    /// The time; that of the latest reading where it is not given.
    pub now: Option<Micros>,
}

impl Default for ViewState {
    fn default() -> Self {
        Self {
            page: Page::default(),
            focus: Focus::default(),
            selected: 0,
            process: None,
            sort: SortBy::default(),
            reverse: false,
            tree: false,
            filter: String::new(),
            typing: false,
            help: false,
            question: None,
            message: None,
            paused: false,
            colour: false,
            title: String::new(),
            replay: false,
            speed: 1.0,
            now: None,
        }
    }
}

impl ViewState {
    /// Whether keys answer something that is open, and move nothing else.
    pub fn is_modal(&self) -> bool {
        self.typing || self.help || self.question.is_some()
    }
}
