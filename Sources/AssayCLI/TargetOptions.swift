internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Replay

/// Which backend, how it is reached and how it is looked at.
///
/// Every option has an `ASSAY_…` twin.
struct TargetOptions: ParsableArguments {
    @Option(
        name: .long,
        help: "The profile (default: ./assay.yaml if there is one; ASSAY_PROFILE)."
    )
    var profile: String?

    @Option(name: .long, help: "URL of a backend that is already running (ASSAY_TARGET).")
    var target: String?

    @Option(name: .long, help: "Shell command that starts the backend (ASSAY_START).")
    var start: String?

    @Option(
        name: .long,
        help: "A host other than loopback that may be a target (ASSAY_ALLOW_HOST)."
    )
    var allowHost: [String] = []

    @Option(
        name: .long,
        help: "Fixed address of a fake: PROVIDER=HOST:PORT, for example onesignal=127.0.0.1:9320."
    )
    var listen: [String] = []

    /// The profile with the flags and the environment laid over it.
    func resolved() throws -> Profile {
        let environment = ProcessInfo.processInfo.environment
        var profile = try Self.profile(self.profile, environment)
        if let target = target ?? environment["ASSAY_TARGET"] {
            profile.target = target
            // A flag that names a running backend wins over a profile that would start one.
            if start == nil { profile.start = nil }
        }
        if let command = start ?? environment["ASSAY_START"] {
            var start = Profile.Start(
                command: command,
                ready: profile.start?.ready ?? Profile.Endpoint(method: "GET", path: "/healthz"),
                environment: profile.start?.environment ?? [:]
            )
            start.takesAnyAnswer = profile.start?.takesAnyAnswer ?? true
            profile.start = start
        }
        guard profile.target != nil || profile.start != nil else {
            throw Failure(
                .usage,
                "no backend to verify: give --target URL or --start COMMAND, or write an "
                    + "assay.yaml; 'assay demo' needs neither"
            )
        }
        try checkHost(profile.target, environment)
        try checkCredentials(profile)
        return profile
    }

    /// The profile that a flag or the environment names, else the one that lies here, else the
    /// usual paths.
    static func profile(_ flag: String?, _ environment: [String: String]) throws -> Profile {
        let given = flag ?? environment["ASSAY_PROFILE"]
        let path = given ?? "assay.yaml"
        guard let data = FileManager.default.contents(atPath: path) else {
            if given == nil { return Profile() }
            throw Failure(.usage, "there is no profile '\(path)'")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw Failure(.unparsable, "the profile '\(path)' is not UTF-8")
        }
        switch ProfileParser.parse(text, path: path, environment: environment) {
        case .success(let profile): return profile
        case .failure(let errors): throw Failure(.unparsable, errors.description)
        }
    }

    private func checkHost(_ target: String?, _ environment: [String: String]) throws {
        guard let target, !target.contains("{{") else { return }
        _ = try TargetURL(
            target,
            flag: "--target",
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

    /// Where the fakes listen: free ports for a backend that Assay starts, else the fixed ones.
    func addresses(for profile: Profile) throws -> [Exchange.Party: ReplaySession.Address] {
        var addresses = profile.start == nil ? ReplaySession.fixedAddresses : [:]
        let parties = ReplaySession.fixedAddresses.keys
        for address in try ListenAddress.all(listen, names: parties.map(\.description)) {
            guard let party = parties.first(where: { $0.description == address.name }) else {
                continue
            }
            addresses[party] = ReplaySession.Address(host: address.host, port: address.port)
        }
        return addresses
    }

    /// The hosts beyond loopback that a flag or the environment allows.
    static func hosts(_ flags: [String], _ environment: [String: String]) -> [String] {
        let listed = environment["ASSAY_ALLOW_HOST"]?.split(separator: ",").map(String.init)
        return flags + (listed ?? []).filter { !flags.contains($0) }
    }

    /// What names the same backend again, whatever the environment says then.
    var replayWords: [String] {
        let environment = ProcessInfo.processInfo.environment
        var words: [String] = []
        let given = [
            ("--profile", profile ?? environment["ASSAY_PROFILE"]),
            ("--target", target ?? environment["ASSAY_TARGET"]),
            ("--start", start ?? environment["ASSAY_START"]),
        ]
        for (flag, value) in given { words += value.map { [flag, $0] } ?? [] }
        for host in Self.hosts(allowHost, environment) { words += ["--allow-host", host] }
        for entry in listen { words += ["--listen", entry] }
        return words
    }
}
