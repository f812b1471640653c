import Contracts
import FakeServers
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Users whose IDs are equal only for a backend that normalizes them.
@Suite("Similar user IDs")
struct SimilarUserIDTests {
    /// The REST responses about the two users after a purchase by the first one.
    private static func subscriptions(_ difference: SimilarUserIDs.Difference) throws -> [Int] {
        let bench = SimulationBench()
        let spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
        let delivery = Delivery(name: "a", subject: .event(spec))
        var plan = SimulationBench.plan([.deliver(delivery)])
        plan.users = ["ada", "bob"]
        var values = DrawnValues.standard
        values.similarIDs = SimilarUserIDs(difference, first: "ada", second: "bob")
        plan.drawnValues = values
        let drawnPlan = plan
        let namespace = try bench.run { bench in
            var execution = bench.executor.open(drawnPlan, "n-1", within: SimulationBench.within)
            await execution.deliver(delivery)
            return execution.namespace
        }
        return try ["ada", "bob"].map { user in
            let segment = namespace.id(of: user).utf8.map { byte in
                let hexDigits = String(byte, radix: 16)
                return "%" + (hexDigits.count == 1 ? "0" : "") + hexDigits
            }.joined()
            let request = HTTPMessage.Request(
                "GET",
                "/v1/subscribers/\(segment)",
                fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
            )
            let reply = FakeServer.reply(to: request, .revenueCat, bench.fakes)
            let body = try JSONValue(parsing: reply.response.body)
            return body["subscriber"]?["subscriptions"]?.object?.members.count ?? 0
        }
    }

    @Test(
        "the fake RevenueCat distinguishes the two users",
        arguments: SimilarUserIDs.Difference.allCases
    )
    func customers(difference: SimilarUserIDs.Difference) throws {
        #expect(try Self.subscriptions(difference) == [1, 0])
    }

    @Test("a message reaches only its user", arguments: SimilarUserIDs.Difference.allCases)
    func messages(difference: SimilarUserIDs.Difference) {
        let namespace = Namespace(
            name: "n-1",
            idForm: .string,
            similarIDs: SimilarUserIDs(difference, first: "ada", second: "bob")
        )
        let effect = Effect(
            kind: "onesignal.notification",
            recipients: [namespace.id(of: "ada")],
            content: .null
        )
        #expect(effect.reaches(namespace.ids(of: "ada")))
        #expect(!effect.reaches(namespace.ids(of: "bob")))
    }
}
