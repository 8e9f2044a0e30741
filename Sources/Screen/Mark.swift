import CPango
import Glibc

/// The shapes of the screen. Each outcome has one of its own, so that no colour has to be told from another.
enum Mark: Sendable, Hashable, CaseIterable {
    /// Circle with a check mark: paid.
    case check
    /// Octagon with a cross: the payment failed.
    case cross
    /// Clock: time is up.
    case clock
    /// Rounded square with a bar: cancelled.
    case bar
    /// Circle with a slash: refused.
    case slash
    /// Diamond with a question mark: not known yet.
    case question
    /// Three dots in a capsule: in progress.
    case dots
    /// Ring with a gap: starting.
    case ring
    /// Arcs of a radio wave, struck out: offline.
    case noSignal
    /// Square with a broken corner piece: a code that cannot be shown.
    case brokenCode
    /// The corners of a viewfinder: scan.
    case scan
    /// Waves: tap.
    case tap
    /// Two links: connect.
    case connect
    /// Filled circle, half circle, ring with a slash: the lights.
    case lightReady, lightConnecting, lightUnavailable

    /// Draws the shape into the largest square in the middle of `frame`: in `colour`, with what lies inside a filled
    /// shape in `ground`.
    @unsafe func draw(on cairo: OpaquePointer, frame: PixelRect, colour: Colour, ground: Colour) {
        // One unit is the side of the square, its middle the origin.
        let side = Double(min(frame.width, frame.height))
        unsafe cairo_translate(
            cairo,
            Double(frame.x) + Double(frame.width) / 2,
            Double(frame.y) + Double(frame.height) / 2
        )
        unsafe cairo_scale(cairo, side, side)
        unsafe cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND)
        unsafe cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND)
        let pen = unsafe Pen(cairo: cairo, colour: colour, ground: ground)
        switch self {
        case .check, .cross, .clock, .bar, .slash, .question: outcome(pen)
        case .dots, .ring, .noSignal, .brokenCode: state(pen)
        case .scan, .tap, .connect: way(pen)
        case .lightReady, .lightConnecting, .lightUnavailable: light(pen)
        }
    }

    private func outcome(_ pen: Pen) {
        switch self {
        case .check:
            pen.disc(radius: 0.5)
            pen.line([(-0.22, 0.02), (-0.06, 0.18), (0.24, -0.15)], width: 0.085, inGround: true)
        case .cross:
            pen.polygon((0..<8).map { Pen.point(angle: (Double($0) + 0.5) * .pi / 4, radius: 0.5) })
            pen.line([(-0.17, -0.17), (0.17, 0.17)], width: 0.09, inGround: true)
            pen.line([(0.17, -0.17), (-0.17, 0.17)], width: 0.09, inGround: true)
        case .clock:
            pen.arc(radius: 0.45, from: 0, to: 2 * .pi, width: 0.09)
            pen.line([(0, -0.25), (0, 0.02), (0.17, 0.13)], width: 0.075)
        case .bar:
            pen.roundedSquare(side: 0.88, radius: 0.17)
            pen.line([(-0.23, 0), (0.23, 0)], width: 0.1, inGround: true)
        case .slash:
            pen.arc(radius: 0.44, from: 0, to: 2 * .pi, width: 0.11)
            pen.line([(-0.31, 0.31), (0.31, -0.31)], width: 0.11)
        case .question:
            pen.polygon([(0, -0.5), (0.5, 0), (0, 0.5), (-0.5, 0)])
            pen.arc(radius: 0.105, centre: (0, -0.125), from: .pi * 0.95, to: .pi * 2.3, width: 0.075, inGround: true)
            pen.line([(0.062, -0.04), (0, 0.02), (0, 0.075)], width: 0.075, inGround: true)
            pen.disc(radius: 0.05, centre: (0, 0.2), inGround: true)
        default: break
        }
    }

    private func state(_ pen: Pen) {
        switch self {
        case .dots:
            pen.line([(-0.29, 0), (0.29, 0)], width: 0.42)
            for x in [-0.25, 0, 0.25] { pen.disc(radius: 0.075, centre: (x, 0), inGround: true) }
        case .ring:
            pen.arc(radius: 0.43, from: -.pi * 0.4, to: .pi * 1.25, width: 0.1)
        case .noSignal:
            for radius in [0.22, 0.42, 0.62] {
                pen.arc(radius: radius, centre: (0, 0.34), from: .pi * 1.25, to: .pi * 1.75, width: 0.09)
            }
            pen.disc(radius: 0.075, centre: (0, 0.34))
            pen.line([(-0.3, 0.34), (0.34, -0.4)], width: 0.2, inGround: true)
            pen.line([(-0.3, 0.34), (0.34, -0.4)], width: 0.09)
        case .brokenCode:
            for (x, y) in [(-0.28, -0.28), (0.28, -0.28), (-0.28, 0.28)] {
                pen.square(side: 0.36, centre: (x, y), width: 0.08)
                pen.disc(radius: 0.06, centre: (x, y))
            }
            pen.line([(0.16, 0.16), (0.42, 0.42)], width: 0.09)
            pen.line([(0.42, 0.16), (0.16, 0.42)], width: 0.09)
        default: break
        }
    }

    private func way(_ pen: Pen) {
        switch self {
        case .scan:
            for (x, y) in [(-1.0, -1.0), (1, -1), (-1, 1), (1, 1)] {
                pen.line([(0.18 * x, 0.42 * y), (0.42 * x, 0.42 * y), (0.42 * x, 0.18 * y)], width: 0.1)
            }
            pen.line([(-0.2, 0), (0.2, 0)], width: 0.1)
        case .tap:
            pen.disc(radius: 0.085, centre: (-0.32, 0))
            for radius in [0.23, 0.43, 0.63] {
                pen.arc(radius: radius, centre: (-0.36, 0), from: -.pi / 4, to: .pi / 4, width: 0.1)
            }
        case .connect:
            // Two half-open chain links on a rising line.
            pen.turned(by: -.pi / 4) {
                pen.line([(-0.18, 0), (0.18, 0)], width: 0.1)
                pen.openLink(centre: -0.29, opensRight: true)
                pen.openLink(centre: 0.29, opensRight: false)
            }
        default: break
        }
    }

    private func light(_ pen: Pen) {
        switch self {
        case .lightReady: pen.disc(radius: 0.5)
        case .lightConnecting:
            pen.arc(radius: 0.42, from: 0, to: 2 * .pi, width: 0.14)
            pen.halfDisc(radius: 0.4)
        case .lightUnavailable:
            pen.line([(-0.36, -0.36), (0.36, 0.36)], width: 0.22)
            pen.line([(0.36, -0.36), (-0.36, 0.36)], width: 0.22)
        default: break
        }
    }
}

/// Simple strokes and fills in a square of side 1 around the origin. Lives within one call of `Mark.draw`.
@safe private struct Pen {
    let cairo: OpaquePointer
    let colour: Colour
    let ground: Colour

    static func point(angle: Double, radius: Double) -> (Double, Double) {
        (radius * cos(angle), radius * sin(angle))
    }

    private func use(_ inGround: Bool) {
        let chosen = inGround ? ground : colour
        unsafe cairo_set_source_rgb(cairo, chosen.red, chosen.green, chosen.blue)
    }

    func disc(radius: Double, centre: (Double, Double) = (0, 0), inGround: Bool = false) {
        use(inGround)
        unsafe cairo_new_path(cairo)
        unsafe cairo_arc(cairo, centre.0, centre.1, radius, 0, 2 * .pi)
        unsafe cairo_fill(cairo)
    }

    func halfDisc(radius: Double) {
        use(false)
        unsafe cairo_new_path(cairo)
        unsafe cairo_arc(cairo, 0, 0, radius, .pi / 2, .pi * 1.5)
        unsafe cairo_fill(cairo)
    }

    func arc(
        radius: Double,
        centre: (Double, Double) = (0, 0),
        from: Double,
        to: Double,
        width: Double,
        inGround: Bool = false
    ) {
        use(inGround)
        unsafe cairo_new_path(cairo)
        unsafe cairo_set_line_width(cairo, width)
        unsafe cairo_arc(cairo, centre.0, centre.1, radius, from, to)
        unsafe cairo_stroke(cairo)
    }

    func line(_ points: [(Double, Double)], width: Double, inGround: Bool = false) {
        use(inGround)
        unsafe cairo_new_path(cairo)
        for point in points { unsafe cairo_line_to(cairo, point.0, point.1) }
        unsafe cairo_set_line_width(cairo, width)
        unsafe cairo_stroke(cairo)
    }

    /// Filled, with slightly rounded corners.
    func polygon(_ points: [(Double, Double)]) {
        use(false)
        let rounding = 0.06
        unsafe cairo_new_path(cairo)
        for point in points { unsafe cairo_line_to(cairo, point.0 * (1 - rounding), point.1 * (1 - rounding)) }
        unsafe cairo_close_path(cairo)
        unsafe cairo_set_line_width(cairo, rounding)
        unsafe cairo_stroke_preserve(cairo)
        unsafe cairo_fill(cairo)
    }

    func roundedSquare(side: Double, radius: Double) {
        use(false)
        let inner = side / 2 - radius
        unsafe cairo_new_path(cairo)
        for (corner, (x, y)) in [(inner, inner), (-inner, inner), (-inner, -inner), (inner, -inner)].enumerated() {
            let angle = Double(corner) * .pi / 2
            unsafe cairo_arc(cairo, x, y, radius, angle, angle + .pi / 2)
        }
        unsafe cairo_fill(cairo)
    }

    func square(side: Double, centre: (Double, Double), width: Double) {
        use(false)
        unsafe cairo_new_path(cairo)
        unsafe cairo_rectangle(cairo, centre.0 - side / 2, centre.1 - side / 2, side, side)
        unsafe cairo_set_line_width(cairo, width)
        unsafe cairo_stroke(cairo)
    }

    func openLink(centre: Double, opensRight: Bool) {
        use(false)
        let side = opensRight ? 1.0 : -1
        let radius = 0.17
        unsafe cairo_new_path(cairo)
        unsafe cairo_set_line_width(cairo, 0.1)
        unsafe cairo_move_to(cairo, centre + side * 0.14, -radius)
        if opensRight {
            unsafe cairo_arc_negative(cairo, centre, 0, radius, -.pi / 2, .pi / 2)
        } else {
            unsafe cairo_arc(cairo, centre, 0, radius, -.pi / 2, .pi / 2)
        }
        unsafe cairo_line_to(cairo, centre + side * 0.14, radius)
        unsafe cairo_stroke(cairo)
    }

    func turned(by angle: Double, _ body: () -> Void) {
        unsafe cairo_save(cairo)
        unsafe cairo_rotate(cairo, angle)
        body()
        unsafe cairo_restore(cairo)
    }
}
