//! The processes of one or all GPUs: filtered, ordered, and as a tree below those that started them.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use super::figures;
use super::view::{Page, ProcessKey, SortBy, ViewState};
use crate::board::Board;
use crate::event::{Presence, ProcessIdentity, ProcessUse};

/// More than any machine nests; a tree of parents that is longer is drawn from here on.
const DEEPEST: usize = 64;

/// A row of the list.
#[derive(Clone, Debug)]
pub(super) struct ProcessRow<'a> {
    /// Position of its GPU; `None` where it stands here only for the sake of those below it.
    pub(super) gpu: Option<usize>,
    pub(super) pid: u32,
    /// What it uses; `None` without a GPU.
    pub(super) usage: Option<ProcessUse>,
    pub(super) identity: Option<&'a ProcessIdentity>,
    /// Lines of the tree before its name.
    pub(super) branch: String,
}

impl ProcessRow<'_> {
    pub(super) fn key(&self) -> ProcessKey {
        ProcessKey {
            gpu: self.gpu,
            pid: self.pid,
        }
    }
}

/// The rows that the view shows.
pub(super) fn rows<'a>(board: &'a Board, view: &ViewState) -> Vec<ProcessRow<'a>> {
    let mut rows: Vec<ProcessRow<'a>> = Vec::new();
    for (position, gpu) in board.gpus.iter().enumerate() {
        let shown = view.page == Page::Machine || position == view.selected;
        // What a GPU that does not answer said before is not so any more.
        if !shown || gpu.presence != Presence::Live {
            continue;
        }
        rows.extend(gpu.processes.iter().flatten().map(|usage| ProcessRow {
            gpu: Some(position),
            pid: usage.pid,
            usage: Some(*usage),
            identity: board.identities.get(&usage.pid),
            branch: String::new(),
        }));
    }
    let filter = view.filter.to_lowercase();
    if !filter.is_empty() {
        rows.retain(|row| matches_filter(row, &filter));
    }
    rows.sort_by(|left, right| {
        let order = compare(left, right, view.sort);
        let order = if view.reverse { order.reverse() } else { order };
        // Equal ones keep their places from frame to frame.
        order.then_with(|| (left.pid, left.gpu).cmp(&(right.pid, right.gpu)))
    });
    if view.tree {
        rows = as_tree(board, &rows);
    }
    rows
}

fn matches_filter(row: &ProcessRow<'_>, filter: &str) -> bool {
    let known = row.identity;
    let texts = known.into_iter().flat_map(|known| {
        [
            &known.name,
            &known.user,
            &known.container,
            &known.pod,
            &known.command_line,
        ]
    });
    row.pid.to_string().contains(filter)
        || texts
            .flatten()
            .any(|text| text.to_lowercase().contains(filter))
}

fn compare(left: &ProcessRow<'_>, right: &ProcessRow<'_>, by: SortBy) -> Ordering {
    let number = |value: fn(&ProcessUse) -> Option<i64>| {
        let of = |row: &ProcessRow<'_>| Reverse(row.usage.as_ref().and_then(value));
        of(left).cmp(&of(right))
    };
    // Those about whom nothing is known come last.
    let started = |row: &ProcessRow<'_>| {
        let started = row.identity.and_then(|known| known.started_unix);
        (started.is_none(), started)
    };
    match by {
        SortBy::Memory => number(|usage| usage.memory_bytes),
        SortBy::Use => number(|usage| usage.busy_percent),
        SortBy::Gpu => left.gpu.cmp(&right.gpu),
        SortBy::Pid => left.pid.cmp(&right.pid),
        SortBy::User => figures::user(left.identity).cmp(&figures::user(right.identity)),
        SortBy::Age => started(left).cmp(&started(right)),
        SortBy::Command => figures::program(left.identity).cmp(&figures::program(right.identity)),
    }
}

/// The same rows below their ancestors; where there is a choice, in the order in which they came.
fn as_tree<'a>(board: &'a Board, rows: &[ProcessRow<'a>]) -> Vec<ProcessRow<'a>> {
    let mut own: BTreeMap<u32, Vec<&ProcessRow<'a>>> = BTreeMap::new();
    let mut children: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for row in rows {
        own.entry(row.pid).or_default().push(row);
        let mut below = row.pid;
        for _ in 0..DEEPEST {
            let parent = board.identities.get(&below).and_then(|known| known.parent);
            // One that is not known is not drawn.
            let parent = parent.filter(|parent| board.identities.contains_key(parent));
            let siblings = children.entry(parent).or_default();
            if siblings.contains(&below) {
                break;
            }
            siblings.push(below);
            match parent {
                Some(parent) => below = parent,
                None => break,
            }
        }
    }
    let mut forest = Forest {
        board,
        own,
        children,
        drawn: BTreeSet::new(),
        rows: Vec::new(),
    };
    forest.grow(None, "", 0);
    // A recording may hold a circle of parents, which no root leads to.
    for row in rows {
        if !forest.drawn.contains(&row.pid) {
            forest.rows.push(row.clone());
        }
    }
    forest.rows
}

struct Forest<'a, 'r> {
    board: &'a Board,
    own: BTreeMap<u32, Vec<&'r ProcessRow<'a>>>,
    children: BTreeMap<Option<u32>, Vec<u32>>,
    drawn: BTreeSet<u32>,
    rows: Vec<ProcessRow<'a>>,
}

impl Forest<'_, '_> {
    /// Draws what is below `parent`.
    fn grow(&mut self, parent: Option<u32>, before: &str, depth: usize) {
        let siblings = self.children.get(&parent).cloned().unwrap_or_default();
        let last = siblings.len().saturating_sub(1);
        for (nth, pid) in siblings.into_iter().enumerate() {
            if depth > DEEPEST || !self.drawn.insert(pid) {
                continue;
            }
            let (branch, below) = match (depth, nth == last) {
                (0, _) => (String::new(), String::new()),
                (_, true) => (format!("{before}└─ "), format!("{before}   ")),
                (_, false) => (format!("{before}├─ "), format!("{before}│  ")),
            };
            match self.own.get(&pid) {
                Some(own) => self.rows.extend(own.iter().map(|row| ProcessRow {
                    branch: branch.clone(),
                    ..(*row).clone()
                })),
                None => self.rows.push(ProcessRow {
                    gpu: None,
                    pid,
                    usage: None,
                    identity: self.board.identities.get(&pid),
                    branch,
                }),
            }
            self.grow(Some(pid), &below, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{GpuIdentity, Inventory};

    fn board(processes: &[(u32, i64, Option<u32>)]) -> Board {
        let mut board = Board::new(Inventory {
            gpus: vec![GpuIdentity::default()],
            ..Inventory::default()
        });
        board.gpus[0].processes = Some(Vec::new());
        for (pid, memory, parent) in processes {
            let identity = ProcessIdentity {
                pid: *pid,
                name: Some(format!("p{pid}")),
                parent: *parent,
                ..ProcessIdentity::default()
            };
            board.identities.insert(*pid, identity);
            if *memory > 0 {
                board.gpus[0]
                    .processes
                    .get_or_insert_default()
                    .push(ProcessUse {
                        pid: *pid,
                        memory_bytes: Some(*memory),
                        compute: true,
                        busy_percent: Some(100 - *memory),
                        gpu_instance: None,
                    });
            }
        }
        board
    }

    fn shown(board: &Board, view: &ViewState) -> Vec<String> {
        let rows = rows(board, view);
        rows.iter()
            .map(|row| format!("{}{}", row.branch, row.pid))
            .collect()
    }

    #[test]
    fn every_order_can_be_turned_round() {
        let board = board(&[(1, 5, None), (2, 9, None), (3, 7, None)]);
        let mut view = ViewState::default();
        assert_eq!(shown(&board, &view), ["2", "3", "1"]);
        view.sort = SortBy::Use;
        assert_eq!(shown(&board, &view), ["1", "3", "2"]);
        view.sort = SortBy::Pid;
        assert_eq!(shown(&board, &view), ["1", "2", "3"]);
        view.reverse = true;
        assert_eq!(shown(&board, &view), ["3", "2", "1"]);
    }

    #[test]
    fn the_filter_looks_at_numbers_and_names_in_any_case() {
        let board = board(&[(11, 5, None), (2, 9, None), (31, 7, None)]);
        let of = |filter: &str| {
            let view = ViewState {
                filter: filter.to_owned(),
                ..ViewState::default()
            };
            shown(&board, &view)
        };
        assert_eq!(of("1"), ["31", "11"]);
        assert_eq!(of("P2"), ["2"]);
        assert!(of("nobody").is_empty());
    }

    #[test]
    fn a_tree_has_the_parents_that_use_no_gpu() {
        let board = board(&[
            (10, 0, None),
            (11, 4, Some(10)),
            (12, 8, Some(10)),
            (13, 2, Some(11)),
            (20, 6, Some(99)),
        ]);
        let view = ViewState {
            tree: true,
            ..ViewState::default()
        };
        assert_eq!(
            shown(&board, &view),
            ["10", "├─ 12", "└─ 11", "   └─ 13", "20"]
        );
    }

    #[test]
    fn a_circle_of_parents_is_drawn_once() {
        let board = board(&[(1, 4, Some(2)), (2, 8, Some(1)), (3, 1, Some(3))]);
        let view = ViewState {
            tree: true,
            ..ViewState::default()
        };
        let mut shown = shown(&board, &view);
        shown.sort();
        assert_eq!(shown, ["1", "2", "3"]);
    }
}
