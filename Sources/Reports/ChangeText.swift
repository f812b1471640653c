package import Contracts

/// Renders the differences between two versions of a contract for the terminal, so that a user can
/// decide whether each change was intended.
///
/// Values are never truncated, because two values may differ only at their end.
package struct ChangeText {
    /// The column at which the values start in each line.
    private static let valueColumn = 9

    private let style: TerminalStyle

    package init(style: TerminalStyle) {
        self.style = style
    }

    /// Returns the changes as lines, grouped under the step or the effect of the contract that
    /// contains them.
    package func lines(_ changes: [ContractChange]) -> [String] {
        var lines: [String] = []
        var context: [String] = []
        for change in changes {
            let (head, rest) = (Array(change.place.prefix(2)), change.place.dropFirst(2))
            if head != context {
                lines.append("  " + style.bold(head.joined(separator: " · ").printable))
            }
            context = head
            let pointer = change.pointer.map { "\($0)" } ?? ""
            let place = (rest + [pointer]).filter { !$0.isEmpty }.joined(separator: " ")
            lines += changeLines(change, at: place.printable)
        }
        return lines
    }

    private func changeLines(_ change: ContractChange, at place: String) -> [String] {
        let head = place.isEmpty ? [] : ["    " + place]
        if change.isMove {
            return ["    moved in its list: \(change.old ?? "") → \(change.new ?? "")"]
        }
        switch (change.old, change.new) {
        case (let old?, let new?):
            let (from, to) = Self.changedRange(old.printableLines, new.printableLines)
            return head + valueLines("was", old, nil, style.red)
                + valueLines("now", new, (from, to), style.green)
        case (let old?, nil): return head + valueLines("gone", old, nil, style.red)
        case (nil, let new?): return head + valueLines("new", new, nil, style.green)
        case (nil, nil): return head
        }
    }

    /// Returns the range of characters in the new value that differs from the old value.
    private static func changedRange(_ old: String, _ new: String) -> (from: Int, to: Int) {
        let (left, right) = (Array(old), Array(new))
        let start = zip(left, right).prefix { $0 == $1 }.count
        let commonSuffixCount = zip(
            left.dropFirst(start).reversed(),
            right.dropFirst(start).reversed()
        )
        .prefix { $0 == $1 }.count
        return (start, right.count - commonSuffixCount)
    }

    /// Returns the lines that show a whole value, with `^` marks below the characters that changed.
    private func valueLines(
        _ word: String,
        _ value: String,
        _ changedRange: (from: Int, to: Int)?,
        _ applyColor: (String) -> String
    ) -> [String] {
        let indentation = String(repeating: " ", count: Self.valueColumn)
        var lines: [String] = []
        var characterOffset = 0
        for line in value.printableLines.split(separator: "\n", omittingEmptySubsequences: false) {
            var rest = line[...]
            repeat {
                let row = rest.prefix(style.width - Self.valueColumn)
                rest = rest.dropFirst(row.count)
                let start = "    " + (lines.isEmpty ? word : "")
                lines.append(
                    start + String(repeating: " ", count: Self.valueColumn - start.count)
                        + applyColor(String(row).printableStart)
                )
                if let changedRange,
                    let changeMarks = Self.changeMarks(changedRange, characterOffset, row.count)
                {
                    lines.append(indentation + changeMarks)
                }
                characterOffset += row.count
            } while !rest.isEmpty
            // The line break between two lines counts as one character.
            characterOffset += 1
        }
        return lines
    }

    /// Returns the `^` marks below the changed characters of one line; nil when none or all
    /// characters of the line changed.
    private static func changeMarks(
        _ changedRange: (from: Int, to: Int),
        _ characterOffset: Int,
        _ count: Int
    ) -> String? {
        let (from, to) = (
            max(0, changedRange.from - characterOffset),
            min(count, changedRange.to - characterOffset)
        )
        guard from < to, to - from < count else { return nil }
        return String(repeating: " ", count: from) + String(repeating: "^", count: to - from)
    }
}
