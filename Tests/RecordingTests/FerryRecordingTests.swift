import ContractFiles
import Contracts
import Ferry
import Providers
import Recording
import TestSupport
import Testing
import Values

/// A session with a provider that exists only in tests is recorded and distilled like one with the
/// others.
@Suite("A sixth provider is recorded and distilled")
struct FerryRecordingTests {
    private static let exchanges = [
        RecordingFileTests.exchange(1),
        RecordingFileTests.exchange(
            2,
            from: .ferry,
            "POST",
            "/hooks/ferry",
            body: [
                "id": "1B4E28BA-2FA1-41D2-883F-0016D3CCA427", "type": "PASS_SOLD",
                "user": "user-17", "pass": "FERRY_WEEK", "environment": "PRODUCTION",
                "end": "2026-10-21T14:13:20Z", "time": "2026-09-21T14:13:20Z",
            ]
        ),
        RecordingFileTests.exchange(
            3,
            "GET",
            "/subscriptions/user-17",
            body: nil,
            answer: ["access": true]
        ),
    ]

    @Test func `a session is recorded, read and distilled to a contract`() throws {
        try ProviderTable.$all.withValue(.withFerry) {
            let folder = try TemporaryFolder()
            let (recording, notes) = try RecordingFileTests.written(Self.exchanges, in: folder)
            #expect(notes.isEmpty)
            #expect(recording.exchanges.map(\.from) == [.app, .ferry, .app])
            let contract = try #require(
                Distiller.contracts(
                    recording,
                    Distiller.Options(id: "session/golden", source: "recordings/session")
                ).contracts.first
            )
            let text = ContractWriter.text(contract, id: contract.id)
            #expect(text.contains("to: ferry"))
            #expect(text.contains("deliver: pass-sold"))
            #expect(text.contains("{{user."))
            let read = try ContractParser.parse(text, path: "golden.yaml", id: contract.id).get()
            let reread = try #require(read.first)
            #expect(ContractWriter.text(reread, id: reread.id) == text)
            #expect(contract.allRequiredFeatures.contains(.ferry))
        }
    }

    @Test func `without the provider's line, a recording cannot name it`() throws {
        let folder = try TemporaryFolder()
        #expect(throws: (any Error).self) {
            try RecordingFileTests.written(Self.exchanges, in: folder)
        }
    }
}
