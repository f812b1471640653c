internal import Foundation
internal import Grammar
internal import Providers
internal import Redaction
internal import Replay
internal import Reports
internal import Values

/// The run of `assay doctor --against-live`: compares the responses of a live service with the
/// responses of its fake.
///
/// The command runs only on request, sends only read requests to a single host, and refuses to run
/// in CI.
struct DriftRun {
    private let provider: ProviderEntry
    private let readPlan: LiveReadPlan
    private let base: String
    private let host: String
    private let suppliedParameters: [String: String]
    private let authority: String?

    /// Checks the arguments of the command.
    ///
    /// - Parameters:
    ///   - text: The service and its address: `SERVICE=URL`.
    ///   - names: The values of path parameters that no request of the run can look up, each as
    ///     `NAME=VALUE`.
    ///   - authority: The path of a PEM file with additional CA certificates to trust.
    /// - Throws: A usage failure for a wrong argument, a URL without https, or a run in CI.
    init(_ text: String, names: [String], authority: String?) throws {
        let services = ProviderTable.all.sortedEntries.filter { $0.liveReadPlan() != nil }
        let knownNames = services.map(\.party.description).joined(separator: ", ")
        let example =
            services.first.map { "\($0.party)=https://\($0.exclusiveHosts.first ?? "")" } ?? ""
        guard let (name, url) = text.cut(at: "=") else {
            throw CommandFailure(
                .usage,
                "--against-live '\(text)' is not SERVICE=URL, such as \(example)"
            )
        }
        guard let provider = services.first(where: { $0.party.description == name }),
            let readPlan = provider.liveReadPlan()
        else {
            throw CommandFailure(
                .usage,
                "--against-live '\(name)' is not a service; the services are \(knownNames)"
            )
        }
        let urlComponents = URLComponents(string: String(url))
        guard let urlComponents, let host = urlComponents.host, !host.isEmpty,
            let scheme = urlComponents.scheme
        else {
            throw CommandFailure(.usage, "--against-live '\(url)' is not a URL with a host")
        }
        // The user has named this host, so it may be called; no other host is called.
        let target = try TargetURL(String(url), flag: "--against-live", allowed: [host])
        let isLoopback = HostName.isLoopback(host)
        guard isLoopback || scheme == "https" else {
            throw CommandFailure(.usage, "--against-live sends a key to \(host): use an https URL")
        }
        let environment = ProcessInfo.processInfo.environment
        let isCI = Self.ciVariables.contains { !(environment[$0] ?? "").isEmpty }
        guard isLoopback || !isCI else {
            throw CommandFailure(
                .usage,
                "--against-live does not run in CI; run it on your machine"
            )
        }
        guard urlComponents.query == nil, urlComponents.fragment == nil else {
            throw CommandFailure(
                .usage,
                "--against-live '\(url)': remove the query and the fragment; "
                    + "paths are appended to this URL"
            )
        }
        let query = target.target == "/" ? "" : target.target
        (self.provider, self.readPlan, self.host) = (provider, readPlan, host)
        (base, self.authority) = (target.base + query, authority)
        suppliedParameters = try Self.parseSuppliedParameters(names, readPlan)
    }

    /// The names of environment variables that CI engines set, by which a run in CI is recognized.
    private static let ciVariables = [
        "CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "BUILDKITE", "GITHUB_ACTIONS",
        "GITLAB_CI", "CIRCLECI", "CODEBUILD_BUILD_ID", "KUBERNETES_SERVICE_HOST",
    ]

    private static func parseSuppliedParameters(
        _ names: [String],
        _ readPlan: LiveReadPlan
    ) throws -> [String: String] {
        let knownNames = readPlan.suppliedParameters + readPlan.parameterSources.map(\.name)
        var suppliedParameters: [String: String] = [:]
        for text in names {
            guard let (name, value) = text.cut(at: "="), !value.isEmpty else {
                throw CommandFailure(.usage, "--live '\(text)' is not NAME=VALUE")
            }
            guard knownNames.contains(String(name)) else {
                let nearestName = Suggestion.nearest(to: String(name), among: knownNames)
                throw CommandFailure(
                    .usage,
                    "--live '\(name)': no path has this parameter; "
                        + (nearestName.map { "did you mean '\($0)'? " } ?? "")
                        + "the parameters are \(knownNames.joined(separator: ", "))"
                )
            }
            suppliedParameters[String(name)] = String(value)
        }
        return suppliedParameters
    }

    /// Sends the read requests to the live service and to its fake, and prints the differences.
    ///
    /// - Returns: Whether any response of the live service differs from the fake's.
    /// - Throws: A failure when the service cannot be reached or no response could be compared.
    func run() async throws -> Bool {
        guard let apiKey = Setting.liveKey.secret else {
            throw CommandFailure(
                .usage,
                "--against-live needs a key for the service; put a read-only key into "
                    + "\(Setting.liveKey.variable)"
            )
        }
        for name in readPlan.suppliedParameters where suppliedParameters[name] == nil {
            Terminal.error("assay: --live \(name)=… is missing; calls that need it are skipped\n")
        }
        let client = BackendClient(base: base, laneCount: 1, authority: authority)
        let fields = [HTTPMessage.Field("Authorization", "\(readPlan.scheme) \(apiKey.exposed)")]
        let driftComparison = DriftComparison(readPlan, of: provider.operations())
        let host = host
        let comparisons: [DriftComparison.OperationComparison]
        do throws(DriftComparison.UnreachableError) {
            comparisons = try await driftComparison.compare(
                suppliedParameters: suppliedParameters,
                fakeParameterValues: readPlan.fakeParameterValues,
                live: { request in
                    var request = request
                    request.fields += fields
                    let outcome = await client.send(
                        request,
                        lane: 0,
                        within: .seconds(30),
                        fault: .none
                    )
                    if case .answered(let response) = outcome { return .success(response) }
                    if case .failed(_, let text) = outcome {
                        return .failure(.init("\(host): \(text)"))
                    }
                    return .failure(.init("\(host) sent no response"))
                },
                fake: fake(),
                progress: Self.printProgress
            )
            Self.clearProgress()
        } catch {
            Self.clearProgress()
            await client.close()
            // After an interruption, the error is only a result of the canceled request and is not
            // reported.
            guard !Task.isCancelled else { throw CommandFailure(.interrupted, "interrupted") }
            throw CommandFailure(.unreachable, error.text)
        }
        await client.close()
        return try printComparisons(comparisons)
    }

    private func fake() -> DriftComparison.Call {
        let now = SuiteRun.now()
        var services = Services(seed: 1)
        readPlan.addSampleData(&services, now)
        let (party, filledServices) = (provider.party, services)
        return { request in
            var services = filledServices
            return .success(services.respond(party, to: request, at: now).response)
        }
    }

    // MARK: Output

    /// Shows the API operation that is being compared, if standard error is a terminal.
    private static func printProgress(_ operation: ServiceOperation) {
        guard Terminal.isInteractive(2) else { return }
        let line = "\(operation.method) \(operation.path)".prefix(Terminal.width(STDERR_FILENO))
        Terminal.error("\r\u{1b}[K" + line)
    }

    private static func clearProgress() {
        if Terminal.isInteractive(2) { Terminal.error("\r\u{1b}[K") }
    }

    private func printComparisons(_ comparisons: [DriftComparison.OperationComparison]) throws
        -> Bool
    {
        let style = Terminal.style()
        var (equal, differing, notComparable) = (0, 0, 0)
        for line in comparisons {
            let name = "\(line.operation.method) \(line.operation.path)"
            switch line.outcome {
            case .equal: equal += 1
            case .notComparable: notComparable += 1
            case .status(let live, let fake):
                differing += 1
                Terminal.output("\(style.red("differs")) \(name)\n")
                Terminal.output(
                    "        status \(live) from the live service, \(fake) from the fake\n"
                )
            case .differs(let differences):
                differing += 1
                Terminal.output("\(style.red("differs")) \(name)\n")
                for each in differences { Terminal.output("        \(Self.text(of: each))\n") }
            }
        }
        for line in comparisons {
            guard case .notComparable(let reason) = line.outcome else { continue }
            Terminal.output(
                "\(style.dim("not compared")) \(line.operation.method) \(line.operation.path)\n"
                    + "        \(reason.printable)\n"
            )
        }
        Terminal.output(
            "\(provider.title) at \(host), read only: \(equal) responses match, "
                + "\(differing) differ, \(notComparable) not compared\n"
        )
        guard equal + differing > 0 else {
            throw CommandFailure(.undecided, "no response could be compared")
        }
        return differing > 0
    }

    private static func text(of difference: ResponseShape.Difference) -> String {
        let valuePath = difference.valuePath.isEmpty ? "the body" : difference.valuePath.printable
        func kindsText(_ kinds: [String]) -> String { kinds.joined(separator: " or ") }
        return switch difference.kind {
        case .missingInFake(let kinds):
            "\(valuePath): \(kindsText(kinds)), only in the live service"
        case .missingInLive(let kinds): "\(valuePath): \(kindsText(kinds)), only in the fake"
        case .kinds(let live, let fake):
            "\(valuePath): \(kindsText(live)) in the live service, \(kindsText(fake)) in the fake"
        }
    }
}
