internal import ArgumentParser
internal import FakeServers
internal import Foundation
internal import Grammar
internal import Redaction
internal import Reports

/// An option that a flag, an environment variable or the profile can set.
///
/// This is the single definition of its names, its default and its help text. It is used for
/// `--help`, to read the environment, in error messages, and to detect misspelled variables. A flag
/// has precedence over a variable, and a variable over the profile.
struct Setting: Sendable {
    /// The flag without its dashes; nil for an option without a flag.
    let flag: String?
    let variable: String
    /// The key of the profile that sets the option when flag and variable do not; nil without such
    /// a key.
    let profileKey: String?
    /// The default value, in words for the help text; nil without a default.
    let fallback: String?
    let summary: String
    /// The word for the value in the help text; nil for the name of the flag.
    let valueName: String?

    init(
        _ flag: String?,
        _ variable: String,
        profile profileKey: String? = nil,
        fallback: String? = nil,
        value valueName: String? = nil,
        _ summary: String
    ) {
        self.flag = flag
        self.variable = variable
        self.profileKey = profileKey
        self.fallback = fallback
        self.summary = summary
        self.valueName = valueName
    }

    /// The help text of the option, with its default value and its environment variable.
    var help: ArgumentHelp {
        let helpNotes = [fallback.map { "default: \($0)" }, variable].compactMap { $0 }
        return ArgumentHelp(
            "\(summary) (\(helpNotes.joined(separator: "; "))).",
            valueName: valueName
        )
    }

    /// The flag with its dashes, or the environment variable of an option without a flag.
    var name: String { flag.map { "--" + $0 } ?? variable }

    // MARK: Reading

    /// A value that the user has given for an option, and the flag or variable that contains it,
    /// for error messages.
    struct GivenValue: Sendable {
        let text: String
        let name: String
    }

    typealias Environment = [String: String]

    static var environment: Environment { ProcessInfo.processInfo.environment }

    /// The value of the environment variable as a secret; nil when the variable is unset or empty.
    var secret: Secret? { text(nil).flatMap { $0.isEmpty ? nil : Secret($0) } }

    /// Returns the value of the flag, else of the environment variable; nil when neither is set.
    func given(_ flag: String?, _ environment: Environment = Self.environment) -> GivenValue? {
        if let flag { return GivenValue(text: flag, name: name) }
        return environment[variable].map { GivenValue(text: $0, name: variable) }
    }

    func text(_ flag: String?, _ environment: Environment = Self.environment) -> String? {
        given(flag, environment)?.text
    }

    /// Returns the values of the flag, else the comma-separated values of the environment variable.
    func texts(_ flags: [String], _ environment: Environment = Self.environment) -> [String] {
        guard flags.isEmpty else { return flags }
        return environment[variable]?.split(separator: ",").map(String.init) ?? []
    }

    /// Returns whether the option is on: the flag is set, or the environment variable is true.
    ///
    /// - Throws: A usage failure when the variable is neither `true` nor `false`.
    func isEnabled(_ flag: Bool, _ environment: Environment = Self.environment) throws -> Bool {
        if flag { return true }
        switch environment[variable]?.lowercased() {
        case "true", "1", "yes": return true
        case nil, "", "false", "0", "no": return false
        case let text?:
            throw CommandFailure(.usage, "\(variable) '\(text)' is neither true nor false")
        }
    }

    /// Returns the number that the flag or the environment variable gives, else the default.
    ///
    /// - Throws: A usage failure that names the flag or the variable when the number is out of
    ///   range.
    func number(
        _ flag: Int?,
        or defaultValue: Int,
        in range: ClosedRange<Int>,
        _ environment: Environment = Self.environment
    ) throws -> Int {
        guard let given = given(flag.map(String.init), environment) else { return defaultValue }
        guard let number = Int(given.text), range.contains(number) else {
            throw CommandFailure(
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
        value: "file",
        "The profile, which describes the backend"
    )
    static let importProfile = Setting(
        "profile",
        "ASSAY_PROFILE",
        fallback: "./assay.yaml",
        value: "file",
        "The profile, a file with the webhook paths of the backend"
    )
    static let target = Setting(
        "target",
        "ASSAY_TARGET",
        profile: "target",
        value: "url",
        "URL of a backend that is already running"
    )
    static let start = Setting(
        "start",
        "ASSAY_START",
        profile: "start",
        value: "command",
        "Shell command that starts the backend"
    )
    static let targetHosts = Setting(
        "allow-host",
        "ASSAY_ALLOW_HOST",
        value: "host",
        "A host other than loopback that may be the target or that an intercepted backend may call"
    )
    static let pageHosts = Setting(
        "allow-host",
        "ASSAY_ALLOW_HOST",
        value: "host",
        "A host other than loopback that the page may be loaded from or call"
    )
    static let listen = Setting(
        "listen",
        "ASSAY_LISTEN",
        value: "address",
        "Fixed address of a fake: PROVIDER=HOST:PORT, such as onesignal=127.0.0.1:9320"
    )
    static let serveListen = Setting(
        "listen",
        "ASSAY_LISTEN",
        "The address of a fake, instead of its default: NAME=HOST:PORT, such as control=127.0.0.1:0"
    )
    static let intercept = Setting(
        "intercept",
        "ASSAY_INTERCEPT",
        profile: "start: intercept",
        "Redirect the backend's calls to the services' hosts to the fakes, and refuse other calls"
    )
    static let contracts = Setting(
        "contracts",
        "ASSAY_CONTRACTS",
        value: "folder",
        "A folder with your contracts; they replace shipped contracts with the same ID"
    )
    static let report = Setting(
        "report",
        "ASSAY_REPORT",
        value: "FORMAT=PATH",
        "Write a report; repeatable. FORMAT: json, junit, html, github, markdown, badge, or agent for "
            + "coding agents; PATH - is standard output"
    )
    static let knownFailing = Setting(
        "known-failing",
        "ASSAY_KNOWN_FAILING",
        profile: "known-failing",
        value: "file",
        "File of known failures, each with its case, finding code and reason"
    )
    static let seed = Setting(
        "seed",
        "ASSAY_SEED",
        "Any string; the same seed repeats the same run"
    )
    static let appSeed = Setting(
        "seed",
        "ASSAY_SEED",
        "Any string; the IDs of the test users contain it"
    )
    static let jobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "8",
        "The number of cases that run at once; cases that only wait do not count"
    )
    static let backends = Setting(
        "backends",
        "ASSAY_BACKENDS",
        fallback: "1 plus 2 per processor, at most 9, if 'start' uses {{data}}, else 1",
        value: "count",
        "The number of backends that run at once, for cases that cannot share one"
    )
    static let minimizeJobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "8",
        "With --minimize: the number of smaller contracts that are tried at once"
    )
    static let appJobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "10 per processor, at most 32",
        "The number of scenarios that run at once"
    )
    static let shard = Setting(
        "shard",
        "ASSAY_SHARD",
        value: "I/N",
        "Run only shard I of N, or 'auto' in CI; 'assay merge' joins the shards"
    )
    static let save = Setting(
        "save",
        "ASSAY_SAVE",
        value: "file",
        "Write the run to a file, which 'assay judge' can judge again"
    )
    static let maxTime = Setting(
        "max-time",
        "ASSAY_MAX_TIME",
        fallback: "15m",
        value: "time",
        "Stop after this time; if it is given, the cases that decide most run first"
    )
    static let found = Setting(
        "found",
        "ASSAY_FOUND",
        fallback: GeneratedFolder.found,
        value: "folder",
        "The folder for contracts that reproduce failures of searches"
    )
    static let exploreTime = Setting(
        "for",
        "ASSAY_FOR",
        fallback: "until nothing new was covered for a minute",
        "The duration of the campaign, such as 2m"
    )
    static let exploreJobs = Setting(
        "jobs",
        "ASSAY_JOBS",
        fallback: "16",
        "The number of histories that run at once"
    )
    static let histories = Setting(
        "histories",
        "ASSAY_HISTORIES",
        fallback: "as many as the time allows",
        "The number of histories to run"
    )
    static let corpus = Setting(
        "corpus",
        "ASSAY_CORPUS",
        "A folder of saved histories to start from; histories that cover something new are added"
    )
    static let shrinkTime = Setting(
        "shrink-time",
        "ASSAY_SHRINK_TIME",
        fallback: "20s",
        "The longest time to shrink one failing history"
    )
    static let expired = Setting(
        "expired",
        "ASSAY_EXPIRED",
        value: "how",
        "How to report golden contracts older than their max-age: warn or error"
    )
    static let url = Setting("url", "ASSAY_URL", profile: "app.url", "URL of the web app")
    static let browser = Setting(
        "browser",
        "ASSAY_BROWSER",
        fallback: "chrome-headless-shell or chromium on the PATH",
        "The browser, as a path or a name"
    )
    static let bodyMax = Setting(
        "body-max",
        "ASSAY_BODY_MAX",
        "Record only the length and a digest of bodies larger than this many KiB"
    )
    static let redactionKey = Setting(
        nil,
        "ASSAY_REDACTION_KEY",
        "The key for computing the placeholders that replace secrets in recordings"
    )
    static let advertise = Setting(
        "advertise",
        "ASSAY_ADVERTISE",
        value: "host",
        "The host name by which containers or other machines reach this one; the URLs of the fakes "
            + "use it, and the fakes listen on all addresses"
    )
    static let authority = Setting(
        "ca",
        "ASSAY_CA",
        profile: "ca",
        fallback: "SSL_CERT_FILE",
        value: "file",
        "PEM file with CA certificates to trust in addition"
    )
    static let controlToken = Setting(
        nil,
        "ASSAY_CONTROL_TOKEN",
        "The token that the control API requires, and that 'send' and 'resend' send"
    )

    static let liveKey = Setting(
        nil,
        "ASSAY_LIVE_KEY",
        "The key that 'doctor --against-live' sends to the live service; use a read-only one"
    )

    /// All settings; a new one is added here.
    static let all: [Setting] = [
        profile, importProfile, target, start, intercept, targetHosts, pageHosts, listen,
        serveListen,
        contracts, report,
        knownFailing, seed, appSeed, jobs, backends, minimizeJobs, appJobs,
        exploreJobs, shard, save, maxTime,
        found, exploreTime, histories, corpus, shrinkTime,
        expired, url,
        browser, bodyMax, redactionKey, controlToken, authority, advertise, liveKey,
    ]

    /// The lines of `--help` for the settings without a flag.
    static let helpForVariablesWithoutFlag: String = {
        let settings = all.filter { $0.flag == nil }
        let nameWidth = settings.map(\.variable.count).max() ?? 0
        let indent = "\n" + String(repeating: " ", count: nameWidth + 4)
        return settings.map { setting in
            let space = String(repeating: " ", count: nameWidth - setting.variable.count + 2)
            return "  " + setting.variable + space
                + "\(setting.summary).".wrapped(76 - nameWidth).joined(separator: indent)
        }.joined(separator: "\n")
    }()

    /// Environment variables that Assay sets for the programs that it starts.
    private static let otherVariables = [
        "ASSAY_PROCESS", "ASSAY_AUTHORITY", EgressHook.addressVariable,
        EgressHook.allowedHostsVariable, RunProgress.intervalVariable,
    ]

    /// Returns warnings about environment variables that look like misspelled settings.
    ///
    /// Without the warning, Assay would silently ignore such a variable. A variable that resembles
    /// no setting gets no warning, because it may belong to the user.
    static func warnings(_ environment: Environment) -> [String] {
        let knownVariables = Set(all.map(\.variable) + otherVariables)
        return environment.keys.sorted().compactMap { name in
            guard name.hasPrefix("ASSAY_"), !knownVariables.contains(name) else { return nil }
            return Suggestion.nearest(to: name, among: knownVariables.sorted()).map {
                "the variable \(name) is not read; did you mean \($0)?"
            }
        }
    }
}
