/// The Agent Skill for Assay: a folder with the file `SKILL.md`.
///
/// Source of the format: the specification at agentskills.io. The folder has the name of the skill.
enum AgentSkill {
    static let name = "assay"

    /// The purpose of the skill, by which an agent decides whether to read it.
    ///
    /// The format allows at most 1,024 characters.
    static let description = """
        Tests a subscription backend against fakes of its providers with the command-line tool \
        Assay, and leads from a failed case to the fix. Use it when code handles purchase \
        webhooks, entitlements, subscription state, user registration or push notifications, or \
        when the user mentions assay, assay.yaml, contracts, clauses such as S-03 or finding \
        codes such as E204.
        """

    /// The content of `SKILL.md`.
    static var text: String {
        let frontmatter = """
            ---
            name: \(name)
            description: \(description)
            compatibility: Needs the program assay on the PATH, and a backend that runs locally.
            metadata:
              version: "\(assayVersion)"
            ---
            """
        return [
            frontmatter, "# Test a subscription backend with Assay", AgentTexts.purpose,
            "## Work in this order", steps,
            """
            With an MCP client, `assay mcp` offers the same steps as tools.
            """,
            "## Read the report", reportHelp, "## Exit codes",
            ExitStatus.allCases.map { "- \($0.rawValue): \($0.meaning)" }.joined(separator: "\n"),
            "## Never",
            AgentTexts.prohibitions.map { "- Never \($0)." }.joined(separator: "\n"),
        ].joined(separator: "\n\n") + "\n"
    }

    private static var steps: String {
        AgentTexts.steps.enumerated().map { index, step in
            let command = step.command.map { " `\($0)`" } ?? ""
            return "\(index + 1). **\(step.name)**\(command). \(step.text)"
        }.joined(separator: "\n")
    }

    private static let reportHelp = """
        - The report lists causes in the order in which to fix them, each with one case.
        - A case shows the events and requests, the response of the backend, the expected and the \
        actual value, the line of the backend's log, the remedy and the command that repeats it.
        - The same seed repeats the same case. Compare its report before and after a fix.
        - A whole run takes minutes. `--max-time 5m` ends it with the report of the finished cases.
        - If the cause is unclear, run `assay explain` with the finding code or the clause.
        """
}
