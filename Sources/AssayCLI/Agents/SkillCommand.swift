internal import ArgumentParser
internal import Programs
internal import Values

struct SkillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skill",
        abstract: "Writes an Agent Skill about the use of Assay.",
        discussion: """
            Writes the file assay/SKILL.md into a folder of skills, and replaces an earlier \
            version of it.

            Example:  assay skill .claude/skills
                      assay skill ~/.agents/skills
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The folder of skills; the skill becomes the folder 'assay' in it.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var folder: String

    mutating func run() throws {
        let path = PathName(folder).appending("\(AgentSkill.name)/SKILL.md")
        try OutputFile(path).write(AgentSkill.text)
        Terminal.output("wrote \(path)\n")
    }
}
