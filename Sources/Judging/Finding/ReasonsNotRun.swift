/// The reasons why cases of a run did not run, for which the exit code does not change.
package struct ReasonsNotRun: Hashable, Sendable {
    /// One line for each kind of reason, such as `51 cases not run: the profile names no endpoint
    /// 'login' (6), 'protected' (45)`.
    ///
    /// Reasons that differ only in their first quoted name are one line.
    package let lines: [String]

    /// Collects the reasons of the cases that are not applicable.
    ///
    /// A report passes redacted cases, so that the lines contain no secrets.
    package init(_ cases: [CaseResult]) {
        let notes = cases.filter { $0.outcome == .notApplicable }.map { $0.note ?? "" }
        let kinds = Dictionary(grouping: notes.map(Reason.init), by: \.kind)
        lines = kinds.sorted { $0.key < $1.key }.map { kind, reasons in
            let names = Dictionary(grouping: reasons.compactMap(\.name)) { $0 }
                .sorted { $0.key < $1.key }
            let list = names.map { name, reasons in
                "'\(name)'" + (names.count > 1 ? " (\(reasons.count))" : "")
            }
            let text = kind.replacing(Reason.placeholder, with: list.joined(separator: ", "))
            return "\(reasons.count) case\(reasons.count == 1 ? "" : "s") not run: \(text)"
        }
    }

    /// A reason, divided at its first quoted name.
    private struct Reason {
        /// A character that no note contains, in place of the name.
        static let placeholder = "\u{FFFC}"

        /// The reason with a placeholder for the name.
        let kind: String
        let name: String?

        init(_ note: String) {
            let parts = note.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else {
                (kind, name) = (note, nil)
                return
            }
            name = String(parts[1])
            kind = "\(parts[0])\(Self.placeholder)\(parts[2])"
        }
    }
}
