internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Programs
internal import Replay

/// Which backend, how it is reached and how it is looked at.
///
/// Every option has an `ASSAY_…` twin: see `Setting`.
struct TargetOptions: ParsableArguments {
    @Option(name: .long, help: Setting.profile.help, completion: Completions.profile)
    var profile: String?

    @Option(name: .long, help: Setting.target.help)
    var target: String?

    @Option(name: .long, help: Setting.start.help)
    var start: String?

    @Flag(name: .long, help: Setting.intercept.help)
    var intercept = false

    @Option(name: .long, help: Setting.targetHosts.help)
    var allowHost: [String] = []

    @Option(name: .long, help: Setting.authority.help, completion: .file())
    var ca: String?

    @Option(name: .long, help: Setting.advertise.help)
    var advertise: String?

    @Option(name: .long, help: Setting.listen.help)
    var listen: [String] = []

    /// The profile with the flags and the environment laid over it.
    ///
    /// - Parameter looksForProfile: Whether one that lies here is read where no flag names another.
    /// - Returns: A profile with a backend in it.
    /// - Throws: A failure of usage, or of a file that does not parse.
    func resolved(looksForProfile: Bool = true) throws -> Profile {
        let environment = Setting.environment
        let isNamed = Setting.profile.text(self.profile, environment) != nil
        var profile =
            isNamed || looksForProfile ? try Self.profile(self.profile, environment) : Profile()
        let given = Setting.target.given(target, environment)
        if let given {
            profile.target = given.text
            // A flag that names a running backend wins over a profile that would start one.
            if start == nil { profile.start = nil }
        }
        if let command = Setting.start.text(start, environment) {
            // Everything else that the profile says of its start holds for this command too.
            var start = profile.start ?? Profile.Start(command: command)
            start.command = command
            profile.start = start
        }
        guard profile.target != nil || profile.start != nil else {
            throw Failure(
                .usage,
                "no backend to verify: give --target URL or --start COMMAND, or write an "
                    + "assay.yaml; 'assay demo' needs neither"
            )
        }
        Terminal.hide(SecretDeclaration(profile))
        profile.authorityPath = try Self.authority(ca, or: profile.authorityPath)
        if try Setting.intercept.isAsked(intercept, environment) {
            guard profile.start != nil else {
                throw Failure(
                    .usage,
                    "\(Setting.intercept.name) needs a backend that Assay starts (--start COMMAND), "
                        + "for its environment says where its calls go; 'assay serve --intercept' "
                        + "writes that environment for one of yours"
                )
            }
            var intercept = profile.start?.intercept ?? Profile.Intercept()
            intercept.isOn = true
            profile.start?.intercept = intercept
        }
        if let start = profile.start, start.isIntercepted, let intercept = start.intercept {
            profile.start?.intercept?.allowed += Self.hosts(allowHost, environment)
                .filter { !intercept.allowed.contains($0) }
        }
        try checkHost(profile.target, given?.name ?? Setting.target.name, environment)
        for probe in profile.probes {
            guard case .get(let path) = probe.source, path.isAddress else { continue }
            let plain = path.replacingOccurrences(of: "{{id}}", with: "id")
            try checkHost(plain, "the probe '\(probe.name)'", environment)
        }
        try checkCredentials(profile)
        return profile
    }

    /// The profile that a flag or the environment names, else the one that lies here, else the
    /// usual paths.
    static func profile(_ flag: String?, _ environment: [String: String]) throws -> Profile {
        let given = Setting.profile.text(flag, environment)
        let path = Self.path(flag, environment) ?? "assay.yaml"
        guard let data = FileManager.default.contents(atPath: path) else {
            if given == nil { return Profile() }
            throw Failure(.usage, "there is no profile '\(path)'")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw Failure(.unparsable, "the profile '\(path)' is not UTF-8")
        }
        let variables = DotEnv.merged(beside: path, environment)
        switch ProfileParser.parse(text, path: path, environment: variables) {
        case .success(var profile):
            // What a profile names lies beside it.
            let place = PathName(path).folder
            func beside(_ name: String) -> String {
                place.isEmpty || name.hasPrefix("/") ? name : place + "/" + name
            }
            if let folder = profile.start?.folder { profile.start?.folder = beside(folder) }
            profile.knownFailingPath = profile.knownFailingPath.map(beside)
            profile.authorityPath = profile.authorityPath.map(beside)
            Terminal.hide(SecretDeclaration(profile))
            if given == nil, !place.isEmpty {
                profile.folder = place
                if let start = profile.start, start.folder == nil { profile.start?.folder = place }
            }
            return profile
        case .failure(let errors): throw Failure(.unparsable, errors.description)
        }
    }

    /// Where the profile is that flag, environment or folder name; nil where there is none.
    static func path(
        _ flag: String?,
        _ environment: [String: String] = Setting.environment
    ) -> String? {
        Setting.profile.text(flag, environment) ?? found()
    }

    /// The profile that lies here, or in a folder above it as far as this repository goes; outside of
    /// one nobody else's is taken.
    private static func found() -> String? {
        let files = FileManager.default
        var place = ""
        var nearest: String?
        for _ in 0..<20 {
            if nearest == nil, files.fileExists(atPath: place + "assay.yaml") {
                nearest = place + "assay.yaml"
            }
            if place.isEmpty, nearest != nil { return nearest }
            let here = place.isEmpty ? "." : place
            if files.fileExists(atPath: here + "/.git") { return nearest }
            if URL(fileURLWithPath: here).standardizedFileURL.path == "/" { return nil }
            place += "../"
        }
        return nil
    }

    private func checkHost(
        _ target: String?,
        _ name: String,
        _ environment: [String: String]
    ) throws {
        guard let target, !target.contains("{{") else { return }
        _ = try TargetURL(
            target,
            flag: name,
            allowed: Self.hosts(allowHost, environment)
        )
    }

    /// Keys of real projects have no business here.
    private func checkCredentials(_ profile: Profile) throws {
        for (name, secret) in profile.secrets {
            let value = secret.exposed
            let bare = value.hasPrefix("Bearer ") ? String(value.dropFirst(7)) : value
            let isLong =
                bare.count >= 24 && !bare.lowercased().contains("test")
                && !bare.lowercased().contains("assay")
            let looksLive = ["sk_", "appl_", "goog_", "os_v2_app_"].contains { bare.hasPrefix($0) }
            if isLong, looksLive {
                throw Failure(
                    .usage,
                    "the secret '\(name.rawValue)' looks like a live key; give the backend under "
                        + "test one of its own"
                )
            }
        }
    }

    /// How many backends may stand at once.
    ///
    /// A start command that names `{{data}}` keeps what it knows in a folder that each backend has
    /// for itself; of any other somebody has to say that two do not meet in one database.
    ///
    /// - Parameters:
    ///   - profile: How a backend is started.
    ///   - flag: What somebody gave.
    ///   - jobs: With one, one case after the other is what was asked for.
    /// - Returns: The number, at least one.
    /// - Throws: A failure of usage where more than one cannot stand.
    static func backendCountMax(_ profile: Profile, _ flag: Int?, jobs: Int) throws -> Int {
        let environment = Setting.environment
        let isTold = profile.target?.contains("{{port}}") ?? true
        let hasOwnData = profile.start?.hasOwnData == true
        let usual =
            hasOwnData && isTold && jobs > 1
            ? 2 * ProcessInfo.processInfo.activeProcessorCount + 1 : 1
        let count = try Setting.backends.number(flag, or: min(usual, 9), in: 1...16, environment)
        let name = Setting.backends.given(flag.map(String.init), environment)?.name ?? ""
        guard count == 1 || profile.start != nil && isTold else {
            throw Failure(
                .usage,
                "\(name) \(count): only a backend that Assay starts, on a port that "
                    + "it chooses, can stand more than once"
            )
        }
        return Descriptors.limit.map { Descriptors.backendCountMax(count, limit: $0) } ?? count
    }

    /// Where the fakes listen: free ports for a backend that Assay starts, else the fixed ones.
    func addresses(for profile: Profile) throws -> [Exchange.Party: ReplaySession.Address] {
        var addresses = profile.start == nil ? ReplaySession.fixedAddresses : [:]
        let parties = ReplaySession.fixedAddresses.keys
        let told = try Self.advertised(advertise)
        if let told {
            guard profile.start?.isIntercepted != true else {
                throw Failure(
                    .usage,
                    "\(Setting.advertise.name) and interception do not go together: the proxy is for "
                        + "programs on this machine; tell the backend the fakes' addresses"
                )
            }
            for party in parties {
                let port = addresses[party]?.port ?? 0
                addresses[party] = ReplaySession.Address(host: "0.0.0.0", port: port, told: told)
            }
        }
        for address in try ListenAddress.all(listen, names: parties.map(\.description)) {
            guard let party = parties.first(where: { $0.description == address.name }) else {
                continue
            }
            addresses[party] = ReplaySession.Address(
                host: address.host,
                port: address.port,
                told: told
            )
        }
        return addresses
    }

    /// The file of certificates that is believed beside the system's: what the flag says, else the
    /// variable, else the profile, else `SSL_CERT_FILE`, which other programs read as well.
    ///
    /// - Throws: A failure of usage that says what is wrong with the file.
    static func authority(_ flag: String?, or profilePath: String? = nil) throws -> String? {
        let environment = Setting.environment
        let standard = "SSL_CERT_FILE"
        var given = Setting.authority.given(flag, environment)
        if given?.text.isEmpty == true, flag == nil { given = nil }
        if given == nil, let profilePath { given = .init(text: profilePath, name: "'ca'") }
        guard let given else {
            // Whole shells have it, and often it names a file of another machine: it is no demand.
            return environment[standard].flatMap { Trust.problem(with: $0) == nil ? $0 : nil }
        }
        if let problem = Trust.problem(with: given.text) {
            throw Failure(.usage, "\(given.name) '\(given.text)': \(problem)")
        }
        return given.text
    }

    /// Takes the control API's address out of `--listen`.
    mutating func takeControl() throws -> ListenAddress {
        // What a flag says counts alone, so the variable is read before a part of it is taken away.
        let given = Setting.listen.texts(listen, Setting.environment)
        let control = given.filter { $0.hasPrefix("control=") }
        listen = given.filter { !control.contains($0) }
        // What was taken is not found there again.
        unsetenv(Setting.listen.variable)
        return try ListenAddress(
            bare: control.last.map { String($0.dropFirst("control=".count)) }
                ?? SessionControl.address
        )
    }

    /// The host by which fakes are told; nil when nobody says one.
    ///
    /// - Throws: A failure of usage where it is no name and no address.
    static func advertised(_ flag: String?) throws -> String? {
        guard let given = Setting.advertise.given(flag) else { return nil }
        let isHost = given.text.utf8.allSatisfy { byte in
            Character(UnicodeScalar(byte)).isLetter || (48...57).contains(byte)
                || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":")].contains(byte)
        }
        guard isHost, !given.text.isEmpty, !["0.0.0.0", "::"].contains(given.text) else {
            throw Failure(
                .usage,
                "\(given.name) '\(given.text)' is no host that can be called, such as "
                    + "host.docker.internal"
            )
        }
        return given.text
    }

    /// The hosts beyond loopback that were allowed.
    var hosts: [String] { Self.hosts(allowHost, Setting.environment) }

    /// The hosts beyond loopback that a flag or the environment allows.
    static func hosts(_ flags: [String], _ environment: [String: String]) -> [String] {
        flags + Setting.targetHosts.texts([], environment).filter { !flags.contains($0) }
    }

    /// What names the same backend again, whatever the environment says then.
    var replayWords: [String] {
        let environment = Setting.environment
        var words: [String] = []
        let given = [
            ("--profile", Setting.profile.text(profile, environment)),
            ("--target", Setting.target.text(target, environment)),
            ("--start", Setting.start.text(start, environment)),
            ("--ca", Setting.authority.text(ca, environment)),
            ("--advertise", Setting.advertise.text(advertise, environment)),
        ]
        for (flag, value) in given { words += value.map { [flag, $0] } ?? [] }
        if (try? Setting.intercept.isAsked(intercept, environment)) == true {
            words.append("--intercept")
        }
        for host in Self.hosts(allowHost, environment) { words += ["--allow-host", host] }
        for entry in Setting.listen.texts(listen, environment) { words += ["--listen", entry] }
        return words
    }
}
