internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Grammar
internal import Values

struct LintCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Checks contracts and profiles without a backend.",
        discussion: """
            Without arguments, checks the shipped contracts and ./assay.yaml if it exists.

            Example:  assay lint my-contracts/ assay.yaml
                      assay lint --schema contract > contract.schema.json
            """
    )

    @Option(name: .long, help: "Print the JSON Schema of 'contract' or 'profile', and exit.")
    var schema: String?

    @Argument(help: "Contract files, folders of contracts, and profiles.")
    var paths: [String] = []

    mutating func run() async throws {
        if let schema {
            guard let language = FileFormat(rawValue: schema) else {
                let knownFormatNames = FileFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "--schema '\(schema)' is not one of \(knownFormatNames)"
                )
            }
            Terminal.printDocument(language.schema)
            return
        }
        var errors: [ContractError] = []
        var contractCount = 0
        var profileCount = 0
        var inputPaths = paths
        if paths.isEmpty {
            let library = ContractLibrary.fullyChecked()
            errors += library.errors
            contractCount += library.files.count
            if FileManager.default.fileExists(atPath: "assay.yaml") { inputPaths = ["assay.yaml"] }
        }
        for path in inputPaths {
            if let text = profileText(at: path) {
                profileCount += 1
                let environment = DotEnv.mergedVariables(nextTo: path, Setting.environment)
                if case .failure(let found) = ProfileParser.parse(
                    text,
                    path: path,
                    environment: environment
                ) {
                    errors += found.errors
                }
                continue
            }
            do throws(ContractErrors) {
                let library = try ContractLibrary.folder(path)
                if library.files.isEmpty {
                    throw ContractErrors([
                        ContractError(
                            .unreadable("'\(path)' contains no .yaml file"),
                            at: SourceLocation(path: path, line: 1, column: 1)
                        )
                    ])
                }
                errors += library.errors
                contractCount += library.files.count
            } catch {
                throw CommandFailure(.usage, error.errors.first?.message ?? "")
            }
        }
        for error in errors { Terminal.output("\(error)\n\n") }
        Terminal.output(
            "\(contractCount) contract\(contractCount == 1 ? "" : "s"), "
                + "\(profileCount) profile\(profileCount == 1 ? "" : "s"): "
                + (errors.isEmpty
                    ? "no errors\n" : "\(errors.count) error\(errors.count == 1 ? "" : "s")\n")
        )
        if !errors.isEmpty { throw ExitCode(ExitStatus.unparsable.rawValue) }
    }

    /// Returns the text of the file at a path if the file is a profile; nil for a folder and for a
    /// contract.
    ///
    /// A file without a line `contract:` is a profile.
    private func profileText(at path: String) -> String? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            !isFolder.boolValue, let data = FileManager.default.contents(atPath: path)
        else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        let isContract = text.split(separator: "\n").contains { $0.hasPrefix("contract:") }
        return isContract ? nil : text
    }
}
