internal import Providers

/// The names of headers in which the code of a backend reads the session of a user, in addition to
/// `Authorization`.
struct SessionHeaders: Sendable {
    /// The lowercase names, in the order in which the code has them.
    private(set) var names: [String] = []

    init() {}

    init(_ source: SourceText) {
        for pattern in Self.patterns {
            for match in source.matches(pattern) {
                guard let text = match["name"] else { continue }
                let name = text.lowercased().replacing("_", with: "-")
                let words = name.split(separator: "-").map(String.init)
                let isOther = words.contains(where: Self.otherWords.contains)
                if !isOther, !names.contains(name) { names.append(name) }
            }
        }
    }

    mutating func add(_ other: SessionHeaders) { names = (names + other.names).uniqued() }

    private static let patterns: [Pattern] = [
        // request.headers["X-User-Token"], c.GetHeader("X-Session-Id"), Header(alias="X-Auth-Token")
        #"(?i)["'](?<name>x-(?:[a-z]+-){0,3}(?:token|session|auth)(?:-id|-key)?)["']"#,
        // x_user_token: str = Header(...)
        #"(?i)\b(?<name>x_(?:[a-z]+_){0,3}(?:token|session|auth)(?:_id)?)\s*:[^\n=]{0,60}=\s*Header\("#,
        // $_SERVER['HTTP_X_USER_TOKEN'], request.META["HTTP_X_USER_TOKEN"]
        #"(?i)\bhttp_(?<name>x_(?:[a-z]+_){0,3}(?:token|session|auth)(?:_id)?)\b"#,
    ]

    /// Words in the names of headers that prove something else than the session of a user.
    private static let otherWords: Set<String> = {
        var words: Set = [
            "csrf", "xsrf", "admin", "cron", "internal", "service", "hook", "webhook", "appcheck",
            "refresh", "push", "bot", "telegram", "goog", "amz", "gitlab", "github", "stripe",
            "operator", "job", "worker",
        ]
        for provider in Services.providers {
            words.formUnion(provider.hints.environmentVariableNameParts.map { $0.lowercased() })
        }
        return words
    }()
}
