internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Replay
internal import Reports

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examines a profile and a backend, and says what can be proven of it.",
        discussion: """
            It makes a user, sends a TEST event and a purchase, and looks. With --write it writes \
            a starter assay.yaml, unless there is one.

            Example:  assay doctor --target http://127.0.0.1:8080 --write assay.yaml
                      assay doctor --start 'node server.js'
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: "Write a starter profile to this file; it must not exist.")
    var write: String?

    mutating func run() async throws {
        let profile = try target.resolved()
        if let write, FileManager.default.fileExists(atPath: write) {
            throw Failure(.usage, "'\(write)' exists; the doctor overwrites nothing")
        }
        let folder = NSTemporaryDirectory() + "assay-" + SuiteRun.nonce()
        try FileManager.default.createDirectory(
            atPath: folder + "/data",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let addresses = try target.addresses(for: profile)
        let interruption = Interruption()
        let (examination, clauses) = try await interruption.run {
            let session: ReplaySession
            do throws(ReplaySession.OpenError) {
                session = try await ReplaySession(
                    profile: profile,
                    addresses: addresses,
                    folder: folder,
                    base: Instant(
                        milliseconds: SuiteRun.now().milliseconds / 1000 * 1000 - 3_600_000
                    ),
                    onWaiting: Terminal.tellWaiting
                )
            } catch {
                let status: ExitStatus = error.kind == .configuration ? .usage : .unreachable
                throw Failure(status, error.description)
            }
            interruption.onAbandon { session.abandon() }
            let examination = await Examination.examine(session.executor, name: SuiteRun.nonce())
            let clauses = Self.clauses(session, examination)
            await session.close()
            return (examination, clauses)
        }
        show(examination, clauses)
        if let write {
            let text = Self.starter(target, profile, examination)
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: write))
            } catch {
                throw Failure(.usage, "cannot write '\(write)': \(error.localizedDescription)")
            }
            let next = Terminal.next(["verify", "--profile", write])
            Terminal.output("\nwrote \(write); then:  \(next)\n")
        }
        if examination.lines.contains(where: { $0.state == .bad }) {
            throw ExitCode(ExitStatus.failures.rawValue)
        }
    }

    /// Why each clause can or cannot be proven here; nil where it can.
    private static func clauses(
        _ session: ReplaySession,
        _ examination: Examination
    ) -> [(clause: String, reason: String?)] {
        let runner = SuiteRunner(
            executor: session.executor,
            options: .init(seed: 0, jobs: 1, nonce: "doctor", knownFailures: KnownFailures()),
            report: { _ in }
        )
        let sight = examination.sight
        let groups = Dictionary(
            grouping: ContractLibrary.shipped.contracts.filter {
                $0.level <= .should && !$0.isDeviceScenario
            },
            by: \.clause
        )
        return groups.sorted { $0.key < $1.key }.map { clause, contracts in
            var reason: String?
            for contract in contracts {
                if let obstacle = runner.obstacle(CasePlan(contract)) {
                    reason = reason ?? obstacle.note
                } else if contract.expectation.needsSettling, !sight.seesEffects, !sight.seesState {
                    reason = reason ?? "nothing of it can be seen; add a probe"
                } else {
                    return (clause, nil)
                }
            }
            return (clause, reason ?? "")
        }
    }

    private func show(
        _ examination: Examination,
        _ clauses: [(clause: String, reason: String?)]
    ) {
        let style = Terminal.style()
        for line in examination.lines {
            let mark =
                switch line.state {
                case .good: style.green("ok  ")
                case .doubtful: style.yellow("?   ")
                case .bad: style.red("bad ")
                }
            let topic = line.topic + String(repeating: " ", count: max(1, 15 - line.topic.count))
            let space = String(repeating: " ", count: 20)
            let text = line.text.printable.wrapped(80)
            Terminal.output("\(mark) \(topic)\(text.joined(separator: "\n" + space))\n")
            for row in line.hint?.wrapped(80) ?? [] { Terminal.output("\(space)\(row)\n") }
        }
        let provable = clauses.filter { $0.reason == nil }.map(\.clause)
        Terminal.output("\ncan be proven, \(provable.count) of \(clauses.count) clauses\n")
        for start in stride(from: 0, to: provable.count, by: 14) {
            let row = provable[start..<min(start + 14, provable.count)]
            Terminal.output("  \(row.joined(separator: " "))\n")
        }
        let reasons = Dictionary(
            grouping: clauses.filter { $0.reason != nil },
            by: { $0.reason ?? "" }
        )
        if !reasons.isEmpty { Terminal.output("cannot be proven\n") }
        for (reason, entries) in reasons.sorted(by: { $0.key < $1.key }) {
            let names = entries.map(\.clause).joined(separator: " ")
            Terminal.output("  \(reason)\n    \(names)\n")
        }
    }

    /// A profile to begin with: what is known is filled in, what is not stands as a comment.
    private static func starter(
        _ target: TargetOptions,
        _ profile: Profile,
        _ examination: Examination
    ) -> String {
        var except: [String] = []
        if !examination.sight.seesEffects { except.append("push") }
        if !examination.sight.readsSubscribers { except.append("subscriber-reads") }
        if profile.start == nil { except.append("restart") }
        func quoted(_ text: String) -> String { JSONValue.string(text).text }
        let place =
            profile.start.map { start in
                """
                start:
                  command: \(quoted(start.command))
                  ready: \(start.ready?.method ?? "GET") \(start.ready?.path ?? "/")
                """
            } ?? "target: \(profile.target ?? "http://127.0.0.1:{{port}}")"
        let webhook = profile.endpoints["revenuecat-webhook"]?.path ?? "/api/webhooks/revenuecat"
        return """
            # How Assay reaches this backend and looks at it; the schema is profile.schema.json.
            assay: 1
            \(place)
            endpoints:
              revenuecat-webhook: POST \(webhook)
              # purchasely-webhook: POST /api/webhooks/purchasely
              # register: {post: /api/user/register, body: {appUserId: "{{id}}", deviceId: "{{device}}"}}
              # login: {post: /api/user/login, body: {…}, id: /appUserId}
              # protected: {get: /api/me, id: /appUserId}
              # reconcile: POST /admin/reconcile
            secrets:
              revenuecat-authorization: ${RC_WEBHOOK_TOKEN:-Bearer assay-test-token}
            # probes:
            #   subscription:
            #     get: "/test/subscriptions/{{id}}"
            #     read: {access: /access, product: /product_id, expires: /expiration_at_ms}
            features: {except: [\(except.joined(separator: ", "))]}

            """
    }
}
