import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("CallRule")
struct CallRuleTests {
    private func call(_ name: String, route: Call.Route = .login) -> Call {
        var call = Call(name: name, route: route)
        call.user = "ada"
        return call
    }

    private func answer(_ name: String, _ status: Int, _ body: String) -> Exchange {
        var exchange = EvidenceBuilder.delivery()
        exchange.from = .app
        exchange.purpose = .appCall(name)
        exchange.outcome = .answered(HTTPMessage.Response(status, body: Array(body.utf8)))
        return exchange
    }

    private func findings(
        _ responses: [Exchange],
        _ change: (inout Expectation) -> Void
    ) -> [Finding] {
        var expectation = SampleContract.expectation()
        change(&expectation)
        var builder = EvidenceBuilder([], expectation: expectation)
        builder.contract.steps.append(.call([call("one"), call("two")]))
        builder.subject = responses
        return CallRule.findings(in: builder.evidence)
    }

    @Test func `different refusals reveal existing accounts`() {
        let same = findings([answer("one", 401, #"{"e":1}"#), answer("two", 401, #"{"e":1}"#)]) {
            $0.callsWithSameResponse = ["one", "two"]
        }
        #expect(same.isEmpty)
        let other = findings([answer("one", 401, "{}"), answer("two", 404, "{}")]) {
            $0.callsWithSameResponse = ["one", "two"]
        }
        #expect(other.map(\.code) == [.revealingResponse])
        let body = findings([answer("one", 401, #"{"e":1}"#), answer("two", 401, #"{"e":2}"#)]) {
            $0.callsWithSameResponse = ["one", "two"]
        }
        #expect(body.map(\.code) == [.revealingResponse])
    }

    @Test(
        "exactly the expected number of callers wins",
        arguments: [
            ([200, 409], true), ([200, 200], false), ([409, 409], false), ([200, 500], false),
        ]
    )
    func race(statuses: [Int], isFair: Bool) {
        let responses = zip(["one", "two"], statuses).map { answer($0, $1, "{}") }
        let found = findings(responses) {
            $0.race = RaceExpectation(
                calls: ["one", "two"],
                winnerCount: 1,
                location: SampleContract.location
            )
        }
        #expect(found.isEmpty == isFair)
    }

    @Test func `an ID of another user is reported`() {
        let namespace = Namespace(name: "namespace-0", idForm: .string)
        let right = findings([answer("one", 200, #"{"appUserId":"\#(namespace.id(of: "ada"))"}"#)])
        {
            $0.calls = [
                CallExpectation(call: "one", user: "ada", location: SampleContract.location)
            ]
        }
        #expect(right.isEmpty)
        let wrong = findings([answer("one", 200, #"{"appUserId":"other"}"#)]) {
            $0.calls = [
                CallExpectation(call: "one", user: "ada", location: SampleContract.location)
            ]
        }
        #expect(wrong.map(\.code) == [.wrongID])
    }

    @Test func `an ID with a different Unicode spelling is a different ID`() {
        var expectation = SampleContract.expectation()
        expectation.calls = [
            CallExpectation(call: "login", user: "zo\u{eb}", location: SampleContract.location)
        ]
        var builder = EvidenceBuilder([], expectation: expectation)
        var call = Call(name: "login", route: .login)
        call.user = "zo\u{eb}"
        builder.contract.steps = [.call([call])]
        builder.profile.endpoints["login"] = Profile.Endpoint(method: "POST", path: "/login")
        builder.profile.endpoints["login"]?.responseIDPointer = JSONPointer(tokens: ["id"])
        func codes(_ name: String) -> [FindingCode] {
            builder.subject = [
                EvidenceBuilder.call("login", 200, ["id": .string("assay-namespace-0-" + name)])
            ]
            return builder.codes(CallRule.self)
        }
        #expect(codes("zo\u{eb}").isEmpty)
        #expect(codes("zoe\u{308}") == [.wrongID])
    }
}
