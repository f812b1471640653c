/// A row of the table of frameworks: how a backend of this framework is started, and how its files
/// declare routes.
struct Framework: Sendable {
    /// A way in which the files of a repository show a start command.
    struct StartRule: Sendable {
        /// A pattern for the path of the file, relative to the folder of the project.
        let file: Pattern
        /// A pattern that the file contains; its group `app` is inserted for `{{app}}`.
        var text: Pattern?
        /// The command, with `{{port}}`, `{{app}}`, `{{file}}` (the path), `{{folder}}` (the folder
        /// of the file) and `{{module}}` (the path with dots and without its extension).
        let command: String
        /// A command that compiles the program, so that each start takes little time; `{{file}}` as
        /// in the command.
        var build: String?
        /// The path of a file that the command needs; nil: none.
        var needs: String?
        /// Whether each file that matches is a program of its own, which serves only its own
        /// routes.
        var isOneProgramPerFile = false
        /// Whether each match is a program, which serves only the route that the match declares.
        var isOneProgramPerMatch = false
        /// Whether the command is only a guess, so that the others come first.
        var isWeak = false
    }

    let name: String
    /// The extensions of the source files in which routes are declared.
    let extensions: Set<String>
    let starts: [StartRule]
    /// The environment variables that the framework needs to listen on the given port, or to start
    /// with its data in `{{data}}`.
    var environment: [String: String] = [:]
    var routes = RouteSyntax()
}
