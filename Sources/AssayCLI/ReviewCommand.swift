internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Programs
internal import Recording
internal import Reports

struct ReviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "Shows what changed in golden contracts, and takes it or not.",
        discussion: """
            'assay distil' and 'assay verify --update' write NAME.yaml.new. For each of them \
            this says what changed and asks: accept (it becomes NAME.yaml), reject (it is \
            removed) or skip. What looks secret in it, or in its recording, is told. With \
            --check nothing is asked: exit 1 while anything is pending.

            Example:  assay review recordings
                      assay review --check recordings
            """
    )

    @Argument(help: "The folder of contracts.")
    var folder = "recordings"

    @Flag(name: .long, help: "Only say what is pending; exit 1 when something is (for CI).")
    var check = false

    @Flag(name: .long, help: "Accept everything that is pending.")
    var acceptAll = false

    @Flag(name: .long, help: "Reject everything that is pending.")
    var rejectAll = false

    private enum Decision { case accept, reject, skip, quit }

    mutating func run() throws {
        guard [check, acceptAll, rejectAll].count(where: { $0 }) <= 1 else {
            throw Failure(.usage, "give one of --check, --accept-all and --reject-all")
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder),
            isFolder.boolValue
        else { throw Failure(.usage, "there is no folder '\(folder)'") }
        let pending = try Self.pending(in: folder)
        guard !pending.isEmpty else {
            Terminal.output("nothing is pending in \(folder)\n")
            return
        }
        var left = 0
        var broken = 0
        for (index, path) in pending.enumerated() {
            let isReadable = show(path, "\(index + 1)/\(pending.count)")
            if !isReadable { broken += 1 }
            switch decision(isReadable) {
            case .accept: try accept(path)
            case .reject:
                try? FileManager.default.removeItem(atPath: path)
                Terminal.output("  rejected\n")
            case .skip: left += 1
            case .quit:
                left += pending.count - index
                Terminal.output("\(left) pending\n")
                return
            }
        }
        if left > 0 { Terminal.output("\(left) pending\n") }
        if broken > 0, !rejectAll {
            throw Failure(.unparsable, "\(broken) pending contracts cannot be read")
        }
        if check { throw ExitCode(ExitStatus.failures.rawValue) }
    }

    private static func pending(in folder: String) throws -> [String] {
        let enumerator = FileManager.default.enumerator(atPath: folder)
        var found: [String] = []
        while let name = enumerator?.nextObject() as? String {
            if name.hasSuffix(".yaml.new") { found.append("\(folder)/\(name)") }
        }
        return found.sorted()
    }

    /// Prints what is new; false when the file cannot be read.
    private func show(_ path: String, _ position: String) -> Bool {
        let style = Terminal.style()
        let accepted = String(path.dropLast(4))
        Terminal.output("\(position)  \(style.bold(accepted))\n")
        let id = String(accepted.dropFirst(folder.count + 1).dropLast(5))
        let new: Contract
        switch Self.read(path, id: id) {
        case .success(let contract): new = contract
        case .failure(let errors):
            Terminal.output("\(errors)\n")
            return false
        }
        tellSecrets(path, new)
        guard FileManager.default.fileExists(atPath: accepted) else {
            Terminal.output("  new\n\n")
            let data = FileManager.default.contents(atPath: path) ?? Data()
            for line in String(decoding: data, as: UTF8.self).exactLines {
                Terminal.output(line.isEmpty ? "\n" : "    \(line.printable)\n")
            }
            return true
        }
        switch Self.read(accepted, id: id) {
        case .success(let old):
            let changes = ContractChange.all(from: old, to: new)
            for line in ChangeText(style: style).lines(changes) { Terminal.output(line + "\n") }
            if changes.isEmpty { Terminal.output("  only words and dates changed\n") }
        case .failure: Terminal.output("  the accepted contract cannot be read; this replaces it\n")
        }
        return true
    }

    /// Says what looks secret in a contract and in the recording that it came from, and never what
    /// it is.
    private func tellSecrets(_ path: String, _ contract: Contract) {
        let names =
            (try? TargetOptions.profile(nil, Setting.environment))?.allSecretNames ?? []
        let data = FileManager.default.contents(atPath: path) ?? Data()
        let lines = RecordingCheck.lines(of: String(decoding: data, as: UTF8.self), names: names)
        for (number, kind) in lines.prefix(5) {
            Terminal.output("  line \(number) looks secret: \(kind)\n")
        }
        if lines.count > 5 { Terminal.output("  … and \(lines.count - 5) more lines\n") }
        let source = contract.source
        guard FileManager.default.fileExists(atPath: source + "/recording.ndjson"),
            let recording = try? RecordingFile.read(source)
        else { return }
        let count = RecordingCheck.findings(in: recording, names: names).count
        guard count > 0 else { return }
        let places = count == 1 ? "1 place looks" : "\(count) places look"
        let command = Terminal.next(["record", "--check", source])
        Terminal.output("  \(places) secret in its recording: \(command)\n")
    }

    private static func read(_ path: String, id: String) -> Result<Contract, ContractErrors> {
        guard let data = FileManager.default.contents(atPath: path),
            let text = String(data: data, encoding: .utf8)
        else {
            return .failure(
                ContractErrors([
                    ContractError(
                        .unreadable("'\(path)' cannot be read as UTF-8 text"),
                        at: SourceLocation(path: path, line: 1, column: 1)
                    )
                ])
            )
        }
        return ContractParser.parse(text, path: path, id: id).map { $0[0] }
    }

    private func decision(_ isReadable: Bool) -> Decision {
        if check { return .skip }
        if rejectAll { return .reject }
        if acceptAll { return isReadable ? .accept : .skip }
        while true {
            Terminal.output("  \(isReadable ? "[a]ccept, " : "")[r]eject, [s]kip, [q]uit? ")
            // At the end of the input nothing more is decided.
            guard let line = readLine() else {
                Terminal.output("\n")
                return .quit
            }
            switch line.lowercased().first {
            case "a" where isReadable: return .accept
            case "r": return .reject
            case "s": return .skip
            case "q": return .quit
            default: continue
            }
        }
    }

    private func accept(_ path: String) throws {
        let accepted = String(path.dropLast(4))
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.usage, "cannot read '\(path)'")
        }
        try OutputFile(accepted).write(Array(data))
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw Failure(.outputFailed, "cannot remove '\(path)': \(error.plainReason)")
        }
        Terminal.output("  accepted\n")
    }
}
