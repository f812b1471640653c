internal import Values

/// The output of the backend during a case, as reports show it: whole lines, with the line that
/// names the error.
struct BackendLog {
    private let lines: [String]
    /// The line that names the error; nil when no line does.
    private let errorLine: String?

    init(_ output: String) {
        lines = output.exactLines.filter { !$0.isEmpty }
            .map { $0.replacing("\t", with: "    ").printable }
        errorLine = LogLine.errorIndex(in: lines).map { [lines] in lines[$0] }
    }

    /// The heading of the lines.
    var title: String {
        "output of the backend" + (errorLine == nil ? "" : ", the line with the error first")
    }

    /// The lines with the error line first, and without the error line in the rest.
    var errorFirst: [String] {
        guard let errorLine else { return lines }
        return [errorLine] + lines.filter { $0 != errorLine }
    }
}
