internal import Replay
internal import Reports
internal import Values

/// Text in two columns, with labels in the left column and their texts in the right one, within the
/// width of the terminal.
struct TextColumns {
    private static let indent = 22

    func line(_ label: String, _ content: String) -> [String] {
        let padding = String(repeating: " ", count: max(1, Self.indent - label.count))
        return content.wrapped(Terminal.style().width - Self.indent).enumerated().map {
            index,
            part in
            (index == 0 ? label + padding : String(repeating: " ", count: Self.indent)) + part
        }
    }

    func text(_ lines: [String]) -> String { lines.joined(separator: "\n") + "\n" }

    /// Returns lines with the progress of a campaign after 1, 2, 4, … seconds and at the end.
    func growthLines(_ growth: [Campaign.Progress]) -> [String] {
        var lines: [String] = []
        var nextLineTime: Duration = .seconds(1)
        for (index, moment) in growth.enumerated()
        where moment.elapsed >= nextLineTime || index == growth.count - 1 {
            while nextLineTime <= moment.elapsed { nextLineTime *= 2 }
            lines += line(
                "\(moment.elapsed.milliseconds / 1000) s",
                "\(moment.histories) histories, \(moment.features) features covered, "
                    + "\(moment.found) failures found"
            )
        }
        return lines
    }
}
