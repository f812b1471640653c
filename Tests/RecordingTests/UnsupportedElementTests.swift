import ContractFiles
import Contracts
import Providers
import Recording
import Testing
import Values

/// What a backend refused in a session is refused again by its golden, and for the same reason.
@Suite("Refusals")
struct RefusalTests {
    private static let right = "Bearer ‹secret:0123456789ab›"

    private static func delivery(
        _ sequence: Int,
        _ status: Int,
        authorization: String? = right,
        proof: SenderProof? = nil,
        user: String = "user-17",
        from party: Exchange.Party = .revenueCat
    ) -> Exchange {
        var exchange = RecordingFileTests.exchange(
            sequence,
            from: party,
            "POST",
            "/hooks",
            body: [
                "event": [
                    "id": .string("e\(sequence)"), "type": "RENEWAL",
                    "app_user_id": .string(user),
                ]
            ],
            status: status
        )
        exchange.request.fields = authorization.map { [.init("Authorization", $0)] } ?? []
        exchange.proof = proof
        return exchange
    }

    private static func distill(_ exchanges: [Exchange]) -> (
        deliveries: [Delivery], [Contract], [String]
    ) {
        let (contracts, notes) = Distiller.contracts(
            Recording(header: RecordingFileTests.header, exchanges: exchanges),
            Distiller.Options(id: "session/golden", source: "recordings/session")
        )
        let deliveries = contracts.flatMap(\.steps).compactMap { step -> Delivery? in
            if case .deliver(let delivery) = step { delivery } else { nil }
        }
        return (deliveries, contracts, notes)
    }

    private struct Case: CustomStringConvertible {
        let description: String
        /// The refused delivery, beside one that was taken with the right credentials.
        let status: Int
        var authorization: String? = right
        var proof: SenderProof?
        var accepted: SenderProof?
        var expected: (SenderProof.Authorization, SenderProof.Signature)? = (
            .configured, .configured
        )
        var needs: [Feature] = []
    }

    private static let known = SenderProof(authorization: .configured, signature: .configured)

    private static let cases = [
        Case(
            description: "another value than the one that was taken",
            status: 401,
            authorization: "Bearer ‹authorization:ffff›",
            expected: (.wrong, .configured),
            needs: [.authorization]
        ),
        Case(
            description: "no value",
            status: 401,
            authorization: nil,
            expected: (.missing, .configured),
            needs: [.authorization]
        ),
        Case(
            description: "the recorder knows better",
            status: 401,
            authorization: "Bearer ‹authorization:ffff›",
            proof: SenderProof(authorization: .nearMiss),
            expected: (.nearMiss, .configured),
            needs: [.authorization]
        ),
        Case(
            description: "a stale signature",
            status: 403,
            proof: SenderProof(authorization: .configured, signature: .stale),
            accepted: known,
            expected: (.configured, .stale),
            needs: [.signature]
        ),
        Case(
            description: "a forged one that is a bad request",
            status: 400,
            proof: SenderProof(authorization: .configured, signature: .wrongKey),
            accepted: known,
            expected: (.configured, .wrongKey),
            needs: [.signature]
        ),
        Case(
            description: "secrets that the backend does not have",
            status: 400,
            proof: SenderProof(authorization: .wrong, signature: .wrongKey),
            accepted: SenderProof(authorization: .wrong, signature: .wrongKey)
        ),
        Case(
            description: "a bad request with right credentials",
            status: 400,
            proof: known,
            accepted: known
        ),
        Case(description: "a person who may not", status: 403, proof: known, accepted: known),
        Case(
            description: "nobody knows why",
            status: 401,
            proof: known,
            accepted: known,
            expected: nil
        ),
        Case(
            description: "the backend was busy",
            status: 429,
            proof: SenderProof(authorization: .configured, signature: .stale),
            accepted: known
        ),
    ]

    @Test("a refused delivery is replayed with its recorded proof", arguments: cases)
    private func reading(test: Case) throws {
        let (deliveries, contracts, notes) = Self.distill([
            Self.delivery(1, 200, proof: test.accepted),
            Self.delivery(
                2,
                test.status,
                authorization: test.authorization,
                proof: test.proof
            ),
        ])
        let last = deliveries.count == 2 ? deliveries.last : nil
        #expect(last?.authorization == test.expected?.0)
        #expect(last?.signature == test.expected?.1)
        #expect(contracts.first?.needs == test.needs)
        #expect(notes.contains { $0.contains("was refused (401)") } == (test.expected == nil))
        // It is told as it is read.
        let written = try #require(contracts.first)
        let text = ContractWriter.text(written, id: written.id)
        let read = try ContractParser.parse(text, path: "r.yaml", id: written.id).get()
        #expect(read.first.map { ContractWriter.text($0, id: $0.id) } == text)
    }

    @Test func `a signature of Purchasely needs its own secret`() {
        let (deliveries, contracts, _) = Self.distill([
            Self.delivery(
                1,
                401,
                authorization: nil,
                proof: SenderProof(signature: .missing),
                from: .purchasely
            )
        ])
        #expect(deliveries.map(\.signature) == [.missing])
        #expect(contracts.first?.needs == [.purchaselySignature])
    }

    @Test func `an id that was never taken stays what it is`() throws {
        let (deliveries, contracts, _) = Self.distill([
            Self.delivery(1, 200), Self.delivery(2, 400, user: "undefined"),
            Self.delivery(3, 400), Self.delivery(4, 503, user: "user-18"),
        ])
        let text = contracts.map { ContractWriter.text($0, id: $0.id) }.joined()
        #expect(text.contains(#""app_user_id":"undefined""#))
        // Who is known is known in what was refused too, and who met a failure may be taken next.
        #expect(!text.contains("user-17") && !text.contains("user-18"))
        #expect(deliveries.count == 4)
    }

    @Test func `a recording says what proved the sender`() throws {
        let proof = SenderProof(authorization: .wrong, signature: .deprecatedOnly)
        let recording = Recording(
            header: RecordingFileTests.header,
            exchanges: [
                Self.delivery(1, 401, proof: proof), Self.delivery(2, 200),
                Self.delivery(3, 200, proof: SenderProof(signature: .stale)),
            ]
        )
        let text = recording.lines.joined(separator: "\n") + "\n"
        let (read, notes) = try Recording.parse(Array(text.utf8))
        #expect(read.exchanges.map(\.proof) == recording.exchanges.map(\.proof))
        #expect(notes.isEmpty)
        let odd = text.replacing("deprecated-only", with: "perfect")
        #expect {
            try Recording.parse(Array(odd.utf8))
        } throws: { error in
            (error as? RecordingError)?.line == 2 && "\(error)".contains("perfect")
        }
    }
}
