import ContractFiles
import Contracts
import Exploration
internal import FakeServers
import Ferry
internal import Grammar
import Judging
import Providers
import Redaction
import TestBackend
import Testing
import Values

@testable import Replay

/// A provider that exists only in tests, in one folder and one line of a table, is linted, run and
/// explored like the others.
@Suite("A sixth provider is linted, run and explored")
struct FerrySuiteTests {
    private static let secret = "ferry-secret-71"

    private static func contract(_ key: String = "ferry", given: String = "") -> String {
        """
        contract: ferry/purchase
        title: A sold pass gives access
        clause: P-01
        source: a test
        needs: [ferry, ferry-signature]

        given:
          - register: ada
        \(given)
        steps:
          - ferry: {responses: [503]}
          - deliver: sale
            \(key): {type: PASS_SOLD, user: ada}
          - deliver: forged
            ferry: {type: PASS_SOLD, user: bob}
            signature: wrong-key
            status: 401

        expect:
          status: 200
          effects:
            - ferry: announcement
              to: ada
              count: 1
          state:
            ada: {access: true}
            bob: {access: false}
        """
    }

    private static func parse(_ text: String) throws -> Contract {
        let contracts = try ContractParser.parse(text, path: "ferry.yaml", id: "ferry/purchase")
            .get()
        return try #require(contracts.first)
    }

    /// A backend that stores passes, with faults for the tests.
    private final class Passes: Sendable {
        private struct Pass {
            let end: Instant
            var isReturned = false
        }

        private let verifiesSignature: Bool
        private let obeysReturns: Bool
        private let passes = Locked<[String: [String: Pass]]>([:])

        init(verifiesSignature: Bool = true, obeysReturns: Bool = true) {
            (self.verifiesSignature, self.obeysReturns) = (verifiesSignature, obeysReturns)
        }

        func handler(_ bench: SimulationBench) -> BackendDouble.Handler {
            { _, arrival in
                let request = arrival.request
                let target = WebhookTarget(url: "", signingSecret: Secret(FerrySuiteTests.secret))
                if request.path == "/hooks/ferry" {
                    let proof = FerryState.proof(of: request, for: target, at: bench.fakes.now)
                    guard proof.signature == .configured || !self.verifiesSignature else {
                        return .status(401)
                    }
                    let event = JSONValue(ifValid: request.body) ?? .null
                    self.take(event)
                    if event["type"] == "PASS_SOLD" { Self.announce(event, bench.fakes) }
                    return .status(200)
                }
                guard request.method == "GET", request.path.hasPrefix("/test/") else { return nil }
                let user = String(request.path.dropFirst("/test/".count))
                guard let valid = self.validPasses(of: user, at: bench.fakes.now) else {
                    return nil
                }
                return .json([
                    "access": .bool(!valid.isEmpty), "refunded": false,
                    "product": valid.first.map { .string($0) } ?? .null,
                ])
            }
        }

        /// Calls the API of the company, and once more after a failure.
        private static func announce(_ event: JSONValue, _ fakes: FakeRegistry) {
            let body: JSONValue = ["to": event["user"] ?? .null]
            let request = HTTPMessage.Request("POST", "/announcements", body: body.bytes)
            for _ in 0..<2 {
                let reply = FakeServer.reply(to: request, .ferry, fakes)
                if reply.response.status == 200 { return }
            }
        }

        private func take(_ event: JSONValue) {
            guard let user = event["user"]?.string, let pass = event["pass"]?.string,
                event["environment"] == "PRODUCTION",
                let end = event["end"]?.string.flatMap({ Instant(iso8601: $0) })
            else { return }
            passes.withLock { passes in
                switch event["type"]?.string {
                case "PASS_SOLD": passes[user, default: [:]][pass] = Pass(end: end)
                case "PASS_RETURNED" where obeysReturns:
                    passes[user, default: [:]][pass] = Pass(end: end, isReturned: true)
                default: break
                }
            }
        }

        /// Returns the names of the valid passes of a user; nil for a user without any pass.
        private func validPasses(of user: String, at now: Instant) -> [String]? {
            passes.withLock { passes in
                passes[user].map { passes in
                    passes.filter { !$0.value.isReturned && $0.value.end > now }.map(\.key).sorted()
                }
            }
        }
    }

    private static func bench(_ passes: Passes) -> SimulationBench {
        let bench = SimulationBench { profile in
            profile.endpoints["ferry-webhook"] = Profile.Endpoint(
                method: "POST",
                path: "/hooks/ferry"
            )
            profile.secrets[.ferrySigning] = Secret(secret)
        }
        bench.backend.respond = passes.handler(bench)
        return bench
    }

    private static func verify(
        _ contracts: [Contract],
        _ passes: Passes = Passes()
    ) throws -> CaseRunnerFixture.Outcome {
        try CaseRunnerFixture(bench: bench(passes), contracts: contracts).run()
    }

    // MARK: Lint

    @Test func `the grammar knows the events, the plan and the features of the provider`() throws {
        try ProviderTable.$all.withValue(.withFerry) {
            let contract = try Self.parse(Self.contract())
            #expect(Set(contract.allRequiredFeatures).isSuperset(of: [.ferry, .ferrySignature]))
            let text = ContractWriter.text(contract, id: contract.id)
            #expect(try Self.parse(text).steps == contract.steps)
            let keys = Delivery.grammar.shape.keys.map(\.key)
            #expect(keys.contains("ferry"))
            #expect(throws: (any Error).self) { try Self.parse(Self.contract("fery")) }
        }
    }

    @Test func `without the provider's line, its step is an unknown key`() {
        #expect(throws: (any Error).self) { try Self.parse(Self.contract()) }
        #expect(!Delivery.grammar.shape.keys.map(\.key).contains("ferry"))
        #expect(Feature(rawValue: "ferry") == nil)
    }

    // MARK: Run

    @Test func `a correct backend passes, and one that ignores signatures fails`() throws {
        try ProviderTable.$all.withValue(.withFerry) {
            let contract = try Self.parse(Self.contract())
            #expect(try Self.verify([contract]).verdicts == [.passed])
            let outcome = try Self.verify([contract], Passes(verifiesSignature: false))
            let findings = try #require(outcome["ferry/purchase"]).findings
            #expect(outcome.verdicts == [.failed])
            #expect(findings.contains { $0.code == .unauthenticatedAccepted })
        }
    }

    @Test func `a saved run keeps the event of the provider`() throws {
        try ProviderTable.$all.withValue(.withFerry) {
            let plan = CasePlan(try Self.parse(Self.contract()))
            let json = try JSONValue(encoding: plan)
            #expect(try json.decoded(as: CasePlan.self) == plan)
        }
    }

    // MARK: Explore

    @Test func `generated histories at the provider pass, and find a backend that ignores returns`()
        throws
    {
        try ProviderTable.$all.withValue(.withFerry) {
            var options = HistoryGenerator.Options(
                capabilities: Capabilities(
                    features: [.ferry, .subscription, .register, .createsUnknownUsers],
                    canReadState: true,
                    backendChoosesIDs: false
                )
            )
            options.sellers = SellerTable.all
            var generator = HistoryGenerator(seed: 5, options: options)
            let contracts = (0..<300).map { _ in generator.next().script }
                .filter { script in
                    script.history.placedFaults.isEmpty
                        && script.history.steps.contains { $0.operation.kind == .refund }
                        && script.history.steps.allSatisfy {
                            $0.operation.store == FerrySeller.store
                        }
                }
                .map(\.contract)
            #expect(contracts.count >= 3)
            let correct = try Self.verify(contracts)
            #expect(correct.verdicts.allSatisfy { $0 == .passed })
            let wrong = try Self.verify(contracts, Passes(obeysReturns: false))
            #expect(wrong.verdicts.contains(.failed))
        }
    }
}
