import Contracts
import Testing
import Values

@testable import Providers

/// Who is in an audience: what an index finds is what going through everybody would find.
struct AudienceTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    /// People with some of three tags, whose values change and go.
    private static func randomApp(_ generator: inout SeededGenerator) -> OneSignalApp {
        var state = OneSignalState(key: nil)
        let users = "/apps/\(OneSignalState.defaultAppID)/users"
        func say(_ method: String, _ path: String, _ body: JSONValue) {
            let request = HTTPMessage.Request(method, path, body: body.bytes)
            _ = state.respond(to: request, at: now)
        }
        for number in 0..<30 {
            say("POST", users, ["identity": ["external_id": .string("u\(number)")]])
            for _ in 0..<4 {
                let key = ["a", "ab", "level"].randomElement(using: &generator) ?? "a"
                // An empty text takes the tag away.
                let value = ["", "1", "2", "10", "x"].randomElement(using: &generator) ?? ""
                let tags: JSONValue = ["properties": ["tags": [key: .string(value)]]]
                say("PATCH", users + "/by/external_id/u\(number)", tags)
            }
            if number % 9 == 0 { say("DELETE", users + "/by/external_id/u\(number)", [:]) }
        }
        return state.apps[OneSignalState.defaultAppID] ?? OneSignalApp(appID: "")
    }

    private static func filters(_ generator: inout SeededGenerator) -> [JSONValue] {
        let relations = [
            "=", "!=", "exists", "not_exists", ">", "<", "time_elapsed_gt", "time_elapsed_lt", "~",
        ]
        return (0..<Int.random(in: 1...5, using: &generator)).map { _ in
            switch Int.random(in: 0..<8, using: &generator) {
            case 0, 1: return ["operator": "OR"]
            case 2: return ["field": "last_session", "relation": ">", "hours_ago": "1"]
            default:
                let key = ["a", "ab", "level", "none"].randomElement(using: &generator) ?? "a"
                let relation = relations.randomElement(using: &generator) ?? "="
                let value = ["", "1", "2", "10", "x"].randomElement(using: &generator) ?? ""
                return [
                    "field": "tag", "key": .string(key), "relation": .string(relation),
                    "value": .string(value),
                ]
            }
        }
    }

    /// The law by itself, from the text of section 3: rows of which one must hold as a whole.
    private static func matchesFilters(_ user: OneSignalApp.User, _ filters: [JSONValue]) -> Bool {
        func holds(_ filter: JSONValue) -> Bool {
            guard filter["field"] == "tag" else { return true }
            let value = user.tags[filter["key"]?.string ?? ""]?.string
            let wanted = filter["value"]?.string ?? ""
            let numbers = zip([value].compactMap { $0 }.compactMap(Double.init), [Double(wanted)])
                .first { $0.1 != nil }
            return switch filter["relation"]?.string {
            case "=": value == wanted
            case "!=": value != wanted
            case "exists": value != nil
            case "not_exists": value == nil
            case ">", "time_elapsed_gt": numbers.map { $0.0 > ($0.1 ?? 0) } ?? false
            case "<", "time_elapsed_lt": numbers.map { $0.0 < ($0.1 ?? 0) } ?? false
            default: false
            }
        }
        return filters.split { $0["operator"] == "OR" }.contains { $0.allSatisfy(holds) }
    }

    @Test("the index finds the same users as a full scan", arguments: 0..<12)
    func audience(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let app = Self.randomApp(&generator)
        #expect(app.users.count == 26)
        for _ in 0..<120 {
            let filters = Self.filters(&generator)
            let found = app.users(matching: filters).map(\.id)
            let meant = app.users.values.filter { Self.matchesFilters($0, filters) }.map(\.id)
            #expect(found.sorted() == meant.sorted(), "\(filters)")
        }
    }

    @Test func `devices are counted as they come, change and go`() {
        var app = OneSignalApp(appID: "a")
        func device(_ id: String, _ type: String, isEnabled: Bool = true) {
            app.save(
                OneSignalApp.Subscription(
                    id: id,
                    type: type,
                    token: id,
                    isEnabled: isEnabled,
                    notificationTypes: 1,
                    ownerID: "o",
                    created: 1
                )
            )
        }
        device("1", "iOSPush")
        device("2", "iOSPush")
        device("3", "AndroidPush")
        #expect(app.reachable == ["ios": 2, "android": 1])
        device("2", "iOSPush", isEnabled: false)
        device("2", "iOSPush", isEnabled: false)
        device("3", "Email")
        #expect(app.reachable == ["ios": 1, "email": 1])
        app.remove(subscription: "1")
        app.remove(subscription: "1")
        #expect(app.reachable == ["email": 1])
        #expect(app.subscriptions(10, from: 0).map(\.id) == ["2", "3"])
        #expect(app.subscriptions(1, from: 0).map(\.id) == ["2"], "who went takes no place")
    }
}
