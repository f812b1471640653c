package import Conformance

/// How one case of a report is looked at again.
package struct ReplayCommand: Hashable, Redactable {
    /// All but what selects the case.
    package let command: ShellCommand
    /// The command takes one case; without that it shows all of them.
    package let selects: Bool

    package init(_ words: [String], selects: Bool = true) {
        command = ShellCommand(words)
        self.selects = selects
    }

    package func redacted(by redaction: Redaction) -> ReplayCommand {
        ReplayCommand(redaction.command(command.words), selects: selects)
    }

    /// The command for these cases; for all where there are none.
    package func text(_ caseIDs: String...) -> String { text(caseIDs) }

    package func text(_ caseIDs: [String]) -> String {
        (selects ? command.adding(caseIDs.flatMap { ["--only", $0] }) : command).description
    }

    /// The command that explains a finding.
    package func explanation(of code: String) -> String {
        ShellCommand([command.words.first ?? "assay", "explain", code]).description
    }
}
