import ContractFiles
import Contracts
import FakeServers
import Grammar
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// A backend without pushes that writes its messages into outbox tables, which the profile names.
@Suite("Effect sources")
struct EffectSourceTests {
    /// The tables of the backend, each with its messages in order.
    private final class Outbox: Sendable {
        struct Message {
            let table: String
            let user: String
            let text: String
        }

        private let messages = Locked([Message]())
        private let seenEventIDs = Locked(Set<String>())

        /// Whether the backend writes the messages of this event.
        func isNew(_ eventID: String) -> Bool {
            seenEventIDs.withLock { $0.insert(eventID).inserted }
        }

        func add(_ table: String, _ user: String, _ text: String) {
            messages.withLock {
                $0.append(Message(table: table, user: user, text: text))
            }
        }

        func list(_ table: String, of user: String) -> JSONValue {
            let rows = messages.withLock { $0.enumerated().map { ($0.offset, $0.element) } }
                .filter { $0.1.table == table && $0.1.user == user }
            return [
                "items": .array(
                    rows.map { ["id": .integer(Int64($0.0)), "body": .string($0.1.text)] }
                )
            ]
        }
    }

    private enum Defect: String, CaseIterable {
        case noDedupe, sameText, noMessage, listMissing, refusesReads
    }

    private static func source(_ name: String) -> Profile.EffectSource {
        var source = Profile.EffectSource(
            probe: Profile.Probe(
                name: Profile.EffectSource.namePrefix + name,
                source: .get("/test/\(name)?user={{id}}"),
                readings: [:],
                ignoredPointers: []
            ),
            listPointer: JSONPointer(tokens: ["items"]),
            keyPointer: JSONPointer(tokens: ["id"])
        )
        source.textPointer = JSONPointer(tokens: ["body"])
        return source
    }

    private static func bench(
        _ defect: Defect?,
        tables: [String],
        showsState: Bool = true
    ) -> SimulationBench {
        let bench = SimulationBench { profile in
            profile.unsupportedFeatures.insert(.push)
            profile.effectSources = tables.map(source)
            if !showsState { profile.probes = [] }
        }
        bench.model.pushDelay = nil
        let outbox = Outbox()
        bench.backend.respond = { _, arrival in
            if let event = arrival.event, let user = event["app_user_id"]?.string {
                let isNew = outbox.isNew(event["id"]?.string ?? "")
                guard defect != .noMessage, isNew || defect == .noDedupe else { return nil }
                let type = event["type"]?.string ?? ""
                for table in tables {
                    outbox.add(table, user, defect == .sameText ? "news" : "\(table): \(type)")
                }
                return nil
            }
            for table in tables where arrival.request.path == "/test/\(table)" {
                switch defect {
                case .refusesReads: return .status(403)
                case .listMissing: return .json(["rows": []])
                case .noDedupe, .sameText, .noMessage, nil: break
                }
                let user = arrival.request.query("user") ?? ""
                return .json(outbox.list(table, of: user))
            }
            return nil
        }
        return bench
    }

    private static func contract(_ expect: String, _ steps: String) throws -> Contract {
        let text = """
            contract: messages
            title: t
            clause: S-03
            source: s
            given:
              - register: ada
              - register: bob
            steps:
            \(steps)
            expect:
              status: 200
            \(expect)
            """
        let contracts = try ContractParser.parse(text, path: "m.yaml", id: "messages").get()
        return try #require(contracts.first)
    }

    private static let contracts = [
        "count": """
          effects: [{onesignal: notification, to: ada, count: 1}]
        """,
        "added": """
          effects: [{onesignal: notification, to: ada, added: {at-most: 1}}]
        """,
        "once": """
          like: once
          compare: [effects]
        """,
    ]

    private static let twice = """
          - deliver: purchase
            event: {type: INITIAL_PURCHASE, user: ada}
            times: 2
        """

    private static func verdict(
        _ contract: Contract,
        _ defect: Defect? = nil,
        tables: [String] = ["mail"],
        showsState: Bool = true
    ) throws -> CaseResult {
        let bench = bench(defect, tables: tables, showsState: showsState)
        let results = try bench.verify(contract).results
        return try #require(results.first { $0.contract.id == "messages" })
    }

    @Test("messages of a correct backend pass", arguments: contracts.keys.sorted())
    func correct(name: String) throws {
        let contract = try Self.contract(Self.contracts[name] ?? "", Self.twice)
        for tables in [["mail"], ["mail", "outbox"]] {
            for showsState in [true, false] {
                let result = try Self.verdict(contract, tables: tables, showsState: showsState)
                #expect(result.verdict == .passed, "\(result.note ?? "") \(result.findings)")
            }
        }
    }

    @Test(
        "a message for each copy is found",
        arguments: [("count", "E204"), ("added", "E204"), ("once", "E202")]
    )
    func duplicates(name: String, code: String) throws {
        let contract = try Self.contract(Self.contracts[name] ?? "", Self.twice)
        for tables in [["mail"], ["mail", "outbox"]] {
            let result = try Self.verdict(contract, .noDedupe, tables: tables)
            #expect(result.verdict == .failed)
            #expect(Set(result.findings.map(\.code.rawValue)) == [code], "\(result.findings)")
        }
    }

    @Test func `equal texts for different events are found`() throws {
        let contract = try Self.contract(
            """
              effects: [{onesignal: notification, to: ada, unlike: bob}]
            """,
            """
              - deliver: purchase
                event: {type: INITIAL_PURCHASE, user: ada}
              - deliver: cancellation
                event: {type: CANCELLATION, user: bob}
            """
        )
        #expect(try Self.verdict(contract).verdict == .passed)
        let result = try Self.verdict(contract, .sameText)
        #expect(result.findings.map(\.code) == [.identicalMessages], "\(result.findings)")
    }

    @Test(
        "a source that shows no message proves nothing",
        arguments: [Defect.listMissing, .refusesReads]
    )
    private func unreadable(defect: Defect) throws {
        let contract = try Self.contract(Self.contracts["count"] ?? "", Self.twice)
        let result = try Self.verdict(contract, defect)
        #expect(result.verdict == .inconclusive || result.verdict == .notRun, "\(result.findings)")
    }

    @Test func `a missing message is found`() throws {
        let contract = try Self.contract(Self.contracts["count"] ?? "", Self.twice)
        let result = try Self.verdict(contract, .noMessage)
        #expect(result.verdict == .failed && result.findings.first?.code == .wrongEffectCount)
    }

    @Test(
        "a contract about the push service does not run",
        arguments: ["address: personal", "attempts: {at-most: 5}", "count: 1, pace: retry-after"]
    )
    func pushService(expectation: String) throws {
        let contract = try Self.contract(
            "  effects: [{onesignal: notification, to: ada, \(expectation)}]",
            Self.twice
        )
        #expect(try Self.verdict(contract).verdict == .notRun)
    }

    @Test func `a planned failure of the push service does not run`() throws {
        let contract = try Self.contract(
            Self.contracts["count"] ?? "",
            "  - onesignal: {responses: [500]}\n" + Self.twice
        )
        #expect(try Self.verdict(contract).verdict == .notRun)
    }
}
