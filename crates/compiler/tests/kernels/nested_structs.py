# Structs hold structs; a function takes and returns them.
#
# run: dim=2 o=[0,0] -> o=[6,16]
import warp as wp


@wp.struct
class Point:
    x: float
    y: float


@wp.struct
class Segment:
    a: Point
    b: Point


@wp.func
def along(s: Segment, t: float):
    p = Point()
    p.x = s.a.x + t * (s.b.x - s.a.x)
    p.y = s.a.y + t * (s.b.y - s.a.y)
    return p


@wp.kernel
def segments(o: wp.array(dtype=float)):
    i = wp.tid()
    s = Segment()
    s.a = Point(1.0, 5.0)
    s.b = Point(5.0, 11.0)
    p = along(s, float(i))
    o[i] = p.x + p.y
