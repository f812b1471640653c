internal import Conformance
internal import Replay
internal import Reports

/// A word to the left, and what is said of it to the right, within the terminal's width.
struct TextColumns {
    private static let indent = 15

    func line(_ word: String, _ said: String) -> [String] {
        let gap = String(repeating: " ", count: max(1, Self.indent - word.count))
        return said.wrapped(Terminal.style().width - Self.indent).enumerated().map { index, part in
            (index == 0 ? word + gap : String(repeating: " ", count: Self.indent)) + part
        }
    }

    func text(_ lines: [String]) -> String { lines.joined(separator: "\n") + "\n" }

    /// How far a campaign was at times that double, and at the end.
    func grown(_ growth: [Campaign.Progress]) -> [String] {
        var lines: [String] = []
        var next: Duration = .seconds(1)
        for (index, moment) in growth.enumerated()
        where moment.elapsed >= next || index == growth.count - 1 {
            while next <= moment.elapsed { next *= 2 }
            lines += line(
                "\(moment.elapsed.milliseconds / 1000) s",
                "\(moment.lives) lives, \(moment.features) covered, \(moment.found) found"
            )
        }
        return lines
    }
}
