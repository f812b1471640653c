internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Grammar
internal import Programs
internal import Recording
internal import Reports
internal import Values

struct ReviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "Accepts or rejects changes of golden contracts.",
        discussion: """
            'assay distill' and 'assay verify --update' write pending contracts as NAME.yaml.new. \
            This command shows the changes of each one and asks: accept (it becomes NAME.yaml), \
            reject (it is removed) or skip. It also lists values of the contract and of its \
            recording that look like secrets. With --check it asks nothing, and the exit code is \
            1 while a contract is pending.

            Example:  assay review recordings
                      assay review --check recordings
            """
    )

    @Argument(help: "The folder with the contracts to review.")
    var folder = "recordings"

    @Flag(name: .long, help: "Only list the pending contracts; exit 1 if there are any (for CI).")
    var check = false

    @Flag(name: .long, help: "Accept all pending contracts.")
    var acceptAll = false

    @Flag(name: .long, help: "Reject all pending contracts.")
    var rejectAll = false

    private enum Decision { case accept, reject, skip, quit }

    mutating func run() throws {
        guard [check, acceptAll, rejectAll].count(where: { $0 }) <= 1 else {
            throw CommandFailure(.usage, "give only one of --check, --accept-all and --reject-all")
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder),
            isFolder.boolValue
        else { throw CommandFailure(.usage, "the folder '\(folder)' does not exist") }
        let pendingPaths = try Self.pendingPaths(in: folder)
        guard !pendingPaths.isEmpty else {
            Terminal.output("no contract is pending in \(folder)\n")
            return
        }
        let secretNames = Self.secretNames()
        var undecidedCount = 0
        var unreadableCount = 0
        for (index, path) in pendingPaths.enumerated() {
            let isReadable = show(path, "\(index + 1)/\(pendingPaths.count)", secretNames)
            if !isReadable { unreadableCount += 1 }
            switch askForDecision(isReadable) {
            case .accept: try accept(path)
            case .reject:
                try FileManager.default.removeIfPresent(path)
                Terminal.output("  rejected\n")
            case .skip: undecidedCount += 1
            case .quit:
                undecidedCount += pendingPaths.count - index
                Terminal.output("pending contracts: \(undecidedCount)\n")
                return
            }
        }
        if undecidedCount > 0 { Terminal.output("pending contracts: \(undecidedCount)\n") }
        if unreadableCount > 0, !rejectAll {
            throw CommandFailure(.unparsable, "\(unreadableCount) pending contracts cannot be read")
        }
        if check { throw ExitCode(ExitStatus.failures.rawValue) }
    }

    private static func pendingPaths(in folder: String) throws -> [String] {
        guard let paths = FolderTree.paths(in: folder, withSuffix: ".yaml.new") else {
            throw CommandFailure(.usage, FolderTree.tooLargeText(folder))
        }
        return paths.map { "\(folder)/\($0)" }.sorted()
    }

    /// Prints the differences between a pending contract and the accepted one.
    ///
    /// - Returns: Whether the pending contract could be read.
    private func show(_ path: String, _ position: String, _ secretNames: [String]) -> Bool {
        let style = Terminal.style()
        let acceptedPath = String(path.dropLast(4))
        Terminal.output("\(position)  \(style.bold(acceptedPath))\n")
        let id = String(acceptedPath.dropFirst(folder.count + 1).dropLast(5))
        let newContract: Contract
        switch Self.read(path, id: id) {
        case .success(let contract): newContract = contract
        case .failure(let errors):
            Terminal.output("\(errors)\n")
            return false
        }
        printSecrets(path, newContract, secretNames)
        guard FileManager.default.fileExists(atPath: acceptedPath) else {
            Terminal.output("  new contract\n\n")
            let data = FileManager.default.contents(atPath: path) ?? Data()
            for line in String(decoding: data, as: UTF8.self).exactLines {
                Terminal.output(line.isEmpty ? "\n" : "    \(line.printable)\n")
            }
            return true
        }
        switch Self.read(acceptedPath, id: id) {
        case .success(let acceptedContract):
            let changes = ContractChange.changes(from: acceptedContract, to: newContract)
            for line in ChangeText(style: style).lines(changes) { Terminal.output(line + "\n") }
            if changes.isEmpty { Terminal.output("  only descriptions and dates changed\n") }
        case .failure:
            Terminal.output("  the accepted contract cannot be read; the new one replaces it\n")
        }
        return true
    }

    /// Returns the names of secrets in the profile; empty, with a note, when the profile cannot be
    /// read.
    private static func secretNames() -> [String] {
        do {
            return try TargetOptions.profile(nil, Setting.environment).allSecretNames
        } catch {
            Terminal.error(
                "assay: secrets with names from the profile are not found: \(error)\n"
                    + "Correct the profile, and review the contracts again.\n"
            )
            return []
        }
    }

    /// Prints the numbers of contract lines that look like secrets, and the number of such values
    /// in the contract's recording.
    ///
    /// The values are not printed.
    private func printSecrets(_ path: String, _ contract: Contract, _ names: [String]) {
        let data = FileManager.default.contents(atPath: path) ?? Data()
        let lines = RecordingCheck.lines(of: String(decoding: data, as: UTF8.self), names: names)
        for (number, kind) in lines.prefix(5) {
            Terminal.output("  line \(number) looks like a secret: \(kind)\n")
        }
        if lines.count > 5 { Terminal.output("  … and \(lines.count - 5) more lines\n") }
        let source = contract.source
        guard FileManager.default.fileExists(atPath: source + "/recording.ndjson") else { return }
        let recording: Recording
        do {
            recording = try RecordingFile.read(source)
        } catch {
            let reason = "\(error)".printable
            Terminal.output(
                "  the contract's recording cannot be checked for secrets: \(reason)\n"
            )
            return
        }
        let count = RecordingCheck.findings(in: recording, names: names).count
        guard count > 0 else { return }
        let command = Terminal.next(["record", "--check", source])
        Terminal.output("  values in the contract's recording that look like secrets: \(count)\n")
        Terminal.output("    to list them:  \(command)\n")
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

    private func askForDecision(_ isReadable: Bool) -> Decision {
        if check { return .skip }
        if rejectAll { return .reject }
        if acceptAll { return isReadable ? .accept : .skip }
        while true {
            Terminal.output("  \(isReadable ? "[a]ccept, " : "")[r]eject, [s]kip, [q]uit? ")
            // At the end of the input, the remaining contracts stay pending.
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
        let acceptedPath = String(path.dropLast(4))
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.usage, "cannot read '\(path)'")
        }
        try OutputFile(acceptedPath).write(Array(data))
        try FileManager.default.removeIfPresent(path)
        Terminal.output("  accepted\n")
    }
}
