internal import Values

extension Timeline {
    /// A line of a trace in the terminal.
    package struct Line: Hashable, Sendable {
        package let text: String
        /// Whether the line belongs to an exchange that a finding cites as evidence.
        package let isEvidence: Bool
    }

    /// The column at which the parties of an exchange start.
    private static let partiesColumn = 10
    /// The column of further lines about an exchange.
    private static let detailColumn = 12
    /// The maximum number of lines of a request, and of the response of an exchange.
    private static let lineMax = 6

    /// Returns the trace for the terminal.
    ///
    /// Equal exchanges in a row are one line. The time is shown where it changes. A trace of many exchanges is shortened in its middle;
    /// the exchanges that the findings cite are always shown.
    ///
    /// - Parameters:
    ///   - exchangeMax: The number of exchanges that are shown, in addition to the cited ones.
    ///   - width: The maximum number of characters in a line.
    /// - Returns: The lines in the order of the exchanges, and the IDs of the users at the end.
    package func lines(
        exchangeMax: Int = 24,
        width: Int = TerminalStyle.standardWidth
    ) -> [Line] {
        let groups = groups
        let columns = Columns(groups.map(\.entry), width)
        let visibleHalfCount = exchangeMax / 2
        let hiddenIndices = groups.indices.dropFirst(visibleHalfCount).dropLast(visibleHalfCount)
            .filter { !groups[$0].entry.isEvidence }
        let hidden = Set(groups.count > exchangeMax ? hiddenIndices : [])
        var lines: [Line] = []
        var hiddenCount = 0
        for (index, group) in groups.enumerated() {
            if hidden.contains(index) { hiddenCount += group.count }
            if hiddenCount > 0, !hidden.contains(index) || index == groups.count - 1 {
                lines.append(Line(text: Self.gap(hiddenCount), isEvidence: false))
                hiddenCount = 0
            }
            if !hidden.contains(index) { lines += Self.lines(group.entry, columns, group.count) }
        }
        return lines + legendLines(width)
    }

    /// The entries, with one entry and a count for equal ones in a row, such as the polls of an app.
    private var groups: [(entry: Entry, count: Int)] {
        var groups: [(entry: Entry, count: Int)] = []
        for entry in entries {
            if let last = groups.last?.entry, last.looksLike(entry) {
                groups[groups.count - 1].count += 1
            } else {
                groups.append((entry, 1))
            }
        }
        return groups
    }

    private static func gap(_ count: Int) -> String {
        String(repeating: " ", count: partiesColumn)
            + "… \(count) more exchange\(count == 1 ? "" : "s") …"
    }

    private func legendLines(_ width: Int) -> [Line] {
        guard !legend.isEmpty else { return [] }
        let lines = legend.joined(separator: ", ").printable.wrapped(width - Self.detailColumn)
        return lines.enumerated().map { index, line in
            Line(
                text: pad(index == 0 ? "  users" : "", Self.detailColumn) + line,
                isEvidence: false
            )
        }
    }

    /// The widths of the columns of a trace, in characters.
    private struct Columns {
        let from: Int
        let to: Int
        let width: Int

        init(_ entries: [Entry], _ width: Int) {
            from = entries.map(\.exchange.from.description.count).max() ?? 0
            to = entries.map(\.exchange.to.description.count).max() ?? 0
            self.width = width
        }
    }

    private static func lines(_ entry: Entry, _ columns: Columns, _ count: Int) -> [Line] {
        let parties =
            pad(entry.exchange.from.description, columns.from) + " → "
            + pad(entry.exchange.to.description, columns.to)
        let mark = entry.isEvidence ? "> " : "  "
        let start =
            pad(mark + (entry.isAtNewTime ? entry.time : ""), partiesColumn) + parties + "  "
            + pad(entry.outcome, 3) + "  "
        let detailWidth = columns.width - detailColumn
        let (first, rest) = split(
            "\(entry.subject) \(entry.words)\(count > 1 ? " (\(count) times)" : "")".printable,
            columns.width - start.count
        )
        var details = limited(rest.wrapped(detailWidth), lineMax)
        if rest.isEmpty { details = [] }
        details += entry.details.flatMap { $0.printable.wrapped(detailWidth) }
        if let response = entry.response {
            let lines = limited(response.printable.wrapped(detailWidth - 2), lineMax)
            details += lines.enumerated().map { ($0 == 0 ? "← " : "  ") + $1 }
        }
        let indentation = String(repeating: " ", count: detailColumn)
        return ([start + first] + details.map { indentation + $0 }).map {
            Line(text: $0, isEvidence: entry.isEvidence)
        }
    }

    /// Splits text at the last space that lets its first part fit into `width` characters.
    ///
    /// The first part is empty when the first word is too long.
    private static func split(_ text: String, _ width: Int) -> (first: String, rest: String) {
        guard text.count > width else { return (text, "") }
        guard let space = text.prefix(max(0, width) + 1).lastIndex(of: " ") else {
            return ("", text)
        }
        return (String(text[..<space]), String(text[text.index(after: space)...]))
    }

    /// Returns the first lines, with a mark at the end when there are more.
    private static func limited(_ lines: [String], _ lineMax: Int) -> [String] {
        guard lines.count > lineMax, let last = lines.prefix(lineMax).last else { return lines }
        return lines.prefix(lineMax - 1) + [last.dropLast() + "…"]
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func pad(_ text: String, _ width: Int) -> String { Self.pad(text, width) }
}

extension Timeline.Entry {
    /// Whether a later entry at the same time has the same text.
    fileprivate func looksLike(_ later: Timeline.Entry) -> Bool {
        !later.isAtNewTime && exchange.from == later.exchange.from
            && exchange.to == later.exchange.to && subject == later.subject && words == later.words
            && details == later.details && response == later.response && outcome == later.outcome
            && isEvidence == later.isEvidence
    }
}
