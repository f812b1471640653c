import Contracts
import Exploration
import Judging
import Providers
import Testing
import Values

/// A backend that applies events after its response may apply a later registration first.
///
/// Both orders are correct.
struct OpenOrderTests {
    private static let capabilities = Capabilities(
        features: [.register, .createsUnknownUsers, .push, .restart],
        canReadState: true,
        backendChoosesIDs: false
    )

    /// Histories of a user whom a purchase names before the registration, with every fault that is
    /// compared with a baseline.
    private static let faults = [
        "0.0 duplicate 1", "0.0 concurrent-duplicate 1", "0.0 redelivery 1",
        "0.0 lost-response 1", "0.0 truncated-request 1", "0.0 disconnect 1", "0.0 unknown-fields",
        "0.0 reordered-keys", "0.0 registration-overlap", "2.0 restart KILL",
    ]

    private static func contract(_ fault: String) throws -> Contract {
        try HistoryScript(
            HistoryText.history(
                """
                history 1
                baseline
                person ada unknown
                operation 0 -3h ada purchase product=premium_monthly
                operation 1 -2h ada register
                operation 2 -1h ada cancel product=premium_monthly
                fault \(fault)

                """
            ),
            capabilities,
            id: "histories/\(fault.split(separator: " ")[1])"
        ).contract
    }

    private static func suite(
        _ seed: UInt64,
        defect: SubscriptionModel.Defect? = nil
    ) throws -> SimulatedSuite {
        var suite = SimulatedSuite(seed: seed, defect: defect)
        suite.contracts = try faults.map(contract)
        suite.shape.lanes = SubscriptionModel.LaneDelays()
        suite.change = { profile in
            profile.probes = [
                Profile.Probe(
                    name: "user",
                    source: .get("/test/{{id}}"),
                    readings: Dictionary(
                        uniqueKeysWithValues: ["access", "source"].map {
                            let pointer = JSONPointer(tokens: [$0])
                            return ($0, Profile.FieldReading(pointer: pointer, meaning: .value))
                        }
                    ),
                    ignoredPointers: []
                )
            ]
        }
        return suite
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `an event and a registration may be applied in either order`(seed: UInt64) throws {
        let outcome = try Self.suite(seed).run()
        #expect(outcome.results?.count == Self.faults.count)
        #expect(outcome.text.isEmpty, "\(outcome.text)")
    }

    /// The comparison of the other fields still finds a backend that loses events.
    ///
    /// About every fourth seed applies the purchase before the restart.
    @Test func `a lost event is found in an open order`() throws {
        let failures = try (0..<24).flatMap { seed in
            try Self.suite(seed, defect: .forgetsAfterRestart).run().cases(.failed)
        }
        #expect(!failures.isEmpty)
    }
}
