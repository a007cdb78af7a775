//! Pictures of lattices as PNG files: 8-bit colour, one pixel to a cell, enlarged by whole factors.

use std::io;

use warpsmith_formats::png;

use crate::bfs::{Labels, Maze};
use crate::rd::Field;
use crate::shape::{Cell, Shape};

/// A picture in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    /// Red, green, blue, row by row.
    pixels: Vec<u8>,
}

type Colour = [u8; 3];

const WALL: Colour = [40, 40, 48];
const UNREACHED: Colour = [225, 225, 230];
const PATH: Colour = [214, 39, 40];
const END: Colour = [255, 190, 0];

/// Dark blue over green to yellow, equally spaced; lightness rises with the value, so it also reads
/// in grey and for people who do not tell red from green.
const SCALE: [Colour; 5] = [
    [68, 1, 84],
    [59, 82, 139],
    [33, 145, 140],
    [94, 201, 98],
    [253, 231, 37],
];

fn scale(value: f32) -> Colour {
    let place = value.clamp(0.0, 1.0) * (SCALE.len() - 1) as f32;
    let below = (place as usize).min(SCALE.len() - 2);
    let part = place - below as f32;
    std::array::from_fn(|channel| {
        let (from, to) = (
            f32::from(SCALE[below][channel]),
            f32::from(SCALE[below + 1][channel]),
        );
        (from + part * (to - from)).round() as u8
    })
}

impl Image {
    /// A picture of `width` by `height` cells, each `factor` pixels wide.
    fn drawn(
        (width, height): (usize, usize),
        factor: usize,
        colour: impl Fn(usize, usize) -> Colour,
    ) -> Self {
        let (wide, high) = (width * factor, height * factor);
        let mut pixels = Vec::with_capacity(3 * wide * high);
        for y in 0..high {
            for x in 0..wide {
                pixels.extend(colour(x / factor, y / factor));
            }
        }
        Self {
            width: wide,
            height: high,
            pixels,
        }
    }

    /// The medium of plane `z`.
    pub fn slice(field: &Field, z: usize) -> Self {
        let [_, ny, nx] = field.shape.extents();
        Self::drawn((nx, ny), factor_for(nx.max(ny)), |x, y| {
            scale(field.u[field.shape.index(Cell([z, y, x]))])
        })
    }

    /// A path over the plane in which it has most of its cells: walls dark, the part of the path in
    /// that plane red, its ends yellow. `labels` shade what was reached.
    pub fn path(maze: &Maze, labels: &Labels, path: &[Cell]) -> Self {
        let shape = maze.shape();
        let [nz, ny, nx] = shape.extents();
        let mut cells = vec![0usize; nz];
        for cell in path {
            cells[cell.0[0]] += 1;
        }
        let z = (0..nz).rev().max_by_key(|&z| cells[z]).unwrap_or(0);
        let mut on_path = vec![false; ny * nx];
        for cell in path.iter().filter(|cell| cell.0[0] == z) {
            on_path[cell.0[1] * nx + cell.0[2]] = true;
        }
        let ends = [path.first(), path.last()];
        Self::drawn((nx, ny), factor_for(nx.max(ny)), |x, y| {
            let cell = Cell([z, y, x]);
            if ends.contains(&Some(&cell)) {
                END
            } else if on_path[y * nx + x] {
                PATH
            } else if !maze.is_free(cell) {
                WALL
            } else {
                match labels.get(cell) {
                    // Three tones that follow each other outwards: the wave shows its fronts.
                    Some(label) => [150 + 25 * label, 190 + 20 * label, 240],
                    None => UNREACHED,
                }
            }
        })
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The picture as a PNG file.
    ///
    /// # Errors
    /// Where PNG has no picture of this size.
    pub fn to_png(&self) -> io::Result<Vec<u8>> {
        png::encode_rgb(self.width, self.pixels.as_chunks().0)
    }
}

/// Small lattices are enlarged to some 512 pixels.
fn factor_for(extent: usize) -> usize {
    (512 / extent.max(1)).clamp(1, 32)
}

/// The middle plane of a lattice.
pub fn middle(shape: Shape) -> usize {
    shape.extents()[0] / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_unpacks_to_the_pixels_it_was_made_of() {
        let field = Field::noise(Shape::new(&[5, 7]).unwrap(), 3).unwrap();
        let image = Image::slice(&field, 0);
        let png = image.to_png().unwrap();
        let start = png.windows(4).position(|word| word == b"IDAT").unwrap();
        let length = u32::from_be_bytes(png[start - 4..start].try_into().unwrap()) as usize;
        let lines =
            miniz_oxide::inflate::decompress_to_vec_zlib(&png[start + 4..start + 4 + length])
                .unwrap();
        let mut pixels = Vec::new();
        for line in lines.chunks_exact(1 + 3 * image.width) {
            assert_eq!(line[0], 1);
            let mut row: Vec<u8> = Vec::new();
            for (index, &byte) in line[1..].iter().enumerate() {
                let before = index.checked_sub(3).map_or(0, |earlier| row[earlier]);
                row.push(byte.wrapping_add(before));
            }
            pixels.extend(row);
        }
        assert_eq!(pixels, image.pixels);
        assert_eq!(image.size(), (7 * 32, 5 * 32));
    }

    #[test]
    fn a_path_shows_on_its_plane() {
        let drawn = crate::bfs::parse_map("S.#\n..#\n.T#\n").unwrap();
        let mut search = crate::bfs::TileSearch::new(drawn.maze.clone()).unwrap();
        search.run(drawn.source.unwrap(), None).unwrap();
        let labels = search.labels();
        let path = labels.path(drawn.target.unwrap()).unwrap();
        let image = Image::path(&drawn.maze, &labels, &path);
        let count = |colour: Colour| {
            let pixels = image.pixels.chunks_exact(3);
            pixels.filter(|pixel| *pixel == colour).count() / (32 * 32)
        };
        assert_eq!((count(END), count(PATH), count(WALL)), (2, 2, 3));
    }
}
