import Contracts
import FakeServers
import Grammar
import Judging
internal import Providers
import Redaction
import TestBackend
import Testing
import Values

@testable import Replay

/// What ends every case for one and the same reason is told before the first one.
@Suite("Preflight")
struct PreflightTests {
    private static let contracts = [
        SimulatedContracts.contract(
            "purchase",
            [SimulatedContracts.deliver("a")],
            states: [("access", true)],
            pushes: 1
        ),
        SimulatedContracts.contract("duplicate", [SimulatedContracts.deliver("a")], like: .once),
    ]

    private static func outcome(
        _ bench: SimulationBench,
        _ contracts: [Contract] = contracts,
        checksBackendFirst: Bool = true
    ) throws -> CaseRunnerFixture.Outcome {
        try CaseRunnerFixture(
            bench: bench,
            contracts: contracts,
            checksBackendFirst: checksBackendFirst
        ).run()
    }

    /// A backend that answers these requests with that status.
    private static func bench(
        _ status: Int,
        where isMeant: @escaping @Sendable (HTTPMessage.Request) -> Bool
    ) -> SimulationBench {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            isMeant(arrival.request) ? .status(status) : nil
        }
        return bench
    }

    private static let webhook = "/api/webhooks/revenuecat"

    @Test func `a correct backend passes the preflight`() throws {
        let outcome = try Self.outcome(SimulationBench())
        #expect(outcome.verdicts == [.passed, .passed])
        #expect(outcome.count("stopped") == 0 && outcome.count("warned") == 0)
    }

    @Test("an interrupted preflight proves nothing about the backend", arguments: 1...8)
    func interrupted(number: Int) throws {
        let arrivalCount = Locked(0)
        var fixture = CaseRunnerFixture(
            bench: SimulationBench(),
            contracts: Self.contracts,
            checksBackendFirst: true
        )
        fixture.interruptedAt = { _ in
            arrivalCount.withLock { count in
                count += 1
                return count == number
            }
        }
        let outcome = try fixture.run()
        #expect(outcome.count("stopped") == 0 && outcome.count("warned") == 0)
        #expect(outcome.results.allSatisfy { $0.verdict != .failed })
        #expect(outcome.results.allSatisfy { $0.note?.contains("correct the backend") != true })
    }

    private static let stops: [(Int, path: String, says: String)] = [
        (404, webhook, "POST /api/webhooks/revenuecat returns 404"),
        (405, webhook, "endpoints: {revenuecat-webhook: POST /…}"),
        (401, webhook, "under 'secrets: revenuecat-authorization'"),
        (403, webhook, "returns 403 for a purchase with the profile's own Authorization value"),
        (500, webhook, "POST /api/webhooks/revenuecat returns 500 for a plain purchase"),
        (400, webhook, "correct the backend, then run again"),
        (429, webhook, "a rate limit would refuse every case"),
        (302, webhook, "senders of webhooks follow no redirection"),
        (
            404, "/api/user/register",
            "POST /api/user/register returns 404, so no user can be created"
        ),
    ]

    @Test("no case runs, and one line gives the reason", arguments: stops)
    func stopped(status: Int, path: String, says: String) throws {
        let bench = Self.bench(status) { $0.path == path }
        let outcome = try Self.outcome(bench)
        #expect(outcome.verdicts == [.notRun, .notRun])
        #expect(outcome.results.allSatisfy { $0.note?.contains(says) == true })
        #expect(outcome.count("stopped") == 1 && outcome.count("started") == 0)
        #expect(outcome.results.allSatisfy { !$0.isDeclaredUnsupported }, "it is not green")
    }

    @Test func `the path that responds is reported`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            switch arrival.request.path {
            case Self.webhook: .status(404)
            case "/webhooks/rc": .status(200)
            default: nil
            }
        }
        let outcome = try Self.outcome(bench)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("endpoints: {revenuecat-webhook: POST /webhooks/rc}"))
    }

    @Test("successes that the sender does not count are left to the cases", arguments: [201, 204])
    func judged(status: Int) throws {
        let outcome = try Self.outcome(Self.bench(status) { $0.path == Self.webhook })
        #expect(outcome.count("stopped") == 0)
        #expect(outcome.count("started") == 2)
    }

    /// Responses to a purchase, each with a part of the reason for which the run stops.
    private static let responses: [(HTTPMessage.Response, says: String)] = [
        (
            HTTPMessage.Response(308, fields: [.init("Location", "https://x.example/hooks/rc/")]),
            "write 'endpoints: {revenuecat-webhook: POST /hooks/rc/}'"
        ),
        (
            HTTPMessage.Response(
                200,
                fields: [.init("content-type", "text/html")],
                body: Array("<!doctype html><title>My\n app</title>".utf8)
            ), "200 with an HTML page 'My app', so a web page answers instead"
        ),
        (
            HTTPMessage.Response(404, json: ["error": "user not found"]),
            "The route exists, because a path without a route gets another response"
        ),
    ]

    @Test("the response is named, and what to type", arguments: responses.indices)
    func response(index: Int) throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            arrival.request.path == Self.webhook ? .response(Self.responses[index].0) : nil
        }
        let outcome = try Self.outcome(bench)
        #expect(outcome.count("stopped") == 1)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains(Self.responses[index].says), "\(note)")
    }

    @Test func `a closed connection stops the run`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            arrival.request.path == Self.webhook ? .hangUp : nil
        }
        let note = try #require(try Self.outcome(bench)["purchase"]?.note)
        #expect(note.contains("sends no response to a plain purchase"), "\(note)")
    }

    @Test func `a call that reaches no route of a fake stops the run`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            bench.model.call(
                .revenueCat,
                HTTPMessage.Request(
                    "GET",
                    "/subscribers/\(user)",
                    fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
                )
            )
            return nil
        }
        let outcome = try Self.outcome(bench)
        #expect(outcome.count("stopped") == 1)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("The backend calls GET /subscribers/{…}"), "\(note)")
        #expect(note.contains("lacks '/v1'"), "\(note)")
    }

    @Test func `a purchase that nothing can show stops the run, with an example of a probe`() throws
    {
        let bench = SimulationBench { $0.probes = [] }
        bench.model.pushDelay = nil
        let outcome = try Self.outcome(bench)
        #expect(outcome.verdicts == [.notRun, .notRun] && outcome.count("stopped") == 1)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("\n  subscription:\n    get: "), "\(note)")
    }

    @Test func `selected cases run without a visible purchase`() throws {
        let bench = SimulationBench { $0.probes = [] }
        bench.model.pushDelay = nil
        let outcome = try CaseRunnerFixture(
            bench: bench,
            contracts: Self.contracts,
            checksBackendFirst: true,
            hasSelectedCases: true
        ).run()
        #expect(outcome.count("stopped") == 0)
    }

    @Test func `refused unknown events are reported before the first case, which runs`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            arrival.event?["type"]?.string?.hasPrefix("FUTURE") == true ? .status(400) : nil
        }
        let outcome = try Self.outcome(bench)
        #expect(outcome.count("warned") == 1 && outcome.count("stopped") == 0)
        #expect(outcome.verdicts == [.passed, .passed])
    }

    @Test(
        "a refused event fails its clause once, if the run has cases of the clause",
        arguments: [("S-08", "FUTURE"), ("S-18", "TEST")]
    )
    func refusedEvent(clause: String, type: String) throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            arrival.event?["type"]?.string?.hasPrefix(type) == true ? .status(400) : nil
        }
        var contracts = Self.contracts
        contracts[0].clause = clause
        let outcome = try Self.outcome(bench, contracts)
        #expect(outcome.count("warned") == 0 && outcome.count("stopped") == 0)
        let failures = outcome.results.filter { $0.verdict == .failed }
        #expect(failures.map(\.contract.clause) == [clause])
        let failure = try #require(failures.first)
        #expect(failure.isAboutWholeRun && failure.replayedCaseIDs == [clause])
        #expect(failure.findings.map(\.code) == [.responseStatus])
        #expect(failure.timeline.map(\.sequence) == failure.findings.first?.evidence)
    }

    @Test func `a probe whose command always fails stops the run and fails doctor`() throws {
        let bench = SimulationBench {
            $0.probes[0].source = .command(["/no/such/program", "{{id}}"])
        }
        let outcome = try Self.outcome(bench)
        let note = try #require(outcome["purchase"]?.note)
        #expect(outcome.count("stopped") == 1)
        #expect(note.contains("/no/such/program"), "\(note)")
        let checks = try bench.run { await DoctorChecks.checkBackend($0.executor, name: "d") }
            .checkResults.filter { $0.topic == "probes" }
        #expect(checks.map(\.state) == [.bad])
        #expect(checks.first?.text.contains("/no/such/program") == true)
    }

    // MARK: A webhook without any proof

    private static func unprotected(
        _ change: @escaping @Sendable (inout Profile) -> Void = { _ in }
    ) throws -> CaseRunnerFixture.Outcome {
        var guarded = contracts[0]
        guarded.id = "guarded"
        guarded.needs = [.authorization]
        let bench = SimulationBench {
            $0.secrets[.revenueCatAuthorization] = nil
            $0.secrets[.revenueCatSigning] = nil
            change(&$0)
        }
        return try outcome(bench, contracts + [guarded])
    }

    @Test func `a webhook that accepts purchases without any proof fails S-01`() throws {
        let results = try Self.unprotected().results
        let failure = try #require(results.first { $0.contract.id == "run/checks-senders" })
        #expect(failure.verdict == .failed && failure.contract.clause == "S-01")
        #expect(failure.findings.map(\.code) == [.unauthenticatedAccepted])
    }

    @Test func `a gateway that checks the sender is declared`() throws {
        let results = try Self.unprotected { $0.unsupportedFeatures.insert(.authorization) }.results
        #expect(!results.contains { $0.contract.id == "run/checks-senders" })
    }

    @Test func `an event that is sometimes refused is a finding of a case`() throws {
        let bench = SimulationBench()
        let count = Locked(0)
        bench.backend.respond = { _, arrival in
            guard arrival.request.path == Self.webhook else { return nil }
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? .status(401) : nil
        }
        #expect(try Self.outcome(bench).count("stopped") == 0)
    }

    @Test func `a refused backend key stops the run`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            if let user = arrival.event?["app_user_id"]?.string {
                var push = PurchaseModel.notification(to: user)
                push.fields[0] = HTTPMessage.Field("authorization", "Key another")
                bench.model.call(.oneSignal, push)
            }
            return nil
        }
        let outcome = try Self.outcome(bench)
        #expect(outcome.verdicts == [.notRun, .notRun])
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("the fake onesignal returns 4"))
        #expect(!note.contains("another"))
    }

    @Test func `without preflight the cases run anyway`() throws {
        let bench = Self.bench(404) { $0.path == Self.webhook }
        let outcome = try Self.outcome(bench, checksBackendFirst: false)
        #expect(outcome.count("started") == 2)
    }

    @Test func `a run without RevenueCat events does not check the webhook`() throws {
        let bench = Self.bench(404) { $0.path == Self.webhook }
        let contract = SimulatedContracts.contract("nothing", [], states: [("access", false)])
        #expect(try Self.outcome(bench, [contract]).count("stopped") == 0)
    }

    // MARK: Secrets and logins

    /// The order in which a backend checks the proofs of a sender, and what its refusal says.
    enum Check: String, CaseIterable, CustomTestStringConvertible {
        case authorizationFirst, signatureFirst, sameText

        var testDescription: String { rawValue }
    }

    /// A backend that knows another value of one of the two secrets.
    private static func refusing(
        wrongAuthorization: Bool,
        _ check: Check
    ) throws -> SimulationBench {
        let bench = SimulationBench {
            $0.secrets[.revenueCatAuthorization] = Secret("Bearer known")
            $0.secrets[.revenueCatSigning] = Secret("signing-1")
        }
        let target = WebhookTarget(
            url: "",
            authorization: Secret(wrongAuthorization ? "Bearer other" : "Bearer known"),
            signingSecret: Secret(wrongAuthorization ? "signing-1" : "other")
        )
        bench.backend.respond = { _, arrival in
            guard arrival.request.path == Self.webhook else { return nil }
            let proof = RevenueCatState.proof(
                of: arrival.request,
                for: target,
                at: bench.executor.backendNow
            )
            var refusals: [String] = []
            if proof.authorization != .configured { refusals.append("no authorization") }
            if proof.signature != .configured { refusals.append("bad signature") }
            if check == .signatureFirst { refusals.reverse() }
            guard let first = refusals.first else { return nil }
            return .json(["error": .string(check == .sameText ? "refused" : first)], status: 401)
        }
        return bench
    }

    @Test("the secret that the backend rejects is named", arguments: [true, false])
    func rejectedSecret(wrongAuthorization: Bool) throws {
        // The first check hides the second one, so a wrong value shows if its check comes second.
        let check: Check = wrongAuthorization ? .signatureFirst : .authorizationFirst
        let bench = try Self.refusing(wrongAuthorization: wrongAuthorization, check)
        let note = try #require(try Self.outcome(bench)["purchase"]?.note)
        let names = ["revenuecat-authorization", "revenuecat-signing"]
        #expect(note.contains("'secrets: \(names[wrongAuthorization ? 0 : 1])'"), "\(note)")
        #expect(!note.contains(names[wrongAuthorization ? 1 : 0]), "\(note)")
    }

    @Test("both secrets are named if the responses are the same", arguments: [true, false])
    func undecidedSecret(wrongAuthorization: Bool) throws {
        let bench = try Self.refusing(wrongAuthorization: wrongAuthorization, .sameText)
        let note = try #require(try Self.outcome(bench)["purchase"]?.note)
        #expect(
            note.contains("'secrets: revenuecat-authorization, revenuecat-signing'"),
            "\(note)"
        )
    }

    /// The forms in which a backend may expect a signature of the body in `Authorization`.
    private static let bodySignatures: [@Sendable (_ code: [UInt8]) -> String] = [
        { Digest.hex($0) }, { "sha256=" + Digest.hex($0) }, { "Bearer " + Base64.text($0) },
    ]

    @Test("a signature of the body in Authorization is named", arguments: bodySignatures.indices)
    func bodySignature(index: Int) throws {
        let bench = SimulationBench {
            $0.secrets[.revenueCatAuthorization] = Secret("Bearer known")
        }
        bench.backend.respond = { _, arrival in
            guard arrival.request.path == Self.webhook else { return nil }
            let code = Digest.authenticationCode(arrival.request.body, key: "known")
            let isSigned =
                arrival.request[field: "authorization"] == Self.bodySignatures[index](code)
            return isSigned ? .status(200) : .status(401)
        }
        let outcome = try Self.outcome(bench)
        #expect(outcome.verdicts == [.notRun, .notRun] && outcome.count("stopped") == 1)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("accepts the HMAC-SHA256 of the body"), "\(note)")
        #expect(note.contains("no real event passes this check"), "\(note)")
        #expect(!note.contains("known"), "\(note)")
    }

    @Test func `a login without a token stops the run before the first case`() throws {
        let bench = SimulationBench { profile in
            profile.session = Profile.Session(
                endpoint: Profile.Endpoint(method: "POST", path: "/login"),
                token: JSONPointer(tokens: ["jwt"])
            )
            profile.probes[0].credentials = Profile.Credentials(
                headers: ["X-Session": Secret("{{session}}")]
            )
        }
        bench.backend.respond = { _, arrival in
            arrival.request.path == "/login" ? .json(["token": "t-1"]) : nil
        }
        let outcome = try Self.outcome(bench)
        #expect(outcome.verdicts == [.notRun, .notRun] && outcome.count("stopped") == 1)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("POST /login, returned no token at /jwt"), "\(note)")
    }

    @Test("a probe that refuses every read stops the run", arguments: [401, 403, 405])
    func refusedProbe(status: Int) throws {
        let bench = Self.bench(status) { $0.path.hasPrefix("/test/") }
        let outcome = try Self.outcome(bench)
        #expect(outcome.verdicts == [.notRun, .notRun] && outcome.count("stopped") == 1)
        let note = try #require(outcome["purchase"]?.note)
        #expect(note.contains("returns \(status)") && note.contains("'probes'"), "\(note)")
    }

    // MARK: Routes that nobody named

    private static let second = SimulatedContracts.contract(
        "register",
        [.call([again])]
    )

    private static var again: Call {
        var call = Call(name: "again", route: .register)
        call.user = "ada"
        return call
    }

    @Test func `a guessed route that is not served counts as not configured`() throws {
        let bench = SimulationBench {
            $0.creation = .request(Profile.Endpoint(method: "POST", path: "/signup"))
        }
        bench.backend.respond = { _, arrival in
            switch arrival.request.path {
            case "/signup": .status(200)
            case "/api/user/register": .status(404)
            default: nil
            }
        }
        let outcome = try Self.outcome(bench, [Self.second] + Self.contracts)
        let result = try #require(outcome["register"])
        #expect(result.verdict == .notRun)
        #expect(result.note?.contains("endpoints: register") == true)
        #expect(outcome["purchase"]?.verdict == .passed, "it calls no such route")
    }

    @Test func `a route in the profile is judged`() throws {
        let bench = SimulationBench {
            $0.creation = .request(Profile.Endpoint(method: "POST", path: "/signup"))
            $0.namesOfDefaultEndpoints = []
        }
        bench.backend.respond = { _, arrival in
            switch arrival.request.path {
            case "/signup": .status(200)
            case "/api/user/register": .status(404)
            default: nil
            }
        }
        #expect(try Self.outcome(bench, [Self.second])["register"]?.verdict == .failed)
    }
}
