internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Grammar
internal import Programs
internal import Providers
internal import Redaction
internal import Replay
internal import Values

/// The options that choose the backend, and the way to start, reach and observe it.
///
/// Every option also has a variable `ASSAY_…`: see `Setting`.
@dynamicMemberLookup
struct TargetOptions: ParsableArguments {
    @OptionGroup(title: HelpSection.mostUsed) var backend: BackendOptions
    @OptionGroup(title: HelpSection.reach) var reach: ReachOptions

    subscript<Value>(dynamicMember path: WritableKeyPath<BackendOptions, Value>) -> Value {
        get { backend[keyPath: path] }
        set { backend[keyPath: path] = newValue }
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<ReachOptions, Value>) -> Value {
        get { reach[keyPath: path] }
        set { reach[keyPath: path] = newValue }
    }
}

/// The options that choose the backend: a command that starts it, or its URL.
struct BackendOptions: ParsableArguments {
    @Option(name: .long, help: Setting.start.help)
    var start: String?

    @Option(name: .long, help: Setting.target.help)
    var target: String?
}

/// The options for the way to reach and observe the backend.
struct ReachOptions: ParsableArguments {
    @Option(name: .long, help: Setting.profile.help, completion: Completions.profile)
    var profile: String?

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

    /// The values of `--listen` or of its variable without the address of the control API; nil
    /// before they are divided.
    var fakeListenTexts: [String]? = nil

    /// Returns the addresses of the fakes as the user has given them.
    func listenTexts(_ environment: Setting.Environment) -> [String] {
        fakeListenTexts ?? Setting.listen.texts(listen, environment)
    }
}

extension TargetOptions {
    /// Returns the profile, in which values of the flags and the environment replace those of the
    /// file.
    ///
    /// - Parameter looksForProfile: Whether the profile of the current folder is read when no flag
    ///   names one.
    /// - Returns: A profile that has a backend.
    /// - Throws: A usage failure, or a failure for a file that cannot be parsed.
    func resolvedProfile(looksForProfile: Bool = true) throws -> Profile {
        let environment = Setting.environment
        let isProfileGiven = Setting.profile.text(reach.profile, environment) != nil
        var profile =
            isProfileGiven || looksForProfile
            ? try Self.profile(reach.profile, environment) : Profile()
        let given = Setting.target.given(backend.target, environment)
        if let given {
            profile.target = given.text
            // A flag that names a running backend takes precedence over a profile that starts one.
            if backend.start == nil { profile.start = nil }
        }
        if let command = Setting.start.text(backend.start, environment) {
            // The other settings under 'start' in the profile apply to this command too.
            var start = profile.start ?? Profile.StartSettings(command: command)
            start.command = command
            profile.start = start
        }
        guard profile.target != nil || profile.start != nil else {
            throw CommandFailure(
                .usage,
                "no backend to verify: give --target URL or --start COMMAND, or write a profile "
                    + "with 'assay init'; 'assay demo' needs no backend"
            )
        }
        Terminal.maskSecrets(SecretDeclaration(profile))
        profile.certificateAuthorityPath = try Self.authority(
            reach.ca,
            or: profile.certificateAuthorityPath
        )
        if try Setting.intercept.isEnabled(reach.intercept, environment) {
            guard profile.start != nil else {
                throw CommandFailure(
                    .usage,
                    "\(Setting.intercept.name) needs a backend that Assay starts (--start COMMAND), "
                        + "because it sets the backend's environment; 'assay serve --intercept' "
                        + "writes that environment for a backend that you start"
                )
            }
            var intercept = profile.start?.intercept ?? Profile.InterceptionSettings()
            intercept.isOn = true
            profile.start?.intercept = intercept
        }
        if let start = profile.start, start.isIntercepted, let intercept = start.intercept {
            profile.start?.intercept?.allowed += Self.hosts(reach.allowHost, environment)
                .filter { !intercept.allowed.contains($0) }
        }
        try checkHost(profile.target, given?.name ?? Setting.target.name, environment)
        for probe in profile.probes {
            guard case .get(let path) = probe.source, path.isAddress else { continue }
            let pathWithSampleID = path.replacingOccurrences(of: "{{id}}", with: "id")
            try checkHost(pathWithSampleID, "the probe '\(probe.name)'", environment)
        }
        try checkCredentials(profile)
        return profile
    }

    /// Returns the profile that a flag or the environment names, else that of the current folder,
    /// else an empty one.
    static func profile(_ flag: String?, _ environment: [String: String]) throws -> Profile {
        let given = Setting.profile.text(flag, environment)
        let path = Self.path(flag, environment) ?? "assay.yaml"
        guard let data = FileManager.default.contents(atPath: path) else {
            if given == nil { return Profile() }
            throw CommandFailure(.usage, "the profile '\(path)' does not exist")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw CommandFailure(.unparsable, "the profile '\(path)' is not UTF-8")
        }
        let variables = DotEnv.mergedVariables(nextTo: path, environment)
        switch ProfileParser.parse(text, path: path, environment: variables) {
        case .success(var profile):
            // Paths in a profile are relative to its folder.
            let folderPath = PathName(path).folder
            func nextTo(_ name: String) -> String {
                folderPath.isEmpty || name.hasPrefix("/") ? name : folderPath + "/" + name
            }
            if let folder = profile.start?.folder { profile.start?.folder = nextTo(folder) }
            if let file = profile.start?.environmentFile.map(nextTo) {
                profile.start?.environmentFile = file
                profile.start?.fileVariables = try DotEnv.variables(ofFile: file, environment)
            }
            profile.knownFailuresPath = profile.knownFailuresPath.map(nextTo)
            profile.certificateAuthorityPath = profile.certificateAuthorityPath.map(nextTo)
            Terminal.maskSecrets(SecretDeclaration(profile))
            if given == nil, !folderPath.isEmpty {
                profile.folder = folderPath
                if let start = profile.start, start.folder == nil {
                    profile.start?.folder = folderPath
                }
            }
            return profile
        case .failure(let errors): throw CommandFailure(.unparsable, errors.description)
        }
    }

    /// Returns the path of the profile that the flag or the environment names, else of the nearest
    /// `assay.yaml`; nil without a profile.
    static func path(
        _ flag: String?,
        _ environment: [String: String] = Setting.environment
    ) -> String? {
        Setting.profile.text(flag, environment) ?? nearestProfilePath()
    }

    /// Returns the path of `assay.yaml` in the current folder, or in a folder above it in the same
    /// repository.
    ///
    /// Outside a repository, folders above are not searched, because their profile may belong to
    /// another project.
    private static func nearestProfilePath() -> String? {
        let fileManager = FileManager.default
        var folderPath = ""
        var nearestPath: String?
        for _ in 0..<20 {
            if nearestPath == nil, fileManager.fileExists(atPath: folderPath + "assay.yaml") {
                nearestPath = folderPath + "assay.yaml"
            }
            if folderPath.isEmpty, nearestPath != nil { return nearestPath }
            let currentFolder = folderPath.isEmpty ? "." : folderPath
            if fileManager.fileExists(atPath: currentFolder + "/.git") { return nearestPath }
            if URL(fileURLWithPath: currentFolder).standardizedFileURL.path == "/" { return nil }
            folderPath += "../"
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
            allowed: Self.hosts(reach.allowHost, environment)
        )
    }

    /// Rejects secrets that look like keys of real projects.
    private func checkCredentials(_ profile: Profile) throws {
        for (name, secret) in profile.secrets {
            let value = secret.exposed
            let bare = value.hasPrefix("Bearer ") ? String(value.dropFirst(7)) : value
            let isLongKey =
                bare.count >= 24 && !bare.lowercased().contains("test")
                && !bare.lowercased().contains("assay")
            let looksLikeLiveKey = ["sk_", "appl_", "goog_", "os_v2_app_"].contains {
                bare.hasPrefix($0)
            }
            if isLongKey, looksLikeLiveKey {
                throw CommandFailure(
                    .usage,
                    "the secret '\(name.rawValue)' in the profile looks like a live key; use a test "
                        + "key with 'test' or 'assay' in it"
                )
            }
        }
    }

    /// Returns the number of backend instances that may run at once.
    ///
    /// A start command with `{{data}}` keeps the data of each instance in a separate folder. For
    /// any other start command, the user has to confirm with `--backends` that instances do not
    /// share a database.
    ///
    /// - Parameters:
    ///   - profile: The profile, which has the start command.
    ///   - flag: The value of `--backends`.
    ///   - jobs: The number of cases at once; with 1, the default is a single instance.
    /// - Returns: The number, at least 1.
    /// - Throws: A usage failure when the backend cannot be started more than once.
    static func backendCountMax(_ profile: Profile, _ flag: Int?, jobs: Int) throws -> Int {
        let environment = Setting.environment
        let acceptsChosenPort = profile.target?.contains("{{port}}") ?? true
        let usesRunDataFolder = profile.start?.usesRunDataFolder == true
        let usualCount =
            usesRunDataFolder && acceptsChosenPort && jobs > 1
            ? 2 * ProcessInfo.processInfo.activeProcessorCount + 1 : 1
        let count = try Setting.backends.number(
            flag,
            or: min(usualCount, 9),
            in: 1...16,
            environment
        )
        let name = Setting.backends.given(flag.map(String.init), environment)?.name ?? ""
        guard count == 1 || profile.start != nil && acceptsChosenPort else {
            throw CommandFailure(
                .usage,
                "\(name) \(count): only a backend that Assay starts, on a port that "
                    + "Assay chooses, can run more than once"
            )
        }
        return FileDescriptors.limit.map { FileDescriptors.backendCountMax(count, limit: $0) }
            ?? count
    }

    /// Returns the addresses of the fakes: free ports for a backend that Assay starts, else the
    /// fixed ports.
    func addresses(for profile: Profile) throws -> [Exchange.Party: ReplaySession.Address] {
        var addresses = profile.start == nil ? ReplaySession.fixedAddresses : [:]
        let parties = ReplaySession.fixedAddresses.keys
        let advertisedHost = try Self.advertisedHost(reach.advertise)
        if let advertisedHost {
            guard profile.start?.isIntercepted != true else {
                throw CommandFailure(
                    .usage,
                    "\(Setting.advertise.name) and interception cannot be combined: the proxy is only "
                        + "for programs on this machine; configure the fakes' addresses in the backend"
                )
            }
            for party in parties {
                let port = addresses[party]?.port ?? 0
                addresses[party] = ReplaySession.Address(
                    host: "0.0.0.0",
                    port: port,
                    advertisedHost: advertisedHost
                )
            }
        }
        let source = reach.listen.isEmpty ? Setting.listen.variable : Setting.listen.name
        for address in try ListenAddress.all(
            reach.listenTexts(Setting.environment),
            names: parties.map(\.description),
            from: source
        ) {
            guard let party = parties.first(where: { $0.description == address.name }) else {
                continue
            }
            addresses[party] = ReplaySession.Address(
                host: address.host,
                port: address.port,
                advertisedHost: advertisedHost
            )
        }
        return addresses
    }

    /// Returns the path of the PEM file with additional CA certificates.
    ///
    /// The path comes from the flag, else the variable `ASSAY_CA`, else the profile. Without these,
    /// it comes from `SSL_CERT_FILE`, which other programs read too.
    ///
    /// - Throws: A usage failure when the file cannot be used.
    static func authority(_ flag: String?, or profilePath: String? = nil) throws -> String? {
        let environment = Setting.environment
        let standardVariable = "SSL_CERT_FILE"
        var given = Setting.authority.given(flag, environment)
        if given?.text.isEmpty == true, flag == nil { given = nil }
        if given == nil, let profilePath { given = .init(text: profilePath, name: "'ca'") }
        guard let given else {
            // This variable often applies to all programs of a shell and may name a missing file,
            // so an unusable file is ignored.
            return environment[standardVariable].flatMap {
                CertificateTrust.problem(with: $0) == nil ? $0 : nil
            }
        }
        if let problem = CertificateTrust.problem(with: given.text) {
            throw CommandFailure(.usage, "\(given.name) '\(given.text)': \(problem)")
        }
        return given.text
    }

    /// Removes the control API's address from `--listen`, and returns it.
    mutating func extractControlAddress() throws -> ListenAddress {
        let given = reach.listenTexts(Setting.environment)
        let control = given.filter { $0.hasPrefix("control=") }
        reach.fakeListenTexts = given.filter { !control.contains($0) }
        return try ListenAddress(
            bare: control.last.map { String($0.dropFirst("control=".count)) }
                ?? SessionControl.address
        )
    }

    /// Returns the host name of `--advertise`, which the URLs of the fakes contain; nil when it is
    /// not given.
    ///
    /// - Throws: A usage failure when the value is neither a host name nor an address.
    static func advertisedHost(_ flag: String?) throws -> String? {
        guard let given = Setting.advertise.given(flag) else { return nil }
        guard HostName.isValid(given.text), !["0.0.0.0", "::"].contains(given.text) else {
            throw CommandFailure(
                .usage,
                "\(given.name) '\(given.text)' is not a host that can be called, such as "
                    + "host.docker.internal"
            )
        }
        return given.text
    }

    /// The hosts other than loopback that Assay may call.
    var hosts: [String] { Self.hosts(reach.allowHost, Setting.environment) }

    /// Returns the hosts other than loopback that the flag `--allow-host` or the environment
    /// allows.
    static func hosts(_ flags: [String], _ environment: [String: String]) -> [String] {
        flags + Setting.targetHosts.texts([], environment).filter { !flags.contains($0) }
    }

    /// The flags that select the same backend in a later run.
    ///
    /// Options from environment variables become flags.
    var replayArguments: [String] {
        let environment = Setting.environment
        var arguments: [String] = []
        let given = [
            ("--profile", Setting.profile.text(reach.profile, environment)),
            ("--target", Setting.target.text(backend.target, environment)),
            ("--start", Setting.start.text(backend.start, environment)),
            ("--ca", Setting.authority.text(reach.ca, environment)),
            ("--advertise", Setting.advertise.text(reach.advertise, environment)),
        ]
        for (flag, value) in given { arguments += value.map { [flag, $0] } ?? [] }
        // `resolvedProfile` has reported an invalid value before.
        if (try? Setting.intercept.isEnabled(reach.intercept, environment)) == true {
            arguments.append("--intercept")
        }
        for host in Self.hosts(reach.allowHost, environment) {
            arguments += ["--allow-host", host]
        }
        for entry in reach.listenTexts(environment) {
            arguments += ["--listen", entry]
        }
        return arguments
    }
}
