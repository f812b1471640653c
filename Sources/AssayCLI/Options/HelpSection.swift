/// The titles of option groups in `--help`, in the manual page and in the command reference.
enum HelpSection {
    /// The options that most runs need.
    static let mostUsed = "Most used"
    static let selection = "What to run"
    static let reach = "How to reach the backend"
    static let reports = "Reports"
    static let ci = "CI and accepted failures"
    static let limits = "Limits"
}
