package import Redaction

/// The shell command that repeats a run or one of its cases.
package struct ReplayCommand: Hashable, Redactable {
    /// The command without the arguments that select cases.
    package let command: ShellCommand
    /// Whether the command accepts `--only ID`.
    ///
    /// Without this option, the command repeats all cases.
    package let acceptsCaseIDs: Bool

    package init(_ words: [String], acceptsCaseIDs: Bool = true) {
        command = ShellCommand(words)
        self.acceptsCaseIDs = acceptsCaseIDs
    }

    package func redacted(by redaction: Redaction) -> ReplayCommand {
        ReplayCommand(redaction.command(command.words), acceptsCaseIDs: acceptsCaseIDs)
    }

    /// Returns the command that repeats the cases with these IDs, or all cases when the list is
    /// empty.
    package func text(_ caseIDs: String...) -> String { text(caseIDs) }

    package func text(_ caseIDs: [String]) -> String {
        (acceptsCaseIDs ? command.adding(caseIDs.flatMap { ["--only", $0] }) : command).description
    }

    /// Returns the `assay explain` command for finding codes and clauses.
    package func explanation(of names: [String]) -> String {
        ShellCommand([command.words.first ?? "assay", "explain"] + names).description
    }
}
