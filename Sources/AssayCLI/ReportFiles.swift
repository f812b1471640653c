internal import Conformance
internal import Foundation
internal import Reports

/// `--report FORMAT=PATH`: checked before the run, written after it, even after a part of it.
struct ReportFiles {
    private enum Format: String, CaseIterable {
        case json, junit, html, github, badge
    }

    private let files: [(format: Format, path: String)]

    /// Opens every path now, so that a long run is not lost to a typo.
    init(_ options: [String]) throws {
        files = try options.map { option in
            let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let format = Format(rawValue: parts[0]) else {
                let formats = Format.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(
                    .usage,
                    "--report '\(option)' is not FORMAT=PATH with one of \(formats)"
                )
            }
            return (format, parts[1])
        }
        for (_, path) in files where path != "-" { _ = try Self.checked(path) }
    }

    /// The path, when a file can be written there.
    static func checked(_ path: String) throws -> String {
        let folder = (path as NSString).deletingLastPathComponent
        if !folder.isEmpty {
            try? FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true
            )
        }
        guard let handle = fopen(path, "a") else {
            let reason = String(cString: strerror(errno))
            throw Failure(.usage, "cannot write the report '\(path)': \(reason)")
        }
        fclose(handle)
        return path
    }

    var usesStandardOutput: Bool { files.contains { $0.path == "-" } }

    func write(_ report: RunReport) throws {
        for (format, path) in files {
            let text =
                switch format {
                case .json: JSONReport.render(report)
                case .junit: JUnitReport.render(report)
                case .html: HTMLReport.render(report)
                case .github: GitHubReport.render(report)
                case .badge: BadgeReport.render(report)
                }
            if path == "-" {
                Terminal.output(text)
                continue
            }
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            } catch {
                throw Failure(.usage, "cannot write the report '\(path)': \(error)")
            }
        }
    }
}
