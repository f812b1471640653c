internal import ArgumentParser
internal import Foundation
internal import Providers
internal import Reports

/// Prints the API operations of the real services, and the support of each operation in the fakes.
struct CoverageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coverage",
        abstract: "Lists the API operations that the fakes support.",
        discussion: """
            Example:  assay coverage
                      assay coverage --json
            """
    )

    @Flag(name: .long, help: "Print JSON with one object for each operation.")
    var json = false

    mutating func run() throws {
        let coverage = ServiceCoverage(providers: ProviderTable.all.sortedEntries)
        let width = Terminal.isInteractive(1) ? Terminal.width(STDOUT_FILENO) : nil
        if json {
            Terminal.printDocument(coverage.json.printedText + "\n")
        } else {
            Terminal.output(coverage.text(width))
        }
    }
}
