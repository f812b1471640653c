internal import ArgumentParser
internal import Conformance
internal import FakeServers
internal import Foundation

/// An option that may also be given by a variable of the environment, and perhaps by the profile:
/// the one place that says its names, what counts when nobody says anything, and what it is for.
///
/// `--help`, the reading of the environment, what errors call it and the search for misspelt
/// variables follow from it. A flag counts more than a variable, a variable more than the profile.
struct Setting: Sendable {
    /// The flag without its dashes; nil: the environment alone says it.
    let flag: String?
    let variable: String
    /// The profile's key that says the same.
    let profileKey: String?
    /// What counts when nobody says anything, in words.
    let fallback: String?
    let summary: String

    init(
        _ flag: String?,
        _ variable: String,
        profile profileKey: String? = nil,
        fallback: String? = nil,
        _ summary: String
    ) {
        self.flag = flag
        self.variable = variable
        self.profileKey = profileKey
        self.fallback = fallback
        self.summary = summary
    }

    /// What `--help` says of it.
    var help: ArgumentHelp {
        let notes = [fallback.map { "default: \($0)" }, variable].compactMap { $0 }
        return ArgumentHelp(stringLiteral: "\(summary) (\(notes.joined(separator: "; "))).")
    }

    /// Its flag, or the variable where it has none.
    var name: String { flag.map { "--" + $0 } ?? variable }

    // MARK: Reading

    /// What somebody gave, and the name by which errors speak of it.
    struct Given: Sendable {
        let text: String
        let name: String
    }

    typealias Environment = [String: String]

    static var environment: Environment { ProcessInfo.processInfo.environment }

    /// What the variable says, where it is a secret.
    var secret: Secret? { text(nil).flatMap { $0.isEmpty ? nil : Secret($0) } }

    /// What the flag says, else the variable; nil when neither says anything.
    func given(_ flag: String?, _ environment: Environment = Self.environment) -> Given? {
        if let flag { return Given(text: flag, name: name) }
        return environment[variable].map { Given(text: $0, name: variable) }
    }

    func text(_ flag: String?, _ environment: Environment = Self.environment) -> String? {
        given(flag, environment)?.text
    }

    /// What the flags say, else the variable's parts between commas.
    func texts(_ flags: [String], _ environment: Environment = Self.environment) -> [String] {
        guard flags.isEmpty else { return flags }
        return environment[variable]?.split(separator: ",").map(String.init) ?? []
    }

    /// Whether the flag, or else the variable, asks for it.
    ///
    /// - Throws: A failure of usage where the variable says neither `true` nor `false`.
    func isAsked(_ flag: Bool, _ environment: Environment = Self.environment) throws -> Bool {
        if flag { return true }
        switch environment[variable]?.lowercased() {
        case "true", "1", "yes": return true
        case nil, "", "false", "0", "no": return false
        case let text?:
            throw Failure(.usage, "\(variable) '\(text)' is neither true nor false")
        }
    }

    /// A whole number within bounds.
    ///
    /// - Throws: A failure of usage that names the flag or the variable, whichever was given.
    func number(
        _ flag: Int?,
        or normal: Int,
        in range: ClosedRange<Int>,
        _ environment: Environment = Self.environment
    ) throws -> Int {
        guard let given = given(flag.map(String.init), environment) else { return normal }
        guard let number = Int(given.text), range.contains(number) else {
            throw Failure(
                .usage,
                "\(given.name) '\(given.text)' is not a number from \(range.lowerBound) to "
                    + "\(range.upperBound)"
            )
        }
        return number
    }
}

extension Setting {
    static let profile = Setting(
        "profile",
        "ASSAY_PROFILE",
        fallback: "./assay.yaml if there is one",
        "The profile"
    )
    static let importProfile = Setting(
        "profile",
        "ASSAY_PROFILE",
        fallback: "./assay.yaml",
        "The profile, for the webhooks' paths"
    )
    static let target = Setting(
        "target",
        "ASSAY_TARGET",
        profile: "target",
        "URL of a backend that is already running"
    )
    static let start = Setting(
        "start",
        "ASSAY_START",
        profile: "start",
        "Shell command that starts the backend"
    )
    static let targetHosts = Setting(
        "allow-host",
        "ASSAY_ALLOW_HOST",
        "A host other than loopback that may be a target, or that an intercepted backend may call"
    )
    static let pageHosts = Setting(
        "allow-host",
        "ASSAY_ALLOW_HOST",
        "A host other than loopback that the page may be on or call"
    )
    static let listen = Setting(
        "listen",
        "ASSAY_LISTEN",
        "Fixed address of a fake: PROVIDER=HOST:PORT, for example onesignal=127.0.0.1:9320"
    )
    static let serveListen = Setting(
        "listen",
        "ASSAY_LISTEN",
        "Another address: NAME=HOST:PORT, for example control=127.0.0.1:0"
    )
    static let intercept = Setting(
        "intercept",
        "ASSAY_INTERCEPT",
        profile: "start: intercept",
        "Let the started backend's calls to the services' own hosts reach the fakes, and refuse all "
            + "others"
    )
    static let contracts = Setting(
        "contracts",
        "ASSAY_CONTRACTS",
        "A folder of contracts of your own; the same id replaces a shipped one"
    )
    static let report = Setting(
        "report",
        "ASSAY_REPORT",
        "FORMAT=PATH, repeatable: json, junit, html, github, markdown, badge; PATH - is standard output"
    )
    static let knownFailing = Setting(
        "known-failing",
        "ASSAY_KNOWN_FAILING",
        profile: "known-failing",
        "List of accepted failures: case, code, reason"
    )
    static let seed = Setting(
        "seed",
        "ASSAY_SEED",
        "Any text; the same seed runs the same cases the same way"
    )
    static let appSeed = Setting("seed", "ASSAY_SEED", "Any text; it names the run's users")
    static let jobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "8",
        "How many cases run at once, beside those that only wait"
    )
    static let backends = Setting(
        "backends",
        "ASSAY_BACKENDS",
        fallback: "1 and 2 for each processor where 'start' names {{data}}, else 1",
        "How many backends may stand at once, for cases that play alone"
    )
    static let minimiseJobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "8",
        "With --minimise: how many candidates are played at once"
    )
    static let appJobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "10 for each processor, at most 32",
        "How many scenarios run at once"
    )
    static let shard = Setting(
        "shard",
        "ASSAY_SHARD",
        "I/N, or 'auto' where the CI engine says it: only this part of the suite; 'assay merge' joins"
    )
    static let save = Setting(
        "save",
        "ASSAY_SAVE",
        "Write the whole run to a file that 'assay judge' reads"
    )
    static let maxTime = Setting(
        "max-time",
        "ASSAY_MAX_TIME",
        fallback: "15m",
        "Stop after this long and report what has run"
    )
    static let found = Setting(
        "found",
        "ASSAY_FOUND",
        fallback: "assay-found",
        "Where what variations and lives have found is written as contracts"
    )
    static let exploreTime = Setting(
        "for",
        "ASSAY_FOR",
        fallback: "until nothing new was played for a minute",
        "How long lives are played, such as 2m"
    )
    static let exploreJobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "16",
        "How many lives are played at once"
    )
    static let lives = Setting(
        "lives",
        "ASSAY_LIVES",
        fallback: "as many as there is time for",
        "How many lives are played"
    )
    static let corpus = Setting(
        "corpus",
        "ASSAY_CORPUS",
        "A folder of lives to begin with, where those worth keeping are left"
    )
    static let shrinkTime = Setting(
        "shrink-time",
        "ASSAY_SHRINK_TIME",
        fallback: "20s",
        "How long one life that fails may be made smaller"
    )
    static let expired = Setting(
        "expired",
        "ASSAY_EXPIRED",
        "Golden contracts older than their max-age: warn or error"
    )
    static let url = Setting("url", "ASSAY_URL", profile: "app.url", "URL of the web app")
    static let browser = Setting(
        "browser",
        "ASSAY_BROWSER",
        fallback: "chrome-headless-shell or chromium on the PATH",
        "The browser: a path or a name"
    )
    static let bodyMax = Setting(
        "body-max",
        "ASSAY_BODY_MAX",
        "Bodies longer than this many KiB are kept as length and digest"
    )
    static let redactionKey = Setting(
        nil,
        "ASSAY_REDACTION_KEY",
        "What stands in for secrets in a recording is made with it"
    )
    static let advertise = Setting(
        "advertise",
        "ASSAY_ADVERTISE",
        "The host by which others reach this machine, as a container does: fakes are told by it, and "
            + "listen on every address"
    )
    static let authority = Setting(
        "ca",
        "ASSAY_CA",
        profile: "ca",
        fallback: "SSL_CERT_FILE",
        "A file in PEM of who signed the certificate of an https address, believed beside the system's"
    )
    static let controlToken = Setting(
        nil,
        "ASSAY_CONTROL_TOKEN",
        "What callers of the control API have to show, and what 'send' and 'resend' show it"
    )

    static let liveKey = Setting(
        nil,
        "ASSAY_LIVE_KEY",
        "The key that 'doctor --against-live' shows the live service; one that may only read is best"
    )

    /// All of them; who adds one adds a line here.
    static let all: [Setting] = [
        profile, importProfile, target, start, intercept, targetHosts, pageHosts, listen,
        serveListen,
        contracts, report,
        knownFailing, seed, appSeed, jobs, backends, minimiseJobs, appJobs,
        exploreJobs, shard, save, maxTime,
        found, exploreTime, lives, corpus, shrinkTime,
        expired, url,
        browser, bodyMax, redactionKey, controlToken, authority, advertise, liveKey,
    ]

    /// A line for each that no flag says.
    static let withoutFlag: String = all.filter { $0.flag == nil }
        .map { "  \($0.variable)  \($0.summary)." }.joined(separator: "\n")

    /// Variables that Assay sets itself.
    private static let own = [
        "ASSAY_PROCESS", "ASSAY_AUTHORITY", EgressHook.addressVariable, EgressHook.allowedVariable,
    ]

    /// A line for each variable that looks like one of ours and is none.
    ///
    /// It was misspelt, and what it says would be left aside in silence. A variable that is like
    /// none of ours may be the user's own.
    static func warnings(_ environment: Environment) -> [String] {
        let known = Set(all.map(\.variable) + own)
        return environment.keys.sorted().compactMap { name in
            guard name.hasPrefix("ASSAY_"), !known.contains(name) else { return nil }
            return Suggestion.nearest(to: name, among: known.sorted()).map {
                "the variable \(name) is not read; did you mean \($0)?"
            }
        }
    }
}
